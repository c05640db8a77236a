"""The table of a group: its text by hand."""

from dataclasses import replace

from dlsched.core.quantities import mean
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.sentence import sentence
from dlsched.study.figures.summary import summarise
from dlsched.study.figures.tables import HEADS, LEFT, note_of, p_value_text, table, title
from tests.study.by_hand import answer, dead, rows_of


def test_cells_by_hand() -> None:
    """Ratios 1 and 1.5 of three cells, one of which timed out after none of its seconds were kept; ``exact`` is ahead."""
    (group,) = summarise(rows_of({"exact": [1.0, 1.0, 1.0], "doubling": [1.0, 1.5, None]}), 60.0)
    columns, rows = table(group)
    assert columns == tuple(head for head in HEADS.values() if head not in LEFT)
    assert rows == [
        ("exact", "3 of 3", "3", "1", "1, on 2", "1", "1", "1", "1 s", "2-1-0"),
        ("doubling", "2 of 3", "0", "1.25", "1.25, on 2", "1.25", "1.48", "1.50", "1 s", "the best"),
    ]


def test_means_side_by_side_are_over_the_same_instances() -> None:
    """Of three instances ``hull`` has 1.1, 1.2 and 1.0, ``leap`` the first two: 1.1 beside 1.15 is 1.15 beside 1.15."""
    (group,) = summarise(rows_of({"hull": [1.1, 1.2, 1.0], "leap": [1.1, 1.2, None]}))
    assert group.uneven and group.shared == 2
    assert table(group, ("method", "answers", "mean", "shared"))[1] == [
        ("hull", "3 of 3", "1.100", "1.15, on 2"),
        ("leap", "2 of 3", "1.15", "1.15, on 2"),
    ]
    said = sentence([group])
    assert (
        "`hull`, the best of 2 heuristics, is 15 % above the optimum on average over the 2 instances that all" in said
    )
    assert "next is `leap`, 15 % above" in said
    (even,) = summarise(rows_of({"hull": [1.1, 1.2], "leap": [1.1, 1.3], "lagrange": [None, None]}))
    assert not even.uneven and "mean where all answered" not in table(even)[0]


def test_bounds_and_unknowns() -> None:
    """``<=`` before what rests on a bound, a dash where there is nothing, p-values from six instances on."""
    rows = [answer(f"i{index}", "doubling", 1.5, kind="bound") for index in range(6)]
    rows += [answer(f"i{index}", "equal", 2.0, kind="bound") for index in range(6)] + [dead("i0", "mine", "error")]
    (group,) = summarise(rows)
    assert table(group)[1] == [
        ("doubling", "6 of 6", "0", "<= 1.50", "<= 1.50", "<= 1.50", "<= 1.50", "1 s", "the best"),
        ("equal", "6 of 6", "0", "<= 2.00", "<= 2.00", "<= 2.00", "<= 2.00", "1 s", "0-0-6 (p = 0.031)"),
        ("mine", "0 of 1", "0", "-", "-", "-", "-", "-", "0-0-1"),
    ]
    (alone,) = summarise(rows_of({"doubling": [1.1]}))
    assert table(alone)[1][0][-1] == "-"  # there is nothing to be better than


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


def test_estimates() -> None:
    """With the interval where there is one."""
    assert mean(Estimate(1.25, 1.0, 1.5), at_most=True) == "<= 1.25 [1.00, 1.50]"
    assert p_value_text(0.00099) == "(p < 0.001)"
    assert p_value_text(0.051) == "(p = 0.051)"


def test_what_is_left_of_gpus_is_a_mean_over_answers() -> None:
    """Lost are 1/4 and 1/8 of the GPU time: 19 %; an answer without slices has no figure, and no column without any."""
    rows = [
        replace(row, figures={"fragment": 0.5, "lost": 0.25 / (1 + number)})
        for number, row in enumerate(rows_of({"hull": [1.0, 1.0]}))
    ]
    (group,) = summarise([*rows, *rows_of({"leap": [1.0, 1.0]})])
    assert table(group, ("method", "fragment", "lost"))[1] == [("hull", "50 %", "19 %"), ("leap", "-", "-")]
    assert table(group)[0][-2:] == LEFT and "Fragment and lost are means" in note_of([group])
    (without,) = summarise(rows_of({"leap": [1.0, 1.0]}))
    assert not {*table(without)[0]} & {*LEFT} and "Fragment" not in note_of([without])
