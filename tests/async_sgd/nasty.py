"""Instances of async_sgd that break algorithms in floating point, small enough for brute force.

Ties and near ties, jobs 1e9 apart, all magnitudes from 1e-12 to 1e12, links or updates that a cycle does or does not notice,
many shards, nodes to spare and none.
"""

import numpy as np
from nasty import magnitudes

from dlsched.async_sgd.instance import RANGES, Instance

_QUANTITIES = ("epochs", "dataset", "batch", "bytes", "bandwidth", "compute", "update")


def nasty(generator: np.random.Generator) -> Instance:
    """One to four jobs on one to ten nodes."""
    number = int(generator.integers(1, 5))
    nodes = int(generator.integers(number if generator.random() < 0.9 else 1, 11))
    magnitude = magnitudes(generator, _QUANTITIES)
    jobs = [_job(generator, magnitude) for _ in range(number)]
    if generator.random() < 0.2:
        jobs = [jobs[0]] * number
    return Instance(name="nasty", nodes=nodes, jobs=[{"id": f"j{index}", **job} for index, job in enumerate(jobs)])


def _job(generator, magnitude):
    job = {
        "epochs": 0.0 if generator.random() < 0.05 else magnitude("epochs"),
        "dataset_examples": magnitude("dataset"),
        "batch_examples": magnitude("batch"),
        "parameter_bytes": 0.0 if generator.random() < 0.2 else magnitude("bytes"),
        "bandwidth_bytes_per_s": magnitude("bandwidth"),
        "compute_s": magnitude("compute"),
        "update_s": 0.0 if generator.random() < 0.3 else magnitude("update"),
        "shards": int(generator.choice(RANGES["jobs[].shards"].nasty)),
        "duplex": str(generator.choice(["full", "half"])),
    }
    if generator.random() < 0.3:
        job["max_nodes"] = int(generator.integers(1, 12))
    return job
