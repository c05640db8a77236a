"""The numbers of the plots, by hand; that a plot's tables hold them; and what is said where there is nothing to draw."""

import html
import re
import xml.etree.ElementTree

import pytest

from dlsched.study.reports.content import chosen, trials
from dlsched.study.reports.page_figures import MOST, STEPS, against_size, distribution, factors_of_best, grid, profile
from dlsched.study.reports.page_parts import Axis, Figure, Trace, axis, looks, not_drawn
from dlsched.study.rows import Row

from .synthetic import HOSTILE, changed, hostile, rows

LOOKS = looks(["a", "b"])


def row(instance: str, method: str, ratio: float | None, **more: object) -> Row:
    """A row of 10 jobs and an optimum of 1."""
    base = Row("", instance, "ring_allocation", "generate", "mixed", 10, 64, 1, method, "feasible")
    rated: dict[str, object] = {
        "reference_kind": "" if ratio is None else "optimum",
        "ratio": ratio,
        "objective": ratio,
    }
    return changed(base, **{**rated, "gap": None if ratio is None else 1 - 1 / ratio, **more})


def texts(figure: Figure, table: int) -> list[list[str]]:
    return [[cell.text for cell in line] for line in figure.tables[table].rows]


def test_dots_are_the_ratios_and_bounds_are_hollow() -> None:
    """Two instances, one with a bound for a reference; b has no answer to the second."""
    found = trials(
        [
            row("i", "a", 1.25),
            row("i", "b", 1.0),
            row("j", "a", 1.5, reference_kind="bound"),
            row("j", "b", None, status="timeout"),
        ]
    )
    figure = distribution(found, LOOKS, 10, "time over the least time")
    assert [(trace.name, trace.x, trace.symbol, trace.hollow) for trace in figure.traces] == [
        ("a", [1.25], "o", [False]),
        ("a", [1.5], "o", [True]),
        ("b", [1.0], "o", [False]),
    ]
    assert texts(figure, 1) == [
        ["i", "10 jobs, 64 GPUs, seed 1", "1.25", "1"],
        ["j", "10 jobs, 64 GPUs, seed 1", "≤ 1.5", "timeout"],
    ]
    assert "hollow" in figure.says
    assert figure.x is not None and figure.x.title == "time over the least time"


def test_the_bar_is_the_middle_half_of_all_instances() -> None:
    """Of 1, 1.1, ..., 1.8 the quarters are 1.2, 1.4 and 1.6, though only some dots are drawn."""
    found = trials([row(f"i{index}", "a", 1 + index / 10) for index in range(9)])
    figure = distribution(found, looks(["a"]), 3, "ratio")
    assert [trace.x for trace in figure.traces if not trace.name] == [[1.2, 1.6], [1.4, 1.4]]
    assert texts(figure, 0) == [["a", "9", "1", "1.2", "1.4", "1.6", "1.76", "1.8"]]


def test_the_profile_is_against_the_best_answer() -> None:
    """Factors of a: 1, 1.2; of b: 1.5, none at all."""
    found = trials([row("i", "a", 2.0), row("i", "b", 3.0), row("j", "a", 1.2), row("j", "b", None)])
    figure = profile(found, LOOKS, "ring_allocation")
    assert [(trace.x, trace.y) for trace in figure.traces] == [
        ([1.0, 1.5, 1.53], [1.0, 1.0, 1.0]),
        ([1.0, 1.5, 1.53], [0.0, 0.5, 0.5]),
    ]
    assert texts(figure, 0) == [["1", "1", "0"], ["1.5", "1", "0.5"], ["1.53", "1", "0.5"]]


@pytest.mark.parametrize(("family", "better"), [("ring_allocation", "a"), ("ring_embedding", "b")])
def test_without_a_reference_objectives_make_the_profile(family: str, better: str) -> None:
    """Objectives 2 and 4: the less is better in one family, the more in the other."""
    found = trials([row("i", "a", None, objective=2.0), row("i", "b", None, objective=4.0)])
    figure = profile(found, LOOKS, family)
    assert {trace.name: trace.y[0] for trace in figure.traces} == {"a": float(better == "a"), "b": float(better == "b")}


