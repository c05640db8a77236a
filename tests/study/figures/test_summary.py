"""Groups, lines and comparisons of studies whose figures are worked out by hand."""

import math
from dataclasses import replace

import pytest

from dlsched.core.status import Sense
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.sentence import sentence
from dlsched.study.figures.summary import Group, summarise
from dlsched.study.figures.tables import overview, remarks, table, title
from dlsched.study.rows import Row
from tests.study.by_hand import answer, dead, rows_of

RATIOS = {
    "exact": [1.0] * 8,
    "doubling": [1.1, 1.2, 1.0, 1.4, 1.0, 1.3, 1.2, 2.0],
    "equal": [1.1, 1.4, 1.5, None, 1.6, 1.9, 1.7, 1.8],
}


def only(rows: list[Row], limit_s: float | None = 60.0) -> Group:
    (group,) = summarise(rows, limit_s)
    return group


PAIR = (("a", 2.0), ("b", 3.0))


def test_a_line_by_hand() -> None:
    """Of the ratios of ``doubling`` the sum is 10.2, the fourth and fifth are both 1.2, and index 6.65 lies at 1.79."""
    group = only(rows_of(RATIOS))
    assert (group.family, group.preset, group.instances, len(group.rows)) == ("ring_allocation", "mixed", 8, 24)
    assert [line.method for line in group.lines] == ["exact", "doubling", "equal"]
    line = group.line("doubling")
    assert line.mean is not None and line.mean.low is not None and line.mean.high is not None
    assert line.mean.value == pytest.approx(10.2 / 8)
    assert 1.05 < line.mean.low < 10.2 / 8 < line.mean.high < 1.7
    assert line.median == pytest.approx(1.2)
    assert line.p95 == pytest.approx(1.4 + 0.65 * 0.6)
    assert (line.worst, line.worst_instance) == (2.0, "i7")
    assert (line.cells, line.answers, line.ratios, line.failed, line.timeouts) == (8, 8, 8, 0, 0)
    assert (line.proven, line.at_optimum, line.at_most, line.worst_at_most) == (0, 2, False, False)
    assert (line.time_s, line.par10) == (pytest.approx(1.0), 1.0)
    assert group.line("exact").proven == 8
    assert group.line("exact").mean == Estimate(1.0, 1.0, 1.0)
    assert group.references == {"optimum": 8}


def test_a_failure_is_never_dropped() -> None:
    """``equal`` has seven answers of eight; its mean is of seven, it loses the eighth, and its time counts ten limits."""
    line = only(rows_of(RATIOS)).line("equal")
    assert (line.cells, line.answers, line.ratios, line.failures, line.timeouts) == (8, 7, 7, {"timeout": 1}, 1)
    assert line.mean is not None and line.mean.value == pytest.approx(11.0 / 7)
    assert line.par10 == pytest.approx((7 * 1.0 + 600.0) / 8)
    assert only(rows_of(RATIOS), None).line("equal").par10 is None
    assert line.comparison is not None
    assert (line.comparison.against, line.comparison.instances) == ("doubling", 8)
    assert (line.comparison.wins, line.comparison.ties, line.comparison.losses) == (1, 1, 6)
    assert line.comparison.difference is not None
    assert line.comparison.difference.value == pytest.approx((0 + 0.2 + 0.5 + 0.6 + 0.6 + 0.5 - 0.2) / 7)


def test_paired_tests_are_corrected_together() -> None:
    """``exact`` wins six and ties two, by Pratt's ranks of SciPy; with two tests the smaller p is doubled."""
    from scipy import stats

    group = only(rows_of(RATIOS))
    exact, equal = group.line("exact").comparison, group.line("equal").comparison
    assert exact is not None and exact.p_value is not None and equal is not None and equal.p_value is not None
    raw = [
        float(stats.wilcoxon([-0.1, -0.2, 0, -0.4, 0, -0.3, -0.2, -1.0], zero_method="pratt").pvalue),
        float(stats.wilcoxon([0, 0.2, 0.5, 9.0, 0.6, 0.6, 0.5, -0.2], zero_method="pratt").pvalue),
    ]
    low, high = sorted(raw)
    corrected = {low: min(1.0, 2 * low), high: max(min(1.0, 2 * low), high)}
    assert exact.p_value == pytest.approx(corrected[raw[0]])
    assert equal.p_value == pytest.approx(corrected[raw[1]])
    assert group.line("doubling").comparison is None


