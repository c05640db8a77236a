"""Instances that break arithmetic: ties, sums that just fit or just do not, and numbers far apart, in small networks."""

import random

import numpy as np

from dlsched.ring_embedding.instance import Instance

from .networks import any_forest, any_graph, any_paths

SMALLEST, LARGEST = -12, 12  # powers of ten
EDGES = 1, 1, 1, 1 - 0.5e-9, 1 + 0.5e-9, 1 - 2e-9, 1 - 1e-6, 1 - 1e-12
"""Within the checker's tolerance of what is needed, or not; far within that of solvers."""
PARTS = 1, 1, 1, 0.1, 0.3, 0.7, 2 / 3, 2, 2.7e-10, 1e9
"""No sum of them lies in the last thousandth of the tolerance, where rounding decides what passes."""


def nasty(generator: np.random.Generator) -> Instance:
    """Up to three jobs on up to four servers in up to three slots; a forest, or listed paths."""
    rng = random.Random(int(generator.integers(2**63)))
    forest = rng.random() < 0.6
    servers = [f"s{index}" for index in range(rng.choice([1, 2, 3, 3, 4] if forest else [3, 3, 4]))]
    others, pairs = any_forest(rng, servers) if forest else any_graph(rng, servers)
    slots, alike = rng.choice([1, 1, 2, 2, 3]), rng.random() < 0.3
    gpu, bandwidth, rate, worth = (10.0 ** rng.randint(SMALLEST, LARGEST) for _ in range(4))
    units = {"gpu": gpu, "disk": 10.0 ** rng.randint(SMALLEST, LARGEST)}
    resources = ["gpu", "disk"][: rng.choice([1, 1, 2])]
    jobs = [_job(rng, resources, units, slots, bandwidth, rate, worth) for _ in range(rng.choice([1, 2, 2, 3]))]
    if alike:
        jobs = [jobs[0]] * len(jobs)
    capacities = [
        {name: units[name] * rng.choice([0, 1, 1, 1, 2, 3, 0.3]) * rng.choice(EDGES) for name in resources}
        for _ in servers
    ]
    return Instance(
        name="nasty",
        slots=slots,
        nodes=[{"id": name, "capacity": held} for name, held in zip(servers, capacities, strict=True)]
        + [{"id": name} for name in others],
        links=[
            {"ends": pair, "bandwidth_bytes_per_s": bandwidth * rng.choice(PARTS) * rng.choice(EDGES)} for pair in pairs
        ],
        paths=None if forest else any_paths(rng, servers, pairs),
        jobs=[{"id": f"j{index}", **job} for index, job in enumerate(jobs)],
    )


def _job(rng, resources, units, slots, bandwidth, rate, worth):
    workers = rng.choice([1, 2, 3, 3])
    demand = {name: units[name] * rng.choice(PARTS[:-1]) for name in resources}
    job = {
        "arrival_slot": rng.choice([1, 1, slots]),
        "max_workers": workers,
        "demand": demand,
        "bandwidth_bytes_per_s": bandwidth * rng.choice((*PARTS, 0, 0.5)),
        "rate": rate,
        "utility": _utility(rng, rate, worth * rng.choice([1, 1, 1, 1.5, 1e-3, 1e-9]), workers * slots),
    }
    if rng.random() < 0.4:
        name = rng.choice(resources)
        job["budget"] = {name: demand[name] * rng.randint(0, workers * slots) * rng.choice(EDGES)}
    return job


def _utility(rng, rate, worth, most):
    kind = rng.choice(["sqrt", "log", "capped", "sigmoid", "sigmoid", "sigmoid"])
    if kind in ("sqrt", "log"):
        return {"kind": kind, "scale": worth}
    if kind == "capped":
        return {"kind": kind, "slope": worth / rate, "cap": worth * rng.choice([1, 1.5, 2.5, 100])}
    steepness = rng.choice([1e-12, 1e-6, 1e-3, 0.5, 1, 4, 50, 1e6]) / rate
    return {"kind": kind, "height": worth, "steepness": steepness, "midpoint": rate * rng.choice([0, 0, 1, 1.5, most])}
