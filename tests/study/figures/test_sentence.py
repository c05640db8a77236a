"""The answer in a sentence, for every kind of study."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.quantities import per_cent
from dlsched.study.figures.sentence import sentence
from dlsched.study.figures.summary import Group, summarise
from dlsched.study.rows import Row
from tests.study.by_hand import HOSTILE, answer, dead, rows_of


def said(rows: list[Row]) -> str:
    return sentence(summarise(rows, 60.0))


def test_one_heuristic_and_an_exact_method() -> None:
    """5 % on average of two, 10 % at worst; too few for an interval."""
    rows = rows_of({"exact": [1.0, 1.0], "doubling": [1.0, 1.1]})
    assert said(rows) == (
        "On 2 instances of ring_allocation (mixed), `doubling` is 5.0 % above the optimum on average, worst 10 % (i1); "
        "`exact` proves 2 of 2 optima."
    )


def test_the_best_of_several_and_the_next() -> None:
    """With intervals from six instances on, and the test of the difference."""
    rows = rows_of({"doubling": [1.1, 1.12] * 5, "marginal": [1.0, 1.02] * 5, "equal": [3.0] * 10})
    text = said(rows)
    assert text.startswith(
        "On 10 instances of ring_allocation (mixed), `marginal`, the best of 3 heuristics, is 1.0 % [0."
    )
    assert ", 1.6] above the optimum on average, worst 2.0 % (i1); next is `doubling`, 11.0 % [10." in text
    assert text.endswith("] above the optimum (p = 0.0039).")  # twice 2 / 2^10, by Holm


def test_bounds_are_at_most() -> None:
    """And it says on how many only a bound is known."""
    rows = [*rows_of({"doubling": [1.1, 1.2]}), answer("x", "doubling", 1.6, kind="bound")]
    assert said(rows) == (
        "On 3 instances of ring_allocation (mixed), `doubling` is at most 30 % above the optimum on average, worst at most "
        "60 % (x) (on 1 only a bound is known)."
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            rows_of({"exact": [1.0] * 7}),
            "On 7 instances of ring_allocation (mixed), `exact` reaches the optimum on all.",
        ),
        (rows_of({"equal": [2.0, 3.0]}), "`equal` is 2.50 times the optimum on average, worst 3.00 times (i1)"),
        (
            [answer("a", "gadget", 1.25, family="ring_embedding")],  # more is better: no percentage above anything
            "`gadget` is a factor of 1.25 below the optimum on average, worst a factor of 1.25 below (a).",
        ),
        (
            [answer("a", "mine", 0.9, kind="answer"), answer("b", "mine", 0.8, kind="answer")],
            "`mine` is 15 % below the reference on average",
        ),
    ],
)
def test_words_for_a_mean(rows: list[Row], words: str) -> None:
    """At the optimum, far from it, where more is better, and below the answer of a method."""
    assert words in said(rows)


def test_failures_are_said() -> None:
    """Of the best method; what is known of the instance is another matter."""
    rows = rows_of({"doubling": [1.1, 1.2, None]})
    assert said(rows).endswith("worst 20 % (i1) (on 1 neither optimum nor bound), and fails on 1 of 3.")
    rows[2] = replace(rows[2], reference=100.0, reference_kind="optimum")
    assert said(rows).endswith("worst 20 % (i1), and fails on 1 of 3.")


def test_no_answers_and_why() -> None:
    """Statuses by method, and what has no solution at all."""
    rows = [dead("a", "exact", "infeasible"), dead("b", "exact", "timeout"), dead("b", "mine", "error")]
    assert said(rows) == (
        "On 2 instances of ring_allocation (mixed), no method has an answer (`exact`: 1 timeout; `mine`: 1 error; "
        "proven to have no solution: 1)."
    )
    assert sentence([]) == "No cell has ended."


def test_no_reference() -> None:
    """Then it counts who is better."""
    rows = [replace(answer("a", method, None), objective=value) for method, value in (("low", 1.0), ("high", 2.0))]
    assert said(rows) == (
        "On 1 instance of ring_allocation (mixed) no optimum or bound is known: `low`, the best of 2 heuristics, is better "
        "than `high` on 1, as good on 0 and worse on 0."
    )
    assert said(rows[:1]).endswith("no optimum or bound is known: `low` has an answer to 1.")


def test_many_groups_are_one_sentence() -> None:
    """From the least mean of the best methods to the largest, and the worst of all."""
    groups: list[Group] = []
    for index in range(4):
        groups += summarise(
            [
                answer(f"a{index}", "doubling", 1.1 + index / 10, preset=f"p{index}"),
                dead("b", "equal", preset=f"p{index}"),
            ]
        )
    assert sentence(groups) == (
        "On 8 instances in 4 groups of ring_allocation, the best method of each group lies on average between 10 % above the "
        "optimum (`doubling` on 1 instance of ring_allocation, p0) and 40 % above the optimum (`doubling` on 1 instance of "
        "ring_allocation, p3), at worst 40 % (a3); 4 cells failed."
    )


def test_names_are_written_on_one_line() -> None:
    """Whatever stands in them, and not in full where they are endless."""
    text = said([replace(answer(HOSTILE * 5, HOSTILE, 1.5), preset=HOSTILE)])
    assert text.isprintable()
    assert len(text) < 500


@settings(deadline=None)
@given(st.floats(1e-12, 1e6))
def test_per_cent_is_true(share: float) -> None:
    """Read again it is within 5 % of the share, and never 0; 100 only if it is not less."""
    text = per_cent(share).replace(",", "")
    if text == "> 99":
        assert 0.99 < share < 1
        return
    assert float(text) == pytest.approx(100 * share, rel=0.51 if share < 1e-6 else 0.051)
    assert float(text) != 0 and (text != "100" or share >= 1)
    assert per_cent(-share).startswith("-")


def test_no_mean_of_many_groups_rests_on_one_instance() -> None:
    """Groups of 5 instances at 1.1 and 1.2 and a single instance at 1.9, which counts as the worst only."""
    rows = [
        answer(f"{preset}{i}", "a", ratio, preset=preset)
        for preset, ratio in (("p", 1.1), ("q", 1.2))
        for i in range(5)
    ]
    said = sentence(summarise([*rows, answer("z", "a", 1.9, preset="alone")]))
    assert "between 10 % above the optimum (`a` on 5 instances of ring_allocation, p)" in said
    assert "and 20 % above the optimum (`a` on 5 instances of ring_allocation, q)" in said
    assert "at worst 90 % (z); means of 1 group of fewer than 5 or of searched instances are left out." in said
    rows = [answer(f"{preset}{i}", "a", 1.0, preset=preset) for preset in "pq" for i in range(5)]
    assert sentence(summarise(rows)).endswith("the best method of each group reaches the optimum on all.")
