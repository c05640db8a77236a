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


@pytest.mark.parametrize(
    ("rows", "sense", "known", "reference", "kind", "ratio", "gap"),
    [
        # 20 against an optimum of 16: the gap is 4 / 20
        ([row("a", "optimal", 16.0, 16.0), row("b", objective=20.0)], MIN, Known(), 16.0, "optimum", 1.25, 0.2),
        # where more is better ratios are the other way: 8 is a fifth short of 10
        ([row("a", bound=12.0), row("b", bound=10.0), row("c", objective=8.0)], MAX, Known(), 10.0, "bound", 1.25, 0.2),
        # what the file says is proven counts
        ([row("a", objective=12.0, bound=9.0)], MIN, Known(optimum=10.0, bound=10.0), 10.0, "optimum", 1.2, 1 / 6),
        # what no decision changes is left out: 30 / 20
        ([row("a", objective=130.0, bound=120.0)], MIN, Known(constant=100.0), 120.0, "bound", 1.5, 1 / 3),
        # unknown is None
        ([row("a", objective=3.0)], MIN, Known(), None, "", None, None),
    ],
)
def test_the_last_row_by_hand(rows, sense, known, reference, kind, ratio, gap):
    """Against the best that is proven; an answer against a bound is at most that far off, and no answer has no ratio."""
    *others, last = against_reference(rows, sense, known)
    assert (last.reference, last.reference_kind, last.ratio) == (reference, kind, ratio)
    assert last.gap == pytest.approx(gap) if gap is not None else last.gap is None
    assert last.at_most == (kind == "bound")
    assert all(each.reference == reference and (each.objective is None) == (each.ratio is None) for each in others)


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


def test_a_proof_that_beats_what_the_file_calls_proven_is_said_to_contradict_it():
    """An optimum of 9 where the file says 10: one of them is wrong, and the ratio to the 9 alone would hide it."""
    (found,) = against_reference([row("a", "optimal", 9.0, 9.0)], MIN, Known(optimum=10.0, bound=10.0))
    assert (found.reference, found.ratio) == (9.0, 1.0)
    assert found.message == "its objective 9.0 contradicts the proven 10.0"
