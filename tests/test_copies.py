"""Everything public that holds data: pickled, copied, compared, hashed; solved in threads and in new processes."""

import copy
import io
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import dlsched
from dlsched import FAMILIES, InstanceError, Limits, Progress, Result, TerminationStatus, Violation, study
from dlsched.certificates.kinds import PriceCertificate
from dlsched.cluster import SpeedLaw
from dlsched.cluster.speeds import SpeedTable
from dlsched.core.result import FrozenMapping

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


def test_what_calls_return_can_be_copied() -> None:
    """A comparison and its rows, a proof, the worst instance, a plan of a study and its limits."""
    example = FAMILIES["ring_allocation"].example()
    compared = dlsched.compare(example, ["exact", "doubling"])
    worst = dlsched.find_worst("ring_allocation", "doubling", jobs=2, budget=10)
    for value in (compared, *compared.rows, dlsched.prove(example), worst, study.CellLimits(time_s=3)):
        same(value)
    plan = study.make_plan(instances={"family": "ring_allocation", "seeds": "0:2"}, methods=["exact"])
    assert all(made(plan) == plan for made in WAYS.values())


def read_anew(ran: study.Study) -> list[study.Row]:
    """Read a study by a copy of it."""
    with copy.copy(ran) as own:
        return own.rows()


def test_a_study_is_opened_anew_by_its_copies(tmp_path: Path) -> None:
    """Each has a store of its own to close, and reads the same; so each of several threads can have one."""
    plan = study.make_plan(instances={"family": "ring_allocation", "jobs": 3, "seeds": "0:4"}, methods=["doubling"])
    with study.run(plan, tmp_path / "x.study.sqlite", workers=1) as ran:
        rows = ran.rows()
        assert len(rows) == 4
        for made in WAYS.values():
            with made(ran) as again:  # type: ignore[attr-defined]
                assert again.rows() == rows and repr(again).partition(", in")[0] == repr(ran).partition(", in")[0]
        with ThreadPoolExecutor(4) as threads:
            assert all(found == rows for found in threads.map(read_anew, [ran] * 8))
        for row in rows:
            same_rows = [made(row) for made in WAYS.values()]
            assert all(each == row for each in same_rows)


def test_a_copied_formulation_is_another() -> None:
    """A row that is added to the copy does not bind the first; both are solved."""
    first = dlsched.formulate(FAMILIES["ring_allocation"].example(), complete=True)
    second = copy.deepcopy(first)
    second.model += second.variables.gpus["a", 4] == 0
    one, two = first.solve(), second.solve()
    assert one.solution is not None and two.solution is not None
    assert one.solution.gpus["a"] == 4 != two.solution.gpus["a"]


def test_figures_can_be_pickled() -> None:
    """As Matplotlib's own can; they draw the same."""
    pytest.importorskip("matplotlib")
    figure = dlsched.compare(FAMILIES["ring_allocation"].example(), ["exact", "doubling"]).plot()
    again = pickle.loads(pickle.dumps(figure))
    assert type(again) is type(figure)
    drawn = [io.BytesIO(), io.BytesIO()]
    for each, file in zip((figure, again), drawn, strict=True):
        each.savefig(file, format="png", metadata={"Software": None})
    assert drawn[0].getvalue() == drawn[1].getvalue()


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


def compared(family: str) -> dlsched.Comparison:
    """Two heuristics of a family on its example."""
    record = FAMILIES[family]
    names = [name for name, each in record.methods.items() if each.kind == "heuristic"][:2]
    return dlsched.compare(record.example(), names)


def test_comparisons_in_threads_and_new_processes_are_alike() -> None:
    """All but the seconds, of two families at once."""
    families = ["ring_allocation", "async_sgd"]

    def figures(found: dlsched.Comparison) -> list[tuple[object, ...]]:
        return [(row.method, row.objective, row.bound, row.ratio, row.status) for row in found.rows]

    expected = [figures(compared(family)) for family in families]
    with ThreadPoolExecutor(4) as threads:
        assert list(map(figures, threads.map(compared, families * 2))) == expected * 2
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert list(map(figures, processes.map(compared, families))) == expected


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