def test_a_curve_of_many_steps_is_drawn_at_some() -> None:
    """Its first and last factor among them."""
    taus = grid([1 + index / 1000 for index in range(1000)])
    assert (len(taus), taus[0], taus[-1]) == (STEPS, 1.0, 1.999)


def test_gaps_and_times_by_size() -> None:
    """Of three instances of 10 jobs and one of 40 the medians; a bound among those of a size makes its mark hollow."""
    found = trials(
        [
            row("i", "a", 1.25, time_s=1.0),
            row("j", "a", 2.0, time_s=2.0),
            row("k", "a", 1.0, time_s=4.0),
            row("l", "a", 2.0, time_s=1e-9, jobs=40, reference_kind="bound"),
        ]
    )
    gap, time = against_size(found, looks(["a"]))
    (trace,) = gap.traces
    assert (trace.y, trace.x, trace.hollow) == ([20.0, 50.0], [10, 40], [False, True])
    assert (trace.below, trace.above) == ([18.0, 0.0], [27.0, 0.0])
    assert texts(gap, 0) == [["a", "10", "3", "2", "20", "47"], ["a", "40", "1", "≤ 50", "≤ 50", "≤ 50"]]
    assert time.traces[0].y == [2.0, 1e-5]


def test_many_sizes_are_put_together() -> None:
    """Every instance lies in one of eight bins, each from 200^(k/8) on: 1, 1.94, 3.76, ..., 103.1."""
    found = trials([row(f"i{jobs}", "a", 1.5, jobs=jobs, time_s=1.0) for jobs in range(1, 201)])
    table = against_size(found, looks(["a"]))[0].tables[0]
    assert len(table.rows) == MOST
    assert sum(int(line[2].text) for line in table.rows) == 200
    assert (table.rows[0][1].text, table.rows[-1][1].text) == ("1", "104–200")


def test_sizes_are_gpus_where_only_they_differ() -> None:
    found = trials([row("i", "a", 1.5, gpus=8, time_s=1.0), row("j", "a", 1.5, gpus=16, time_s=1.0)])
    assert [line[1].text for line in against_size(found, looks(["a"]))[0].tables[0].rows] == ["8", "16"]
    near = trials([row("i", "a", 1.5, gpus=180, time_s=1.0), row("j", "a", 1.5, gpus=196, time_s=1.0)])
    assert against_size(near, looks(["a"]))[0].missing == "all instances have 10 jobs"


def test_what_cannot_be_drawn_is_said_in_one_sentence() -> None:
    """One method, one size, and no answer."""
    found = trials([row("i", "a", None, status="error")])
    only = looks(["a"])
    figures = [
        distribution(found, only, 9, "ratio"),
        profile(found, only, "ring_allocation"),
        *against_size(found, only),
    ]
    assert not any(figure.traces for figure in figures)
    assert not_drawn(figures) == (
        "Ratios: not drawn, no answer has a ratio; performance profile: not drawn, one method alone is compared with no "
        "other; gap against size and time against size: not drawn, all instances have 10 jobs"
    )


def test_a_selection_holds_the_worst_of_every_method_and_says_what_it_is() -> None:
    """Of 1,000 instances; the worst of each method are far apart in their order."""
    every = rows(instances=1000, failing=0.0, sizes=[10])
    found = trials(every)
    kept, words = chosen(found, ["greedy", "first-fit"], 100)
    names = {trial.name for trial in kept}
    for method in ("greedy", "first-fit"):
        ranked = sorted((each for each in every if each.method == method), key=lambda each: -(each.ratio or 0))
        assert {each.instance for each in ranked[:10]} <= names
    assert len(kept) <= 100
    assert words.startswith(f"Shown are {len(kept)} of 1,000 instances: the 10 worst of every method and every ")
    assert chosen(found, ["greedy"], 1000) == (found, "")


def test_instances_of_one_name_are_told_apart() -> None:
    """By where they are from, or by their number alone; and a second run of a method has a trial of its own."""
    same = [row("i", "a", 1.0), row("i", "a", 2.0), row("i", "a", 3.0, seed=2)]
    assert [trial.rows["a"].ratio for trial in trials(same)] == [1.0, 2.0, 3.0]
    both = [row("i", "a", 1.0, instance_id=1), row("i", "b", 1.0, instance_id=2)]
    assert [list(trial.rows) for trial in trials(both)] == [["a"], ["b"]]


