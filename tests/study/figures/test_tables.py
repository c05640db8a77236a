"""The table of a group: its text by hand."""

from dataclasses import replace

import pytest

from dlsched.statistics.estimate import Estimate
from dlsched.study.figures.summary import summarise
from dlsched.study.figures.tables import COLUMNS, estimate_text, p_value_text, ratio_text, table, title
from tests.study.by_hand import answer, dead, rows_of


def test_cells_by_hand() -> None:
    """Ratios 1 and 1.5 of three cells, one of which timed out after none of its seconds were kept; ``exact`` is ahead."""
    (group,) = summarise(rows_of({"exact": [1.0, 1.0, 1.0], "doubling": [1.0, 1.5, None]}), 60.0)
    columns, rows = table(group)
    assert columns == COLUMNS
    assert rows == [
        ("exact", "3 of 3", "3", "1.0000", "1.0000", "1.0000", "1.0000", "1 s", "2-1-0"),
        ("doubling", "2 of 3", "0", "1.2500", "1.2500", "1.4750", "1.5000", "1 s", "the best"),
    ]


def test_bounds_and_unknowns() -> None:
    """``<=`` before what rests on a bound, a dash where there is nothing, p-values from six instances on."""
    rows = [answer(f"i{index}", "doubling", 1.5, kind="bound") for index in range(6)]
    rows += [answer(f"i{index}", "equal", 2.0, kind="bound") for index in range(6)] + [dead("i0", "mine", "error")]
    (group,) = summarise(rows)
    assert table(group)[1] == [
        ("doubling", "6 of 6", "0", "<= 1.5000", "<= 1.5000", "<= 1.5000", "<= 1.5000", "1 s", "the best"),
        ("equal", "6 of 6", "0", "<= 2.0000", "<= 2.0000", "<= 2.0000", "<= 2.0000", "1 s", "0-0-6 (p = 0.031)"),
        ("mine", "0 of 1", "0", "-", "-", "-", "-", "-", "0-0-1"),
    ]


def test_alone_nothing_is_the_best() -> None:
    """There is nothing to be better than."""
    (group,) = summarise(rows_of({"doubling": [1.1]}))
    assert table(group)[1][0][-1] == "-"


def test_titles() -> None:
    """What the instances are, and what the ratios rest on."""
    (group,) = summarise(rows_of({"doubling": [1.1] * 1200}))
    assert title(group) == "ring_allocation, mixed: 1,200 instances"
    rows = [
        answer("a", "m", 1.1, kind="bound"),
        answer("b", "m", 1.1, kind="answer"),
        answer("c", "m", None),
        dead("d", "m", "infeasible"),
    ]
    (group,) = summarise([replace(row, preset="") for row in rows])
    assert title(group) == (
        "ring_allocation, files: 4 instances (1 against a bound, 1 against an answer, 2 without a reference, "
        "1 without a solution)"
    )


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.00004, "1+4e-05"),
        (1.00006, "1.0001"),
        (0.99998, "1-2e-05"),
        (999.9, "999.9000"),
        (123456.0, "1.235e+05"),
        (0.5, "0.5000"),
    ],
)
def test_ratios(ratio: float, text: str) -> None:
    """Four decimals, and never 1 for what is not."""
    assert ratio_text(ratio) == text
    assert ratio_text(ratio, "<= ") == f"<= {text}"


def test_what_meets_a_bound_is_not_at_most() -> None:
    """A ratio of at most 1 is 1."""
    assert ratio_text(1.0 + 1e-8, "<= ") == "1.0000"


def test_estimates() -> None:
    """With the interval where there is one."""
    assert estimate_text(None) == "-"
    assert estimate_text(Estimate(1.25)) == "1.2500"
    assert estimate_text(Estimate(1.0, 1.0, 1.0)) == "1.0000"
    assert estimate_text(Estimate(1.25, 1.0, 1.5), "<= ") == "<= 1.2500 [1.0000, 1.5000]"
    assert p_value_text(0.00099) == "(p < 0.001)"
    assert p_value_text(0.051) == "(p = 0.051)"
