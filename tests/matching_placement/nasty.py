"""Instances of matching_placement that break algorithms in floating point, small enough for brute force.

Ties and near ties, jobs and rates 1e9 apart, all magnitudes from 1e-12 to 1e12, types that a job can only use at a billionth
of the speed of others, smallest sizes that leave no choice, and workers that are best left idle.
"""

import numpy as np

from dlsched.matching_placement.instance import Instance

_NEAR = [1.0, 1.0 + 1e-12, 1.0 + 3e-12, 1.0 - 1e-9, 0.1 + 0.2]


def nasty(generator: np.random.Generator) -> Instance:
    """One to three jobs on one to six workers of one to three types."""
    types = [f"t{kind}" for kind in range(generator.integers(1, 4))]
    number = int(generator.integers(1, 4))
    # brute force tries every share of every type; a worker a job is enough to be feasible, mostly
    held = generator.choice(types, int(generator.integers(number if generator.random() < 0.9 else 1, 7)))
    magnitude = _magnitudes(generator)
    bandwidth = {kind: magnitude("bandwidth") for kind in types}
    workers = [
        {"id": f"w{place}", "type": str(kind), "bandwidth_bytes_per_s": bandwidth[str(kind)]}
        for place, kind in enumerate(held)
    ]
    jobs = [_job(generator, types, magnitude) for _ in range(number)]
    if generator.random() < 0.15:
        jobs = [jobs[0]] * number
    return Instance(name="nasty", workers=workers, jobs=[{"id": f"j{place}", **job} for place, job in enumerate(jobs)])


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


_QUANTITIES = ("bandwidth", "iterations", "batch", "gradient", "rate")


def _job(generator, types, magnitude):
    served = types if generator.random() < 0.7 else generator.choice(types, generator.integers(1, len(types) + 1))
    job = {
        "iterations": magnitude("iterations"),
        "batch_samples": magnitude("batch"),
        "gradient_bytes": 0.0 if generator.random() < 0.3 else magnitude("gradient"),
        "samples_per_s": {str(kind): magnitude("rate") for kind in served},
    }
    if generator.random() < 0.2:
        job["min_workers"] = int(generator.integers(1, 4))
    if generator.random() < 0.3:
        job["max_workers"] = int(generator.integers(job.get("min_workers", 1), 6))
    return job