def test_a_wide_axis_is_logarithmic_and_says_so() -> None:
    wide, narrow, none = axis(1.0, 10.0, "x"), axis(1.0, 2.0, "x"), axis(0.0, 9.0, "x")
    assert (wide.log, wide.title) == (True, "x (log scale)")
    assert not narrow.log and not none.log
    one = axis(1.0, 1.0, "x")
    assert (one.low, one.high) == (0.95, 1.05)


def test_every_method_looks_different() -> None:
    """Up to twelve by hue, dash or mark, and the first six without colour too."""
    found = list(looks([f"m{index}" for index in range(12)]).values())
    assert len({(look.colour, look.dash, look.symbol) for look in found}) == 12
    assert len({look.dash for look in found[:6]}) == len({look.symbol for look in found[:6]}) == 6


def test_an_instance_without_ratios_is_compared_by_objectives() -> None:
    """The first has ratios, 1 and 1.5; the second objectives of 10 and 20 alone."""
    found = trials(
        [
            row("i", "a", 1.0),
            row("i", "b", 1.5),
            row("j", "a", None, objective=20.0),
            row("j", "b", None, objective=10.0),
        ]
    )
    assert factors_of_best(found, ["a", "b"], "ring_allocation") == {"a": [1.0, 2.0], "b": [1.5, 1.0]}


@pytest.mark.parametrize(
    "found",
    [rows(), hostile(), rows(methods={"doubling": 0.1}), rows(kind="bound"), rows(instances=1500, sizes=range(5, 60))],
    ids=["one family", "hostile", "one method", "bounds", "many"],
)
def test_every_number_of_a_plot_stands_in_its_table(found: list[Row]) -> None:
    """Each dot with its sign in its method's column, each step, and each median with its range; and no further number."""
    look = looks(list(dict.fromkeys(each.method for each in found)))
    ratios, *others = [distribution(trials(found), look, 100, "ratio"), *against_size(trials(found), look)]
    heads = [column.head for column in ratios.tables[1].columns]
    for index, method in enumerate(heads[2:], 2):
        of_method = [trace for trace in ratios.traces if trace.name == method]
        dots = [("≤ " * kind, x) for each in of_method for kind, x in zip(each.hollow, each.x, strict=True)]
        cells = [line[index].text for line in ratios.tables[1].rows if line[index].text[-1].isdigit()]
        assert sorted(f"{sign}{x:.6g}" for sign, x in dots) == sorted(cells)
    for figure in others:
        marks = [
            (trace.name, middle - below, middle, middle + above, hollow)
            for trace in figure.traces
            for middle, below, above, hollow in zip(trace.y, trace.below, trace.above, trace.hollow, strict=True)
        ]
        for mark, line in zip(marks, texts(figure, 0), strict=True):
            assert (mark[0], mark[4]) == (line[0], line[4].startswith("≤"))
            assert mark[1:4] == pytest.approx([float(text.removeprefix("≤ ")) for text in line[3:]])
    steps = profile(trials(found), look, "ring_allocation")
    if not steps.missing:
        taus, *shares = ([float(text) for text in cells] for cells in zip(*texts(steps, 0), strict=True))
        assert [(trace.x, trace.y) for trace in steps.traces] == [(taus, of) for of in shares]


def test_a_plot_is_small_and_its_texts_are_texts() -> None:
    """Equal plots are equal texts, a mark for each point is in it, hollow ones apart, and names are escaped."""
    pytest.importorskip("matplotlib")

    def figure() -> Figure:
        dots = Trace([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], "#0072B2", symbol="o", hollow=[False, True, False])
        return Figure(
            "plot", traces=[dots], x=axis(1.0, 3.0, "x"), y=Axis("", 0.0, 1.0, bare=True), notes={0.5: HOSTILE[1]}
        )

    svg = figure().svg
    assert svg == figure().svg and len(svg) < 5000
    drawn = [group.count("<use") for group in re.findall(r"<g[^>]*>(?:<use [^>]*/>)+</g>", svg)]
    assert drawn[-2:] == [2, 1]
    assert html.escape(HOSTILE[1], quote=False) in svg and "<img" not in svg
    assert xml.etree.ElementTree.fromstring(svg).attrib["viewBox"] == "0 0 420 300"