def test_the_best_does_not_gain_by_failing() -> None:
    """A method that answers the easy half only has the better mean, and is not the one that others are compared with."""
    easy: list[float | None] = [1.0, 1.0, 1.0, 1.0, None, None, None, None]
    group = only(rows_of({"doubling": RATIOS["doubling"], "fixed": easy, "exact": [1.0] * 8}))
    fixed, doubling = group.line("fixed"), group.line("doubling")
    assert fixed.mean is not None and doubling.mean is not None and fixed.mean.value < doubling.mean.value
    assert group.ranking == ("doubling", "fixed", "exact")
    assert fixed.comparison is not None and fixed.comparison.against == "doubling"


def test_exact_methods_are_compared_among_themselves_where_they_are_alone() -> None:
    """And one whose name the family does not know is exact if it proved something."""
    group = only(rows_of({"milp": [1.0, 1.1], "mine": [1.0, 1.0]}))
    assert [line.kind for line in group.lines] == ["exact", "heuristic"]
    assert group.ranking == ("mine", "milp")
    rows = [replace(row, status="optimal") if row.method == "mine" else row for row in group.rows]
    assert [line.kind for line in only(rows).lines] == ["exact", "exact"]
    assert only(rows_of({"exact": [1.0]})).line("exact").comparison is None


def test_what_rests_on_a_bound_is_at_most() -> None:
    """One ratio of three against a bound: mean and median are at most; the worst only if it is that one."""
    rows = [
        answer("a", "doubling", 1.5),
        answer("b", "doubling", 1.2, kind="bound"),
        answer("c", "doubling", 1.1),
        answer("a", "equal", 1.5),
        answer("b", "equal", 1.9, kind="bound"),
        answer("c", "equal", 1.1),
    ]
    group = only(rows)
    assert [(line.at_most, line.worst_at_most) for line in group.lines] == [(True, False), (True, True)]
    assert group.references == {"optimum": 2, "bound": 1}
    met = only([answer("a", "doubling", 1.0, kind="bound")]).line("doubling")
    assert (met.at_most, met.at_optimum) == (False, 1)


def test_an_answer_beyond_the_optimum_is_not_at_it() -> None:
    """A ratio below 1 contradicts a proof; against an answer it is a better answer, and no optimum either."""
    assert only([answer("a", "doubling", 0.9)]).line("doubling").at_optimum == 0
    assert only([answer("a", "doubling", 1.0, kind="answer")]).line("doubling").at_optimum == 0


def test_without_references_the_best_answer_is_the_yardstick() -> None:
    """No ratios, but wins and losses, in the sense of the family: more utility is better in ring_embedding."""
    for family, winner in (("ring_allocation", "low"), ("ring_embedding", "high")):
        rows = []
        for index in range(6):
            for method, objective in (("low", 10.0), ("high", 12.0)):
                row = answer(f"i{index}", method, None, family=family)
                rows.append(replace(row, objective=objective + index))
        group = only(rows)
        assert group.ranking[0] == winner
        loser = group.line(group.ranking[1])
        assert loser.mean is None and loser.worst_instance == ""
        assert loser.comparison is not None
        assert (loser.comparison.wins, loser.comparison.losses, loser.comparison.p_value) == (0, 6, 2 / 64)
        assert group.references == {"": 6}


def test_an_answer_infinitely_far_off_loses() -> None:
    """With an optimum of 0 and an objective above it there is no ratio: it is not in the mean, and is beaten by one that has."""
    far = replace(answer("a", "equal", 1.0), objective=5.0, reference=0.0, ratio=None)
    group = only([answer("a", "doubling", 1.0), far, answer("b", "doubling", 1.3), answer("b", "equal", 1.0)])
    line = group.line("equal")
    assert (line.answers, line.ratios, line.failed) == (2, 1, 0)
    assert line.comparison is not None and (line.comparison.wins, line.comparison.losses) == (1, 1)


def test_an_instance_without_a_solution_is_nobodys_failure() -> None:
    """Once it is proven; to run out of time on it remains one."""
    rows = [dead("a", "exact", "infeasible"), dead("a", "fixed", "no_solution"), dead("a", "milp", "timeout")]
    rows += [answer("b", "exact", 1.0, status="optimal"), dead("b", "fixed", "no_solution"), answer("b", "milp", 1.0)]
    group = only(rows)
    assert group.infeasible == 1
    assert [line.failures for line in group.lines] == [{}, {"no_solution": 1}, {"timeout": 1}]


def test_a_method_for_bounds_is_not_compared() -> None:
    """It has no answers and has not failed, unless it has no bound."""
    bound = replace(dead("a", "lagrange", "feasible"), bound=90.0)
    rows = [answer("a", "doubling", 1.1), bound, answer("b", "doubling", 1.1), dead("b", "lagrange", "timeout")]
    rows += [answer("c", "doubling", 1.1), replace(dead("c", "lagrange", "time_limit"), bound=80.0)]
    line = only(rows).line("lagrange")
    assert (line.kind, line.answers, line.failures, line.timeouts, line.comparison) == (
        "bound",
        0,
        {"timeout": 1},
        2,
        None,
    )


