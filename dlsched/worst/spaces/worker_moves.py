"""Moves and simplifications of workers of several types, and of jobs that have a rate on each: types, networks, limits."""

import copy
from itertools import permutations

import numpy as np

from dlsched.matching_placement.instance import RANGES
from dlsched.worst.space import Data, Move, Simplify

MOST_TYPES = 3
BANDWIDTHS = RANGES["workers[].bandwidth_bytes_per_s"].searched  # B/s


def retype(data: Data, generator: np.random.Generator) -> Data | None:
    """Change the type of a worker; on a new type jobs run as fast as on the worker's old one."""
    changed = copy.deepcopy(data)
    networks = networks_of(changed)
    worker = any_of(changed["workers"], generator)
    kinds = sorted({*networks, *(f"g{kind}" for kind in range(MOST_TYPES))} - {worker["type"]})
    kind = kinds[int(generator.integers(len(kinds)))]
    for job in changed["jobs"] if kind not in networks else ():
        if worker["type"] in job["samples_per_s"]:
            job["samples_per_s"][kind] = job["samples_per_s"][worker["type"]]
    worker["bandwidth_bytes_per_s"] = networks.get(kind, worker["bandwidth_bytes_per_s"])
    worker["type"] = kind
    return changed


def another_network(data: Data, generator: np.random.Generator) -> Data | None:
    """Give all workers of a type another bandwidth."""
    changed = copy.deepcopy(data)
    worker = any_of(changed["workers"], generator)
    others = [bandwidth for bandwidth in BANDWIDTHS if bandwidth != worker["bandwidth_bytes_per_s"]]
    bandwidth = others[int(generator.integers(len(others)))]
    for each in changed["workers"]:
        if each["type"] == worker["type"]:
            each["bandwidth_bytes_per_s"] = bandwidth
    return changed


def level(data: Data, generator: np.random.Generator) -> Data | None:
    """Make rates equal: see ``leveled``."""
    found = leveled(data)
    return found[int(generator.integers(len(found)))] if found else None


def leveled(data: Data) -> list[Data]:
    """Return data with one job's rates equal on all types, one type's equal for all jobs, or equal networks."""
    found = []
    for number, job in enumerate(data["jobs"]):
        changed = copy.deepcopy(data)
        rate = next(iter(job["samples_per_s"].values()))
        changed["jobs"][number]["samples_per_s"] = dict.fromkeys(job["samples_per_s"], rate)
        found.append(changed)
    for kind, bandwidth in networks_of(data).items():
        changed, alike = copy.deepcopy(data), copy.deepcopy(data)
        able = [job["samples_per_s"] for job in changed["jobs"] if kind in job["samples_per_s"]]
        for rates in able[1:]:
            rates[kind] = able[0][kind]
        for worker in alike["workers"]:
            worker["bandwidth_bytes_per_s"] = bandwidth
        found += [changed, alike]
    return [changed for changed in found if changed != data]


def fewer_types(data: Data) -> list[Data]:
    """Return data in which the workers of one type belong to another."""
    found, networks = [], networks_of(data)
    for gone, kept in permutations(networks, 2):
        changed = copy.deepcopy(data)
        for worker in changed["workers"]:
            if worker["type"] == gone:
                worker |= {"type": kept, "bandwidth_bytes_per_s": networks[kept]}
        found.append(changed)
    return found


def limit(data: Data, generator: np.random.Generator) -> Data | None:
    """Give a job another smallest or largest number of workers, or none."""
    changed = copy.deepcopy(data)
    job = any_of(changed["jobs"], generator)
    end = "min_workers" if generator.random() < 1 / 2 else "max_workers"
    if end in job and generator.random() < 1 / 2:
        del job[end]
    else:
        job[end] = int(generator.integers(1, len(changed["workers"]) + 1))
    return changed


def unlimited(data: Data) -> list[Data]:
    """Return data in which a job lacks its smallest or largest number of workers."""
    found = []
    for number, job in enumerate(data["jobs"]):
        for end in (end for end in ("min_workers", "max_workers") if end in job):
            changed = copy.deepcopy(data)
            del changed["jobs"][number][end]
            found.append(changed)
    return found


def unable(data: Data, generator: np.random.Generator) -> Data | None:
    """Take the rate on a type from a job, or give it one equal to that on another type."""
    changed = copy.deepcopy(data)
    rates = any_of(changed["jobs"], generator)["samples_per_s"]
    kinds = list(networks_of(changed))
    kind = kinds[int(generator.integers(len(kinds)))]
    if kind not in rates:
        rates[kind] = next(iter(rates.values()))
    elif len(rates) > 1:
        del rates[kind]
    else:
        return None
    return changed


def networks_of(data: Data) -> dict[str, float]:
    """Return the bandwidth of every type, taken from its first worker."""
    return {worker["type"]: worker["bandwidth_bytes_per_s"] for worker in reversed(data["workers"])}


def any_of(entries: list[Data], generator: np.random.Generator) -> Data:
    """Choose an entry."""
    return entries[int(generator.integers(len(entries)))]


MOVES: tuple[Move, ...] = (retype, another_network, level)
OF_LIMITS: tuple[Move, ...] = (limit, unable)
SIMPLER: tuple[Simplify, ...] = (fewer_types, leveled)
