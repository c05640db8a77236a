"""Instances of ring_allocation whose numbers are nasty: small enough for brute force, 24 orders of magnitude apart."""

from typing import Any

import numpy as np
from nasty import magnitude

from dlsched.ring_allocation import Instance
from dlsched.ring_allocation.instance import RANGES


def nasty(generator: np.random.Generator) -> Instance:
    """Draw an instance: ties, ratios of 1e9, magnitudes 1e-12 to 1e12, no epochs, laws that allow 2**53 GPUs, huge counts."""
    jobs = int(generator.integers(1, 6))
    gpus = int(generator.integers(jobs, 16))
    kind = generator.choice(["any", "one", "wild", "whole", "near"])
    level = magnitude(generator)

    def number() -> float:
        """A number of the instance's kind."""
        if kind == "any":  # every number of a magnitude of its own
            return magnitude(generator)
        if kind == "one":  # all of one magnitude
            return float(level * generator.uniform(1, 9))
        if kind == "wild":  # two magnitudes, 1e9 apart, and ties
            return float(level * generator.integers(1, 4) * generator.choice([1.0, 1e9]))
        if kind == "whole":
            return float(generator.integers(1, 5))
        return float(level * (1 + generator.integers(0, 4) * 1e-9))  # nearly the same

    times = 1 if generator.random() < 0.8 else int(generator.choice([2, 3, 1000, 10**6, 10**12]))
    drawn = [_job(generator, number, gpus, times) | {"id": f"j{index}"} for index in range(jobs)]
    if generator.random() < 0.2:
        drawn = [drawn[0] | {"id": f"j{index}"} for index in range(jobs)]
    if times > 1:  # laws would have too many counts for brute force
        gpus = gpus * times + int(generator.integers(0, 2))
    return Instance(name="nasty", gpus=gpus, jobs=drawn)


def _job(generator: np.random.Generator, number: Any, gpus: int, times: int) -> dict[str, Any]:
    job: dict[str, Any] = {"epochs": 0.0 if generator.random() < 0.15 else number()}
    if times == 1 and generator.random() < 0.35:
        theta = [number() if generator.random() < 0.7 else 0.0 for _ in range(4)]
        if theta[0] + theta[3] == 0:
            theta[3] = number()
        job["speed_law"] = {
            "theta": theta,
            "samples": number(),
            "model_bytes": float(generator.choice([0.0, number()])),
        }
        if generator.random() < 0.6:
            *few, million, largest = RANGES["jobs[].max_gpus"].nasty
            job["max_gpus"] = int(generator.choice([*few, gpus, million, largest]))
    else:
        most = max(2, gpus + gpus // 3)
        size = min(most, int(generator.integers(1, 7)))
        counts = np.sort(generator.choice(np.arange(1, most + 1), size=size, replace=False)) * times
        if generator.random() < 0.5:
            counts[0] = times
        job["epoch_time_s"] = {str(count): number() for count in sorted(set(counts.tolist()))}
    if generator.random() < 0.4:
        job["weight"] = number()
    if generator.random() < 0.4:
        job["current_gpus"] = int(generator.integers(1, gpus + 2)) * times
        job["restart_s"] = 0.0 if generator.random() < 0.2 else number()
    return job
