"""Instances of matching_placement that break algorithms in floating point, small enough for brute force.

Ties and near ties, jobs and rates 1e9 apart, all magnitudes from 1e-12 to 1e12, types that a job can only use at a billionth
of the speed of others, smallest sizes that leave no choice, and workers that are best left idle.
"""

import numpy as np
from nasty import magnitudes

from dlsched.core.elementary import whole
from dlsched.core.errors import InstanceError
from dlsched.matching_placement.instance import RANGES, Instance

_QUANTITIES = ("bandwidth", "iterations", "batch", "gradient", "rate")


def nasty(generator: np.random.Generator) -> Instance:
    """One to three jobs on one to six workers of one to three types."""
    types = [f"t{kind}" for kind in range(generator.integers(1, 4))]
    number = int(generator.integers(1, 4))
    # brute force tries every share of every type; a worker a job is enough to be feasible, mostly
    held = generator.choice(types, int(generator.integers(number if generator.random() < 0.9 else 1, 7)))
    magnitude = magnitudes(generator, _QUANTITIES)
    bandwidth = {kind: magnitude("bandwidth") for kind in types}
    workers = [
        {"id": f"w{index}", "type": str(kind), "bandwidth_bytes_per_s": bandwidth[str(kind)]}
        for index, kind in enumerate(held)
    ]
    jobs = [_job(generator, types, magnitude) for _ in range(number)]
    if generator.random() < 0.15:
        jobs = [jobs[0]] * number
    return Instance(name="nasty", workers=workers, jobs=[{"id": f"j{index}", **job} for index, job in enumerate(jobs)])


def _job(generator, types, magnitude):
    served = types if generator.random() < 0.7 else generator.choice(types, generator.integers(1, len(types) + 1))
    job = {
        "iterations": magnitude("iterations"),
        "batch_samples": magnitude("batch"),
        "gradient_bytes": 0.0 if generator.random() < 0.3 else magnitude("gradient"),
        "samples_per_s": {str(kind): magnitude("rate") for kind in served},
    }
    if generator.random() < 0.2:
        job["min_workers"] = whole(generator, *RANGES["jobs[].min_workers"].tested)
    if generator.random() < 0.3:
        job["max_workers"] = int(generator.integers(job.get("min_workers", 1), 6))
    return job


def nasty_objective(generator: np.random.Generator) -> Instance:
    """The same with the largest slowdown, or an alpha-fair sum, in place of the mean."""
    instance = nasty(generator)
    if generator.random() < 0.4:
        return instance.model_copy(update={"objective": "max_rho"})
    alpha = float(generator.choice(RANGES["alpha"].nasty))
    try:
        return instance.model_copy(update={"objective": "alpha_fair", "alpha": alpha})
    except InstanceError:  # powers of speeds so far apart are beyond floats
        return instance.model_copy(update={"objective": "alpha_fair", "alpha": 1.0})
