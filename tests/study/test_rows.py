"""Rows against their reference, by hand."""

from dataclasses import replace

import pytest

from dlsched.core.status import Sense
from dlsched.core.verdict import Known
from dlsched.study.rows import Row, against_reference

ROW = Row("k", "i", "ring_allocation", "generate", "mixed", 4, 8, 0, "m", "feasible")
MIN, MAX = Sense.MINIMIZE, Sense.MAXIMIZE


def row(method: str, status: str = "feasible", objective: float | None = None, bound: float | None = None) -> Row:
    return replace(ROW, method=method, status=status, objective=objective, bound=bound)


def test_an_optimum_that_a_row_proves_is_the_reference():
    """20 against an optimum of 16: ratio 1.25, gap 4 / 20."""
    exact, other = against_reference([row("a", "optimal", 16.0, 16.0), row("b", objective=20.0)], MIN, Known())
    assert (exact.ratio, exact.gap, exact.reference_kind) == (1.0, 0.0, "optimum")
    assert (other.reference, other.reference_kind, other.ratio, other.gap) == (16.0, "optimum", 1.25, 0.2)
    assert not other.at_most


def test_the_best_bound_stands_in_and_the_ratio_is_at_most():
    """Of the bounds 8 and 10 of a least objective, 10 is the better one."""
    found = against_reference([row("a", bound=8.0), row("b", bound=10.0), row("c", objective=15.0)], MIN, Known())
    assert [each.reference for each in found] == [10.0] * 3
    assert found[2].ratio == 1.5 and found[2].at_most
    assert found[0].ratio is None and found[0].gap is None


def test_where_more_is_better_ratios_are_the_other_way():
    """Bounds 12 and 10 of a largest objective: 10 is the better one, and 8 is a fifth short of it."""
    found = against_reference([row("a", bound=12.0), row("b", bound=10.0), row("c", objective=8.0)], MAX, Known())
    assert (found[2].reference, found[2].ratio, found[2].gap) == (10.0, 1.25, 0.2)


def test_an_answer_that_meets_the_bound_is_the_optimum():
    """Whoever found it."""
    found = against_reference([row("a", bound=10.0), row("b", objective=10.0), row("c", objective=11.0)], MIN, Known())
    assert {each.reference_kind for each in found} == {"optimum"}
    assert found[2].ratio == 1.1


def test_what_the_file_says_is_proven_counts():
    """Its optimum before any bound; its bound beside those of the rows."""
    by_optimum = against_reference([row("a", objective=12.0, bound=9.0)], MIN, Known(optimum=10.0, bound=10.0))
    assert (by_optimum[0].ratio, by_optimum[0].reference_kind) == (1.2, "optimum")
    by_bound = against_reference([row("a", objective=12.0, bound=9.0)], MIN, Known(bound=10.0))
    assert (by_bound[0].ratio, by_bound[0].reference_kind) == (1.2, "bound")


def test_what_no_decision_changes_is_left_out():
    """130 against 120, of which 100 are the releases: 30 / 20."""
    (found,) = against_reference([row("a", objective=130.0, bound=120.0)], MIN, Known(constant=100.0))
    assert found.ratio == 1.5 and found.gap == pytest.approx(1 / 3)


def test_a_method_of_the_plan_may_be_the_reference():
    """An exact one gives its optimum, a bound its bound, a heuristic its answer, which may be beaten."""
    rows = [row("exact", "optimal", 10.0, 10.0), row("price", bound=8.0), row("mine", objective=16.0)]
    assert [each.ratio for each in against_reference(rows, MIN, Known(), "exact")] == [1.0, None, 1.6]
    by_price = against_reference(rows, MIN, Known(), "price")[2]
    assert (by_price.ratio, by_price.reference_kind) == (2.0, "bound")
    by_mine = against_reference(rows, MIN, Known(), "mine")[0]
    assert (by_mine.ratio, by_mine.reference_kind, by_mine.message) == (0.625, "answer", "")
    assert against_reference(rows, MIN, Known(), "nobody")[2].reference is None


def test_an_answer_better_than_what_is_proven_is_said_to_contradict_it():
    """A wrong proof must not look like a good heuristic."""
    found = against_reference([row("a", "optimal", 10.0, 10.0), row("b", objective=9.0)], MIN, Known())
    assert "contradicts the proven 10.0" in found[1].message and found[1].ratio == 0.9
    rounded = against_reference([row("a", bound=10.0), row("b", objective=10.0 - 1e-9)], MIN, Known())
    assert rounded[1].ratio == 1.0 and rounded[1].message == ""


def test_without_anything_proven_there_is_no_ratio():
    """Unknown is None."""
    (found,) = against_reference([row("a", objective=3.0)], MIN, Known())
    assert (found.reference, found.reference_kind, found.ratio, found.gap) == (None, "", None, None)


def test_a_proof_that_beats_what_the_file_calls_proven_is_said_to_contradict_it():
    """An optimum of 9 where the file says 10: one of them is wrong, and the ratio to the 9 alone would hide it."""
    (found,) = against_reference([row("a", "optimal", 9.0, 9.0)], MIN, Known(optimum=10.0, bound=10.0))
    assert (found.reference, found.ratio) == (9.0, 1.0)
    assert found.message == "its objective 9.0 contradicts the proven 10.0"


def test_a_named_method_whose_answer_meets_its_own_bound_is_held_by_its_answer():
    """Whatever ended it: the optimum is an objective, and the bound may be a hair beside it."""
    ended = row("exact", "solver_error", 10.0, 10.0 - 1e-7)
    found = against_reference([ended, row("b", objective=20.0)], MIN, Known(), "exact")
    assert [(each.reference, each.reference_kind, each.ratio) for each in found] == [
        (10.0, "optimum", 1.0),
        (10.0, "optimum", 2.0),
    ]