def test_groups_are_in_the_order_of_the_rows() -> None:
    """By family and preset, whatever lies between; instances of equal name are told apart by their source."""
    rows = [answer("a", "equal", 1.0, preset=preset) for preset in ("z", "a", "", "z")]
    assert [(group.preset, group.instances) for group in summarise(rows)] == [("z", 2), ("a", 1), ("files", 1)]
    twins = [replace(answer("a", "equal", 1.0), source=source) for source in ("one.json", "two.json")]
    assert only(twins).instances == 2
    assert summarise([]) == []


def test_senses_are_not_mixed() -> None:
    """Of one preset, instances that are minimised and instances that are maximised; ratios to the best answer."""
    less = [replace(answer("i", method, None), sense="minimize", objective=value) for method, value in PAIR]
    more = [replace(answer("j", method, None), sense="maximize", objective=value) for method, value in PAIR]
    groups = summarise([*less, *more])
    assert [(group.sense, group.instances, group.ranking) for group in groups] == [
        (Sense.MINIMIZE, 1, ("a", "b")),
        (Sense.MAXIMIZE, 1, ("b", "a")),
    ]


def test_objectives_are_not_mixed() -> None:
    """Of one preset and sense: means by hand 1.2 and 3, never 1.8; cells whose instance was not made stay apart."""
    mean = [replace(answer(name, "equal", 1.2), objective_name="mean", sense="minimize") for name in "ab"]
    rho = replace(answer("c", "equal", 3.0), objective_name="max_rho", sense="minimize")
    groups = summarise([mean[0], rho, mean[1], dead("d", "equal")])
    assert [(group.objective, group.instances, group.line("equal").failed) for group in groups] == [
        ("mean", 2, 0),
        ("max_rho", 1, 0),
        ("objective not known", 1, 1),
    ]
    means = [group.line("equal").mean for group in groups]
    assert [each and each.value for each in means] == [pytest.approx(1.2), pytest.approx(3.0), None]
    assert title(groups[1]) == "ring_allocation, mixed, objective max_rho: 1 instance"
    said = sentence(groups)
    assert "of ring_allocation, mixed, objective mean)" in said and "mixed, objective max_rho)" in said
    assert "with the objective max_rho" in sentence(groups[1:2])


def test_one_objective_needs_no_name() -> None:
    """A cell whose instance was not made belongs to the others, and is judged by their sense."""
    rows = [dead("d", "a"), replace(answer("i", "a", None), objective_name="alpha_fair 2", sense="maximize")]
    group = only(rows)
    assert (group.objective, group.names, group.sense) == ("", ("ring_allocation", "mixed"), Sense.MAXIMIZE)
    assert (group.instances, group.line("a").failed) == (2, 1)


def test_what_has_not_run_is_left_out_of_the_pair() -> None:
    """A study that was interrupted: three instances of one method, one of the other."""
    rows = [answer(name, "doubling", 1.1) for name in "abc"] + [answer("b", "equal", 1.2)]
    comparison = only(rows).line("equal").comparison
    assert comparison is not None and (comparison.instances, comparison.losses) == (1, 1)


def test_no_answer_at_all() -> None:
    """Every figure is unknown, nothing is compared, and the failures stand there by status."""
    group = only([dead("a", "exact", "timeout"), dead("a", "mine", "error"), dead("b", "mine", "killed")])
    assert [line.failures for line in group.lines] == [{"timeout": 1}, {"error": 1, "killed": 1}]
    for line in group.lines:
        assert (line.mean, line.median, line.p95, line.worst, line.time_s, line.comparison) == (None,) * 6


def test_the_kind_is_that_of_the_rows_whatever_the_label() -> None:
    """A heuristic called ``exact`` is one, and a method for bounds under another name has not failed."""
    rows = [
        replace(answer("a", "exact", 1.0, status="optimal"), kind="heuristic"),
        replace(answer("a", "doubling", 1.1), kind="exact"),
        replace(dead("a", "below", "feasible"), bound=90.0, kind="bound"),
        replace(dead("b", "below", "time_limit"), bound=90.0, kind="bound"),
        replace(dead("b", "exact", "time_limit"), bound=90.0, kind="heuristic"),
    ]
    group = only(rows)
    assert [(line.method, line.kind) for line in group.lines] == [
        ("exact", "heuristic"),
        ("doubling", "exact"),
        ("below", "bound"),
    ]
    assert group.failed == (rows[4],)


