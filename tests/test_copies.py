"""Everything public that holds data: pickled, copied, compared, hashed; solved in threads and in new processes."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest

import dlsched
from dlsched import FAMILIES, InstanceError, Limits, Progress, Result, TerminationStatus, Violation
from dlsched.certificates.kinds import PriceCertificate
from dlsched.cluster import SpeedLaw
from dlsched.cluster.speed_table import SpeedTable
from dlsched.core.frozen import FrozenMapping

WAYS: dict[str, Callable[[object], object]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def answer(family: str) -> Result:
    """What a heuristic of a family finds for its example."""
    record = FAMILIES[family]
    method = next(name for name, each in record.methods.items() if each.kind == "heuristic")
    return dlsched.solve(record.example(), method=method)


def held(family: str) -> list[object]:
    """What a user of a family holds: instance, its parts, solution, result, bound and certificate."""
    result, bound = answer(family), dlsched.solve(FAMILIES[family].example(), method=FAMILIES[family].best_bound)
    instance = result.instance
    dlsched.solve(instance)  # what an instance computes once is part of it from now on
    parts = [part for field in type(instance).model_fields for part in as_list(getattr(instance, field))]
    return [instance, *parts, result, bound, result.solution, bound.certificate]


def as_list(value: object) -> list[object]:
    """The parts in a tuple, nothing of any other field."""
    return list(value) if isinstance(value, tuple) else []


OTHERS = [
    Limits(time_s=3.0, nodes=4),
    Progress(elapsed_s=1.0, objective=2.0, bound=1.0, nodes=3, doing="branching"),
    Violation("capacity", "cluster", 1.0, "too many"),
    SpeedLaw(theta=(1e-3, 0.0, 0.0, 0.5), samples=10, model_bytes=0),
    SpeedTable({1: 9.0, 2: 5.0}),
    FrozenMapping({"a": 1}),
    PriceCertificate(1.0, 2.0),
    TerminationStatus.OPTIMAL,
]


def same(value: object) -> None:
    """Every copy is equal and has the same hash."""
    for way, made in WAYS.items():
        again = made(value)
        assert type(again) is type(value) and again == value, f"{way} of {type(value).__name__}"
        assert hash(again) == hash(value), f"{way} of {type(value).__name__}"


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_family_gives_can_be_copied(family: str) -> None:
    """After it was used, too, with all that is computed once."""
    for value in held(family):
        same(value)


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_other_values_can_be_copied(value: object) -> None:
    """Limits, progress, violations, speeds, statuses."""
    same(value)


@pytest.mark.parametrize("family", FAMILIES)
def test_records_of_families_are_themselves_again(family: str) -> None:
    """A family's record is pickled by its name."""
    record = FAMILIES[family]
    assert pickle.loads(pickle.dumps(record)) is record
    assert copy.deepcopy(record) is record
    other = replace(record, summary="of one's own")
    assert copy.copy(other) == other != record


def test_errors_keep_their_fields() -> None:
    """Where, what was found, what is allowed, and further sentences."""
    error = InstanceError(where="gpus", found=0, allowed="a number >= 1", more=["jobs: found nothing"])
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (InstanceError, str(error))
    assert (again.where, again.found, again.allowed, again.more) == (
        error.where,
        error.found,
        error.allowed,
        error.more,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_different_instances_differ(family: str) -> None:
    """By their name; and one that was used is equal to one that was not."""
    record = FAMILIES[family]
    used, fresh = answer(family).instance, record.example()
    assert used == fresh and hash(used) == hash(fresh) and len({used, fresh}) == 1
    assert fresh != fresh.model_copy(update={"name": "another"})


def test_threads_and_new_processes_answer_alike() -> None:
    """All families at once in threads; and in a process that begins anew, to which results come back whole."""
    expected = {family: answer(family) for family in FAMILIES}
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(answer, [*FAMILIES] * 2):
            assert found.solution == expected[found.family].solution
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        for found in processes.map(answer, FAMILIES):
            there, here = found.instance, expected[found.family].instance
            assert found.solution == expected[found.family].solution
            assert there == here and hash(there) == hash(here) and there.sha256 == here.sha256
