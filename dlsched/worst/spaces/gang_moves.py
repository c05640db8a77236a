"""Moves and simplifications of gangs on servers: chains of stages, sizes of servers, releases, bytes."""

import copy

import numpy as np

from dlsched.srpt_mapping.instance import RANGES
from dlsched.worst.space import Data, Move, Simplify

MOST_STAGES = 4
_, LATEST_S = RANGES["jobs[].release_s"].searched


def fill(data: Data, generator: np.random.Generator) -> Data | None:
    """Let a job take as many GPUs as one server has, or as all servers have, or one more or less."""
    changed = copy.deepcopy(data)
    sizes = [server["gpus"] for server in changed["servers"]]
    stages = _any_of(changed["jobs"], generator)["stages"]
    wanted = int(generator.choice([*sizes, sum(sizes)])) + int(generator.integers(-1, 2))
    stage = _any_of(stages, generator)
    count = stage["replicas"] + wanted - sum(each["replicas"] for each in stages)
    if count < 1 or wanted > sum(sizes) or count == stage["replicas"]:
        return None
    stage["replicas"] = count
    return changed


def meet(data: Data, generator: np.random.Generator) -> Data | None:
    """Release a job together with another, just after it, or when the other could end if it started at once."""
    if len(data["jobs"]) == 1:
        return None
    changed = copy.deepcopy(data)
    late, early = generator.permutation(len(changed["jobs"]))[:2]
    other = changed["jobs"][early]
    later_s = float(generator.choice([0.0, 1.0, other["iterations"]]))
    changed["jobs"][late]["release_s"] = min(other["release_s"] + later_s, LATEST_S)
    return changed


def cut(data: Data, generator: np.random.Generator) -> Data | None:
    """Split a stage into two, which send each other nothing."""
    changed = copy.deepcopy(data)
    stages = _any_of(changed["jobs"], generator)["stages"]
    able = [index for index, stage in enumerate(stages) if stage["replicas"] > 1]
    if not able or len(stages) == MOST_STAGES:
        return None
    index = able[int(generator.integers(len(able)))]
    first = int(generator.integers(1, stages[index]["replicas"]))
    stages.insert(index, stages[index] | {"replicas": first, "output_bytes": 0.0})
    stages[index + 1]["replicas"] -= first
    return changed


def join(data: Data, generator: np.random.Generator) -> Data | None:
    """Merge two stages into one."""
    found = joined(data)
    return found[int(generator.integers(len(found)))] if found else None


def a_stage_a_server(data: Data, generator: np.random.Generator) -> Data | None:
    """Give a job one stage for each of some servers, in any order, with as many replicas as the server has GPUs."""
    changed = copy.deepcopy(data)
    sizes = generator.permutation([server["gpus"] for server in changed["servers"]])
    stages = int(generator.integers(1, min(MOST_STAGES, len(sizes)) + 1))
    job = _any_of(changed["jobs"], generator)
    like = _any_of(job["stages"], generator)
    job["stages"] = [like | {"replicas": size} for size in sizes[:stages].tolist()]
    return changed


def split_server(data: Data, generator: np.random.Generator) -> Data | None:
    """Split a server into two."""
    changed = copy.deepcopy(data)
    server = _any_of(changed["servers"], generator)
    if server["gpus"] == 1:
        return None
    part = int(generator.integers(1, server["gpus"]))
    server["gpus"] -= part
    changed["servers"].append(server | {"gpus": part})
    return changed


def merge_servers(data: Data, generator: np.random.Generator) -> Data | None:
    """Merge two servers into one."""
    if len(data["servers"]) == 1:
        return None
    changed = copy.deepcopy(data)
    gone = changed["servers"].pop(int(generator.integers(len(changed["servers"]))))
    _any_of(changed["servers"], generator)["gpus"] += gone["gpus"]
    return changed


def joined(data: Data) -> list[Data]:
    """Return every way to merge two neighbouring stages: replicas of both, other values of the later one."""
    found = []
    for number, job in enumerate(data["jobs"]):
        for index in range(len(job["stages"]) - 1):
            changed = copy.deepcopy(data)
            stages = changed["jobs"][number]["stages"]
            stages[index + 1]["replicas"] += stages.pop(index)["replicas"]
            found.append(changed)
    return found


def without_bytes(data: Data) -> list[Data]:
    """Return data without bytes that were sent: by all jobs, between stages, by one job, or by one stage."""
    kinds = ("output_bytes", "parameter_bytes")
    every = [(number, index) for number, job in enumerate(data["jobs"]) for index in range(len(job["stages"]))]
    jobs = [[place for place in every if place[0] == number] for number in range(len(data["jobs"]))]
    found: list[Data] = []
    for places in (every, *jobs, *([place] for place in every)):
        for names in (kinds, kinds[:1], kinds[1:]):
            changed = copy.deepcopy(data)
            for number, index in places:
                changed["jobs"][number]["stages"][index] |= dict.fromkeys(names, 0.0)
            if changed != data and changed not in found:
                found.append(changed)
    return found


def smaller(data: Data) -> list[Data]:
    """Return data with all jobs released at once, one at the start, or a stage (and a server) with one GPU less."""
    found = []
    at_once, releases_s = copy.deepcopy(data), [job["release_s"] for job in data["jobs"]]
    for number, release_s in enumerate(releases_s):
        at_once["jobs"][number]["release_s"] = 0.0
        changed = copy.deepcopy(data)
        for job in changed["jobs"]:
            job["release_s"] = max(0.0, job["release_s"] - release_s)
        found.append(changed)
    found = [each for each in (at_once, *found) if each != data]
    for number, job in enumerate(data["jobs"]):
        for index in (index for index, stage in enumerate(job["stages"]) if stage["replicas"] > 1):
            fewer = copy.deepcopy(data)
            fewer["jobs"][number]["stages"][index]["replicas"] -= 1
            found.append(fewer)
            for which in (which for which, server in enumerate(data["servers"]) if server["gpus"] > 1):
                changed = copy.deepcopy(fewer)
                changed["servers"][which]["gpus"] -= 1
                found.append(changed)
    return found


def _any_of(entries: list[Data], generator: np.random.Generator) -> Data:
    return entries[int(generator.integers(len(entries)))]


OF_PLACES: tuple[Move, ...] = (cut, join, a_stage_a_server, split_server, merge_servers)
SIMPLER_PLACES: tuple[Simplify, ...] = (without_bytes, joined)
