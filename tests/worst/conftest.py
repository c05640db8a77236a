"""A small space of ring_allocation, methods whose ratios are known by hand, walks through any space, changed certificates."""

import copy
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dlsched import FAMILIES
from dlsched.core.family import Method, heuristic
from dlsched.core.instance import InstanceFile
from dlsched.core.status import TerminationStatus
from dlsched.families import instance_from
from dlsched.ring_allocation.solution import Allocation
from dlsched.worst.judge import Judge
from dlsched.worst.moves import moved
from dlsched.worst.proving.verification import require_class
from dlsched.worst.spaces import Data, Number, Space

FAMILY = FAMILIES["ring_allocation"]


def ring(*tables: dict[str, float], gpus: int = 2) -> Data:
    """Data of an instance of jobs with those tables, one epoch each, named a, b, c."""
    jobs = [{"id": name, "epochs": 1.0, "epoch_time_s": table} for name, table in zip("abcdef", tables, strict=False)]
    return {"format": "dlsched/ring_allocation/1", "name": "by hand", "gpus": gpus, "jobs": jobs}


def draw(generator: np.random.Generator) -> Data:
    """One or two jobs on 4 GPUs, 1 to 100 s on one GPU and on two, whatever these are."""
    tables = [{w: round(float(generator.uniform(1, 100)), 3) for w in "12"} for _ in range(generator.integers(1, 3))]
    return ring(*tables, gpus=4)


def always(name: str, gpus: int | None) -> Method[Any, Any]:
    """A heuristic that gives every job that many GPUs, and none where it has no answer."""

    def give(instance: Any) -> Allocation | None:
        return None if gpus is None else Allocation({job.id: gpus for job in instance.jobs})

    return Method(name, "heuristic", heuristic(name, give))


ONE = always("one", 1)
"""At worst 100 times the optimum in the space: every job takes 100 s on one GPU and 1 s on two."""
NONE = always("none", None)


def judge(method: Method[Any, Any] = ONE, reference: str = "exact", **more: Any) -> Judge:
    """A judge of ring_allocation."""
    return Judge(FAMILY, method, FAMILY.method(reference), **more)


def raising(error: BaseException, after: int = 0) -> Method[Any, Any]:
    """A heuristic that raises an error, or does as ``one`` the first few times."""
    calls = 0

    def run(instance: Any, search: Any) -> TerminationStatus:
        nonlocal calls
        calls += 1
        if calls > after:
            raise error
        return ONE.run(instance, search)

    return Method("raising", "heuristic", run)


def instance_of(data: Data) -> InstanceFile:
    """The instance of some data."""
    return instance_from(data, "candidate")


def draws(space: Space, count: int) -> list[Data]:
    """As many draws, each from a seed of its own."""
    return [space.draw(np.random.default_rng(seed)) for seed in range(count)]


def holds(tables: str, table: Mapping[int, float]) -> bool:
    """Whether a table is in a class, by the verifier's own condition."""
    costs = {count: Fraction(time) for count, time in sorted(table.items())}
    with suppress(ValueError):
        require_class(tables, costs, "table")
        return min(costs.values()) > 0
    return False


def walk(space: Space, steps: int, seed: int = 0) -> list[tuple[Data, InstanceFile]]:
    """Draw, then move so many times; all data on the way are valid instances that repair leaves as they are."""
    generator = np.random.default_rng(seed)
    data, met = space.draw(generator), []
    for _ in range(steps):
        assert space.repair(data) == data
        met.append((data, instance_of(data)))
        data = moved(space, data, generator) or data
    return met


def changed(data: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A copy with one entry replaced, or without it (None)."""
    data = copy.deepcopy(data)
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.fixture
def space() -> Space:
    """At most three jobs."""
    return Space(
        family=FAMILY,
        draw=draw,
        numbers=[Number("jobs[].epoch_time_s{}", 1.0, 100.0)],
        members=[("jobs", 1, 3)],
    )
