"""Instances of async_sgd that break algorithms in floating point, small enough for brute force.

Ties and near ties, jobs 1e9 apart, all magnitudes from 1e-12 to 1e12, links or updates that a cycle does or does not notice,
many shards, nodes to spare and none.
"""

import numpy as np

from dlsched.async_sgd.instance import Instance

_NEAR = [1.0, 1.0 + 1e-12, 1.0 + 3e-12, 1.0 - 1e-9, 0.1 + 0.2]
_QUANTITIES = ("epochs", "dataset", "batch", "bytes", "bandwidth", "compute", "update")


def nasty(generator: np.random.Generator) -> Instance:
    """One to four jobs on one to ten nodes."""
    number = int(generator.integers(1, 5))
    nodes = int(generator.integers(number if generator.random() < 0.9 else 1, 11))
    magnitude = _magnitudes(generator)
    jobs = [_job(generator, magnitude) for _ in range(number)]
    if generator.random() < 0.2:
        jobs = [jobs[0]] * number
    return Instance(name="nasty", nodes=nodes, jobs=[{"id": f"j{place}", **job} for place, job in enumerate(jobs)])


def _magnitudes(generator):
    """How this instance draws its numbers: what is drawn may be near 1, a few values, or anything, about a base of its own."""
    bases = {name: 10.0 ** generator.uniform(-12, 12) if generator.random() < 0.4 else 1.0 for name in _QUANTITIES}
    ways = {name: generator.integers(5) for name in _QUANTITIES}

    def draw(name):
        match ways[name]:
            case 0:
                factor = 1.0
            case 1:
                factor = float(generator.choice(_NEAR))
            case 2:
                factor = float(generator.choice([1.0, 2.0, 4.0, 0.5, 3.0]))
            case 3:
                factor = float(generator.choice([1e-9, 1.0, 1e9]))
            case _:
                factor = 10.0 ** generator.uniform(-4, 4)
        return bases[name] * factor

    return draw


def _job(generator, magnitude):
    job = {
        "epochs": 0.0 if generator.random() < 0.05 else magnitude("epochs"),
        "dataset_examples": magnitude("dataset"),
        "batch_examples": magnitude("batch"),
        "parameter_bytes": 0.0 if generator.random() < 0.2 else magnitude("bytes"),
        "bandwidth_bytes_per_s": magnitude("bandwidth"),
        "compute_s": magnitude("compute"),
        "update_s": 0.0 if generator.random() < 0.3 else magnitude("update"),
        "shards": int(generator.choice([1, 1, 2, 3, 7])),
        "duplex": str(generator.choice(["full", "half"])),
    }
    if generator.random() < 0.3:
        job["max_nodes"] = int(generator.integers(1, 12))
    return job