def test_answers_without_a_finite_ratio_are_counted_and_said() -> None:
    """One of two is infinitely far from an optimum of 0; an answer that is not worse is none of these."""
    far = replace(answer("a", "equal", 1.0), objective=5.0, reference=0.0, ratio=None)
    group = only([far, answer("b", "equal", 1.0)])
    line = group.line("equal")
    assert (line.ratios, line.unbounded, line.worst, line.worst_instance) == (1, 1, math.inf, "a")
    assert sentence([group]) == (
        "On 2 instances of ring_allocation (mixed), `equal` is 0 % above the optimum (on 1 without a finite ratio) "
        "on average, worst unbounded (a)."
    )
    cells = dict(zip(*(table(group)[0], table(group)[1][0]), strict=True))
    assert (cells["mean ratio"], cells["worst"]) == ("1, 1 unbounded", "unbounded")
    alone = only([far])
    assert alone.line("equal").mean is None and "none with a finite ratio" in sentence([alone])
    assert "1 group without a finite ratio" in sentence([alone, group])


def test_ties_for_the_best_are_named() -> None:
    """Equal means of equal many answers tie, also where they differ by instance; a bound method is no rival."""
    (group,) = summarise(rows_of({"a": [1.0, 1.5], "b": [1.5, 1.0], "c": [1.5, 1.5], "exact": [1.0, 1.0]}))
    assert (group.best.method, group.tied) == ("a", ("b",))
    assert "`a` and `b`, tied for the best of 3 heuristics, are" in sentence([group])
    columns, cells = overview([group])
    assert dict(zip(columns, cells[0], strict=True))["tied with it"] == "b"
    (alone,) = summarise(rows_of({"a": [1.0, 1.4], "b": [1.5, 1.0]}))
    assert alone.tied == () and "tied with it" not in overview([alone])[0]


def test_a_bound_is_shown_as_a_bound() -> None:
    """Not as a method that answers nothing."""
    rows = [replace(row, kind="bound", objective=None, ratio=None, bound=90.0) for row in rows_of({"lp": [1.0] * 3})]
    (group,) = summarise([*rows, *rows_of({"a": [1.0] * 3})])
    assert [cells[1] for cells in table(group)[1]] == ["3 of 3 bounds", "3 of 3"]


def test_streams_without_ticks_say_that_their_optima_are_bounds() -> None:
    """Drawn ones; with ticks, or in another family, nothing is said."""
    rows = [replace(row, family="elastic_stream", arguments={"jobs": 2}) for row in rows_of({"a": [1.2]}, kind="bound")]
    ratios, said = remarks(summarise(rows))
    assert ratios.startswith("Ratios of elastic_stream: mean flow time over the optimal mean flow time")
    assert "optima are bounds" in said and "tick = SECONDS" in said
    assert remarks(summarise([replace(row, arguments={"jobs": 2, "tick": 10.0}) for row in rows])) == [ratios]
    assert len(remarks(summarise(rows_of({"a": [1.2]})))) == 1


def test_a_group_says_what_its_ratios_are_of() -> None:
    """The objective of its rows, by its name, also with a number in it; of answers to compare with, whose they are."""
    rows = rows_of({"a": [1.2]})
    (group,) = summarise([replace(row, family="matching_placement", objective_name="alpha_fair 2") for row in rows])
    assert group.ratio == "optimal alpha-fair utility over the alpha-fair utility"
    (group,) = summarise([replace(row, family="ring_embedding", objective_name="sum less energy") for row in rows])
    assert (
        group.ratio_sentence == "optimal utility less energy over the utility less energy; the other way round below 0"
    )
    (group,) = summarise([replace(row, family="srpt_mapping", reference_kind="answer") for row in rows])
    assert group.ratio == "mean flow time over the mean flow time of the reference method"


def test_instances_that_were_searched_for_are_a_group_of_their_own() -> None:
    """Of files a mean of 1.1, of the worst that a search found one of 4; together they would be 2.07."""
    rows = [replace(row, preset="") for row in rows_of({"a": [1.1, 1.1, 4.0]})]
    rows[2] = replace(rows[2], instance="worst-srpt-knee")
    files, worst = summarise(rows)
    assert [group.names for group in (files, worst)] == [
        ("ring_allocation", "files"),
        ("ring_allocation", "worst known"),
    ]
    means = [group.line("a").mean for group in (files, worst)]
    assert [mean.value for mean in means if mean is not None] == pytest.approx([1.1, 4.0])
    assert not files.generated and not worst.generated
