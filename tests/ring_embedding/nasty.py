"""Instances that break arithmetic: ties, sums that just fit or just do not, and numbers far apart, in small networks."""

import random
from itertools import accumulate

import numpy as np
from nasty import POWERS

from dlsched.cluster.utility import AlphaFair
from dlsched.ring_embedding.checker import worth
from dlsched.ring_embedding.instance import RANGES, Instance

from .small_networks import any_forest, any_graph, any_paths

SMALLEST, LARGEST = map(int, POWERS)
EDGES = 1, 1, 1, 1 - 0.5e-9, 1 + 0.5e-9, 1 - 2e-9, 1 - 1e-6, 1 - 1e-12
"""Within the checker's tolerance of what is needed, or not; far within that of solvers."""
PARTS = 1, 1, 1, 0.1, 0.3, 0.7, 2 / 3, 2, 2.7e-10, 1e9
"""No sum of them lies in the last thousandth of the tolerance, where rounding decides what passes."""
PRICES = 0, 0, 0.1, 0.3, 1, 1 - 1e-9, 1 + 1e-9, 1e-9, 1e9
"""Of what a worker-slot is worth."""


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


def nasty_objective(generator: np.random.Generator) -> Instance:
    """The same with the other utilities, and a price of energy or the least utility in place of the sum."""
    data = nasty(generator).model_dump()
    rng = random.Random(int(generator.integers(2**63)))
    height = 10.0 ** rng.randint(SMALLEST, LARGEST)
    for job in data["jobs"]:
        most = job["max_workers"] * data["slots"]
        job["utility"] = _other_utility(rng, job["rate"], height * rng.choice([1, 1, 1, 1.5, 1e-3, 1e-9]), most)
    goal = rng.choice(["sum", "energy", "energy", "max_min"])
    if goal == "max_min":
        data["objective"] = "max_min"
    if goal == "energy":
        power = 10.0 ** rng.randint(SMALLEST, LARGEST)
        data |= {"slot_s": 3600.0, "energy_price_per_kwh": 1000 * height / power}
        for node in data["nodes"]:
            if node["capacity"] is not None:
                node["power_on_w"] = power * rng.choice(PRICES)
        for job in data["jobs"]:
            job["worker_power_w"] = power * rng.choice(PRICES)
    return Instance(**data)


def wild(generator: np.random.Generator) -> Instance:
    """Utilities of scales from 1e-6 to 1e9, and next to nothing, beside each other; energy mostly has a price."""
    data = nasty(generator).model_dump()
    rng = random.Random(int(generator.integers(2**63)))
    for job in data["jobs"]:
        height = 10.0 ** (rng.randint(-6, 9) if rng.random() < 0.8 else rng.randint(-40, -7))
        most = job["max_workers"] * data["slots"]
        draw = _other_utility if rng.random() < 0.5 else _utility
        job["utility"] = draw(rng, job["rate"], height, most)
        job["worker_power_w"] = rng.choice([0, 0, 1, 1e-9, 1e3])
    goal = rng.choice(["sum", "energy", "energy", "energy", "max_min"])
    if goal == "max_min":
        data["objective"] = "max_min"
    if goal == "energy":
        data |= {"slot_s": rng.choice([60.0, 3600.0]), "energy_price_per_kwh": 10.0 ** rng.randint(-6, 6)}
        for node in data["nodes"]:
            if node["capacity"] is not None:
                node["power_on_w"] = rng.choice([1e-6, 1.0, 1e3, 1e6])
    return Instance(**data)


def most_gained(instance: Instance) -> float:
    """What all jobs gain with all workers in all slots, of which the price of energy may leave next to nothing."""
    if instance.objective == "max_min":
        return 0.0
    return sum(worth(job, job.max_workers * instance.slots) - worth(job, 0) for job in instance.jobs)


def _other_utility(rng, rate, height, most):
    kind = rng.choice(["alpha_fair", "alpha_fair", "loss", "table", "table"])
    if kind == "alpha_fair":
        alpha = rng.choice(RANGES["jobs[].utility.alpha"].nasty)
        shift = rate * rng.choice([1, 1, 1e-3, 1e3, most] if alpha >= 1 else [0, 1, 1e-9, 1e9])
        scale = height / AlphaFair(alpha=float(alpha), scale=1.0, shift=shift).at(rate)
        return {"kind": kind, "alpha": alpha, "scale": scale, "shift": shift}
    if kind == "loss":
        start = 10.0 ** rng.randint(-6, 6)
        curve = {"b0": start / rate * rng.choice([1, 1, 1e-9, 1e9, 0]), "b1": start, "b2": rng.choice([0, 1e6])}
        return {"kind": kind, "scale": height * start, "curve": curve}
    widths = [rate * rng.choice([1, 1, 2, 0.5, 1 + 1e-9, 1e-6]) for _ in range(rng.randint(0, 5))]
    rises = [height * rng.choice([0, 1, 1, 1 - 1e-9, 1 + 1e-9, 1e-9, 3]) for _ in widths]
    progress, heights = (list(accumulate(each, initial=0.0)) for each in (widths, rises))
    return {"kind": kind, "progress": progress, "worth": heights}


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
