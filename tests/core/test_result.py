"""Solutions, the rules that they may break, and ``Result``, the outcome of a method, which cannot contradict itself."""

import json
from dataclasses import FrozenInstanceError

import pytest

from dlsched.core.limits import Limits
from dlsched.core.result import FrozenMapping, InstanceId, Result
from dlsched.core.status import Sense, TerminationStatus
from dlsched.ring_allocation import Allocation


def test_what_it_holds():
    """In the order given, by every way to read it."""
    held = FrozenMapping({"b": 1, "a": 2})
    assert (list(held), list(held.values()), list(held.items())) == (["b", "a"], [1, 2], [("b", 1), ("a", 2)])
    assert (held["a"], len(held), held == {"a": 2, "b": 1}) == (2, 2, True)


def test_it_cannot_be_changed():
    """Neither itself, nor by the dictionary it was made of, nor by its views."""
    given = {"a": 1}
    held = FrozenMapping(given)
    given["a"] = 2
    with pytest.raises(TypeError):
        held["a"] = 3
    with pytest.raises(TypeError):
        held.items()["a"] = 3
    with pytest.raises(TypeError):
        held.values().mapping["a"] = 3
    assert held["a"] == 1


SOME = Allocation({"a": 1})
OPTIMAL, FEASIBLE = TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE


def result(status, **facts):
    """A result of nothing in particular."""
    return Result(family="ring_allocation", instance=InstanceId("x", "0" * 64), method="m", status=status, **facts)


def held(objective, **facts):
    """The same, with a solution."""
    return {"solution": SOME, "objective": objective} | facts


def bounded(bound):
    """A bound and who says so."""
    return {"bound": bound, "bound_source": "test"}


CONTRADICTIONS = {
    "objective is not finite": (FEASIBLE, held(float("nan"))),
    "bound is not finite": (FEASIBLE, held(1.0) | bounded(float("-inf"))),
    "runtime is not finite": (FEASIBLE, held(1.0, runtime_s=float("inf"))),
    "negative time": (FEASIBLE, held(1.0, runtime_s=-1e-9)),
    "solution without objective": (FEASIBLE, {"solution": SOME}),
    "objective without solution": (FEASIBLE, {"objective": 1.0}),
    "bound without source": (FEASIBLE, held(1.0, bound=1.0)),
    "source without bound": (FEASIBLE, held(1.0, bound_source="x")),
    "bound above the objective, minimising": (FEASIBLE, held(1.0) | bounded(1.1)),
    "bound below the objective, maximising": (FEASIBLE, held(1.1, sense=Sense.MAXIMIZE) | bounded(1.0)),
    "optimal without a solution": (OPTIMAL, bounded(1.0)),
    "optimal without a bound": (OPTIMAL, held(1.0)),
    "optimal with a gap": (OPTIMAL, held(1.0) | bounded(0.9)),
    "infeasible with a solution": (TerminationStatus.INFEASIBLE, held(1.0)),
    "infeasible with a bound": (TerminationStatus.INFEASIBLE, bounded(1.0)),
    "no solution with a solution": (TerminationStatus.NO_SOLUTION, held(1.0)),
    "feasible with nothing": (FEASIBLE, {}),
    "time limit that was not set": (TerminationStatus.TIME_LIMIT, {"limits": Limits(nodes=3)}),
    "node limit that was not set": (TerminationStatus.NODE_LIMIT, {"limits": Limits(time_s=3)}),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused(name):
    """Each contradiction raises ValueError."""
    status, facts = CONTRADICTIONS[name]
    with pytest.raises(ValueError):
        result(status, **facts)


ALLOWED = {
    "optimal": (OPTIMAL, held(1.0) | bounded(1.0)),
    "feasible with a solution": (FEASIBLE, held(1.0)),
    "feasible with a bound": (FEASIBLE, bounded(1.0)),
    "infeasible": (TerminationStatus.INFEASIBLE, {}),
    "no solution with a bound": (TerminationStatus.NO_SOLUTION, bounded(2.0)),
    "time limit with nothing": (TerminationStatus.TIME_LIMIT, {"limits": Limits(time_s=0)}),
    "node limit with all": (TerminationStatus.NODE_LIMIT, held(2.0, limits=Limits(nodes=0)) | bounded(1.0)),
    "interrupted": (TerminationStatus.INTERRUPTED, {}),
    "solver error": (TerminationStatus.SOLVER_ERROR, held(1.0)),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_consistent_results_exist_and_are_json(name):
    """What does not contradict itself can be built, written as JSON, and read back as written."""
    status, facts = ALLOWED[name]
    made = result(status, **facts)
    data = made.as_data()
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data["status"] == str(status)
    assert data["format"] == "dlsched/result/1"


def test_a_bound_a_rounding_error_too_high_becomes_the_objective():
    """Within 1e-6 on the wrong side, the bound is set to the objective, so that it never exceeds it."""
    made = result(OPTIMAL, **held(1.0), **bounded(1.0 + 5e-7))
    assert made.bound == 1.0
    assert made.gap == 0.0


def test_optimal_when_bound_and_objective_meet():
    """A bound 1e-7 below still proves the objective; the gap says how far it is."""
    made = result(OPTIMAL, **held(2.0), **bounded(2.0 - 1e-7))
    assert made.proven
    assert made.gap == pytest.approx(5e-8)


def test_unknown_is_none():
    """Without objective and bound both are None in the data, and so is the gap; never 0."""
    data = result(TerminationStatus.TIME_LIMIT, limits=Limits(time_s=1.0)).as_data()
    assert [data[key] for key in ("objective", "bound", "gap", "solution", "solver", "seed", "certificate")] == [
        None
    ] * 7
    assert data["limits"] == {"time_s": 1.0}


def test_a_result_cannot_be_changed():
    """Its fields are frozen, and so is the allocation it holds."""
    made = result(FEASIBLE, **held(3.0))
    with pytest.raises(FrozenInstanceError):
        made.objective = 2.0
    with pytest.raises(TypeError):
        made.solution.gpus["a"] = 2


def test_repr_is_short_and_says_what_was_found():
    """Two lines and the time, however large the solution; a table for notebooks, with nothing to interpret."""
    some = result(FEASIBLE, **held(2.0, message="a\nb <i>"), **bounded(1.5))
    assert repr(some).splitlines() == [
        "Result: m on x (ring_allocation): feasible",
        "objective: 2.0",
        "bound: 1.5, gap 0.25, by test",
        "time: 0.000 s",
        "message: a\\nb <i>",
    ]
    assert "<i>" not in some._repr_html_()
    assert some._repr_html_().count("<tr>") == 5


def test_the_constant_is_left_out_of_gap_and_proof():
    """Releases of 1,000 s in sum and flows of 2 s: a bound of 1,001 s leaves half of what is decided open."""
    some = result(FEASIBLE, **held(1002.0, constant=1000.0), **bounded(1001.0))
    assert (some.gap, some.proven) == (0.5, False)
    assert some.as_data()["constant"] == 1000.0
    assert "constant" not in result(FEASIBLE, **held(1.0)).as_data()
    with pytest.raises(ValueError, match="do not meet"):
        result(OPTIMAL, **held(1e9 + 2, constant=1e9), **bounded(1e9 + 1))
