"""The figure of streams: units held by hand, who is drawn and who is merged, files, equal bytes, refusals."""

import numpy as np
import pytest

from dlsched.plots import StreamRow, draw_streams
from dlsched.plots.streams import held_units, step_edges
from dlsched.plots.timeline import STEPS, equal_rows, largest_jobs
from tests.plots.looks import strays

HOUR = 3600.0


def row(method="equal", periods=None, flows=(50.0, 60.0)):
    return StreamRow(method, {"a": [(0.0, 50.0, 4)], "b": [(10.0, 70.0, 2)]} if periods is None else periods, flows)


def turns(method, jobs, *, width=3):
    """Jobs that begin 61 s after one another, each for ten minutes on one unit and then five on `width`."""
    periods = {f"job{i}": [(61.0 * i, 61.0 * i + 600, 1), (61.0 * i + 600, 61.0 * i + 900, width)] for i in range(jobs)}
    return StreamRow(method, periods, [900.0 + i for i in range(jobs)])


def words(figure):
    legend = figure.legends[0]
    return [text.get_text() for text in legend.get_texts()], legend.get_title().get_text()


def panels(figure):
    """Axes of what is held, of the flow times, and of the arrivals (none without)."""
    left = [axes for axes in figure.axes if axes.get_ylabel() == "units held"]
    right = [axes for axes in figure.axes if axes.get_ylabel() == "fraction\nof jobs"]
    return left, right, [axes for axes in figure.axes if axes not in left + right]


def areas(axes):
    """Colour, and where it is drawn the bottom and the top, of each job in a panel."""
    found = {}
    for patch in axes.patches:
        values, _, baseline = patch.get_data()
        shown = ~np.isnan(values)
        if patch.get_hatch() is None:
            found[patch.get_facecolor()] = (baseline[shown].tolist(), values[shown].tolist())
    return found


def test_held_units_by_hand():
    """Periods of 2 units to 4 and 4 units from 3 to 5 hold 2, then 2 + half of 4, then half of 4."""
    assert held_units([(0, 4, 2), (3, 5, 4)], [0, 2, 4, 6]).tolist() == [2.0, 4.0, 2.0]
    assert held_units([(0, 4, 2), (3, 5, 4)], [0, 3, 4, 5]).tolist() == [2.0, 6.0, 4.0]
    assert held_units([(0, 10, 3), (0, 1, 9), (8, 10, 9)], [2, 4, 8]).tolist() == [
        3.0,
        3.0,
    ]  # what lies outside is none
    assert held_units([], [0, 1, 2]).tolist() == [0.0, 0.0]


def test_averages_keep_the_unit_seconds():
    """Whatever the edges, units times seconds add up to those of the periods; at every change, units are integers."""
    generator = np.random.default_rng(7)
    start = generator.uniform(0, 1e7, 5000)
    table = np.column_stack((start, start + generator.lognormal(8, 2, 5000), generator.integers(1, 9, 5000)))
    moments = np.unique(table[:, :2])
    edges = step_edges(moments)
    assert len(edges) == STEPS + 1
    assert (edges[0], edges[-1]) == (moments[0], moments[-1])
    total = float(((table[:, 1] - table[:, 0]) * table[:, 2]).sum())
    assert held_units(table, edges) @ np.diff(edges) == pytest.approx(total, rel=1e-12)
    exact = held_units(table, moments)
    assert exact == pytest.approx(np.round(exact), rel=1e-12)


def test_few_moments_are_kept():
    """As many steps as allowed are drawn where they are, one more and they are averaged."""
    assert step_edges(np.array([0.0, 1.0, 5.0]), 2).tolist() == [0.0, 1.0, 5.0]
    assert step_edges(np.array([0.0, 1.0, 5.0, 8.0]), 2).tolist() == [0.0, 4.0, 8.0]
    assert step_edges(np.array([]), 2).tolist() == []


def test_equal_rows_are_one_group():
    """Times that differ by a millionth of the span and less are equal, units are not; groups by mean flow time."""
    rows = [
        row("slow", flows=[90.0]),
        row("a"),
        row("b", {"a": [(0.0, 50.00005, 4)], "b": [(10.0, 70.0, 2)]}),
        row("later", {"a": [(0.0, 50.1, 4)], "b": [(10.0, 70.0, 2)]}),
        row("more", {"a": [(0.0, 50.0, 4)], "b": [(10.0, 70.0, 3)]}),
        row("other jobs", {"a": [(0.0, 50.0, 4)]}),
    ]
    groups = [[each.method for each in group] for group in equal_rows(rows[1:], 70.0)]
    assert groups == [["a", "b"], ["later"], ["more"], ["other jobs"]]
    assert equal_rows([rows[0], rows[3]], 70.0) == [[rows[3]], [rows[0]]]


def test_largest_jobs_over_all_rows():
    """Unit-seconds add up over the rows: b has 15, a and d 10, c 9; a came before d, jobs keep their order."""
    first = row("m", {"a": [(0, 5, 2)], "b": [(0, 5, 1), (5, 10, 1)]})
    second = row("n", {"c": [(0, 9, 1)], "d": [(0, 1, 10)], "b": [(0, 5, 1)]})
    assert largest_jobs([first, second], 2) == ["a", "b"]
    assert largest_jobs([first, second], 3) == ["a", "b", "d"]
    assert largest_jobs([first, second]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "rows",
    [
        [row()],
        [row("m", {}, [0.0])],
        [row("m", {"a": []}, [0.0, 5.0]), row("n")],
        [row("m", {"a": [(1e7, 1e7 + 0.25, 1)]}, [0.25])],
        [row("m", {"a": [(5.0, 5.0, 1)]}, [1e-12, 1e7])],
        [row("_$x$_", flows=[1.0, 1000.0]), row("a long name, " * 12, flows=[1.0])],
        [turns("averaged", 1500)],
    ],
    ids=["single", "no periods", "an idle method", "late and short", "no time at all", "odd names", "averaged"],
)
def test_is_written(rows, tmp_path):
    """Every odd set of rows gives a file, and no warning (which pytest turns into an error)."""
    path = draw_streams(rows, tmp_path / "figure.png", units=7, arrivals_s={"a": 0.0}, title="a title with $ and _")
    assert path.read_bytes()[:5] == b"\x89PNG\r"


def test_areas_in_the_figure(tmp_path, drawn):
    """Jobs lie on one another in the order in which they first appear, and keep their colours in all panels."""
    second = row("greedy", {"b": [(0.0, 30.0, 4)], "c": [(30.0, 60.0, 4)]}, [20.0, 95.0])
    draw_streams([second, row()], tmp_path / "figure.svg", units=8)
    left, _, _ = panels(drawn[0])
    upper, lower = (areas(axes) for axes in left)
    a, b = upper
    assert upper == {a: ([0.0, 0.0], [4.0, 4.0]), b: ([4.0, 0.0], [6.0, 2.0])}
    assert lower.pop(b) == ([0.0], [4.0])
    assert a not in lower
    assert [*lower.values()] == [([0.0], [4.0])]
    assert [axes.get_title(loc="left") for axes in left] == ["equal", "greedy"]
    assert [axes.get_ylim() for axes in left] == [(0, 8), (0, 8)]
    assert {axes.get_xlim() for axes in left} == {(0, 70)}
    assert left[1].get_xlabel() == "time (s)"
    assert words(drawn[0]) == (["a", "b", "c", "this method", "the others", "capacity: 8"], "")
    assert {text.get_text() for axes in left for text in axes.texts} == {"a", "b", "c"}


def test_arrivals_and_pauses_in_the_figure(tmp_path, drawn):
    """A triangle for each arrival, times from the first; the second period of a begins with 10 s that are hatched."""
    periods = {"a": [(1e9, 1e9 + 30, 2), (1e9 + 40, 1e9 + 70, 2)], "b": [(1e9 + 20, 1e9 + 70, 1)]}
    rows = [StreamRow("m", periods, [70.0, 50.0], {"a": 10.0, "b": 10.0})]
    draw_streams(rows, tmp_path / "figure.png", units=4, arrivals_s={"a": 1e9, "b": 1e9 + 20})
    (left,), _, (strip,) = panels(drawn[0])
    assert [line.get_xdata()[0] for line in strip.lines] == [0.0, 20.0]
    assert [line.get_marker() for line in strip.lines] == ["v", "v"]
    hatched = [patch for patch in left.patches if patch.get_hatch()]
    values, edges, baseline = hatched[0].get_data()
    shown = ~np.isnan(values)
    assert (edges[:-1][shown], edges[1:][shown], baseline[shown], values[shown]) == ([40.0], [50.0], [0.0], [2.0])
    assert len(hatched) == 1
    assert left.get_xlabel() == "time since the first arrival (s)"
    assert words(drawn[0])[0] == ["a", "b", "capacity: 4", "restart", "pause of a restart"]


def test_arrivals_at_one_time_hide_none(tmp_path, drawn):
    """Three jobs that arrive together have triangles above one another, a later one begins at the bottom."""
    periods = {name: [(float(index), 100.0, 1)] for index, name in enumerate("abcd")}
    arrivals_s = {"a": 0.0, "b": 0.0, "c": 0.0, "d": 60.0}
    draw_streams([row("m", periods)], tmp_path / "figure.png", units=4, arrivals_s=arrivals_s)
    _, _, (strip,) = panels(drawn[0])
    assert [(line.get_xdata()[0], int(line.get_ydata()[0])) for line in strip.lines] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (60, 0),
    ]


def test_equal_streams_share_a_panel(tmp_path, drawn):
    """One panel with both names; nothing is compared, so the curve needs no explanation."""
    draw_streams([row("exact"), row("doubling")], tmp_path / "figure.png", units=8)
    left, right, _ = panels(drawn[0])
    assert [axes.get_title(loc="left") for axes in left] == ["exact = doubling"]
    assert len(right) == 1 and len(right[0].lines) == 1


def test_flow_times_in_the_figure(tmp_path, drawn):
    """Curves rise by one over the number of jobs at each flow time, in the unit of the axis; the own one is black."""
    rows = [row("m", flows=[4 * HOUR, 2 * HOUR, 8 * HOUR, 8 * HOUR]), row("n", {"a": [(0.0, 9.0, 1)]}, [3 * HOUR])]
    draw_streams(rows, tmp_path / "figure.svg", units=8)
    _, right, _ = panels(drawn[0])
    first, second = right  # n, which is faster, and m
    assert [line.get_color() == "black" for axes in right for line in axes.lines] == [False, True, False, True]
    x, y = (data.tolist() for data in second.lines[1].get_data())
    assert x == [0.0, 2.0, 4.0, 8.0, 8.0, second.get_xlim()[1]]
    assert y == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert first.lines[1].get_xdata().tolist() == [0.0, 3.0, first.get_xlim()[1]]
    assert (second.get_xscale(), second.get_xlabel()) == ("linear", "flow time (h)")
    assert [axes.get_title(loc="left") for axes in right] == ["mean 3 h", "mean 5.5 h"]


@pytest.mark.parametrize(("largest", "scale"), [(20.0, "linear"), (20.5, "log")])
def test_wide_flow_times_are_logarithmic(largest, scale, tmp_path, drawn):
    """More than a factor of 20 is drawn on a logarithmic axis that says so, whose left end takes the flow times of 0."""
    draw_streams([row(flows=[0.0, 1.0, largest, largest])], tmp_path / "figure.svg", units=8)
    _, (axes,), _ = panels(drawn[0])
    x, y = (data.tolist() for data in axes.lines[0].get_data())
    assert axes.get_xscale() == scale
    assert ("log scale" in axes.get_xlabel()) == (scale == "log")
    assert x[:3] == [axes.get_xlim()[0], axes.get_xlim()[0], 1.0]
    assert y[:3] == [0.0, 0.25, 0.5]


def test_what_is_left_out_is_said(tmp_path, drawn):
    """Six of eight methods are drawn, and six of 700 jobs in colours, the other jobs as one area at the bottom."""
    draw_streams([turns(f"method{m}", 700, width=m + 1) for m in range(8)], tmp_path / "figure.png", units=64)
    left, right, _ = panels(drawn[0])
    assert [axes.get_title(loc="left") for axes in left] == [f"method{m}" for m in range(6)]
    assert [len(axes.lines) for axes in right] == [6] * 6
    key, notes = words(drawn[0])
    assert key[6] == "other jobs: 694" and key[-3:] == ["capacity: 64", "restart", "means over 2,000 steps"]
    assert notes.splitlines() == [
        "The 6 jobs that hold the most have colours; all others are grey.",
        "Of longer mean flow time and not drawn: 2 of 8 methods.",
    ]
    assert {len(areas(axes)) for axes in left} == {7}
    bottoms, _ = next(iter(areas(left[0]).values()))
    assert not any(bottoms)


@pytest.mark.parametrize("width_in", [3.3, 7.0])
def test_all_text_is_within_and_readable(width_in, tmp_path, drawn):
    """At the width of a column and of a page no text leaves the figure, and none is smaller than 5.5 points."""
    rows = [turns(f"a-method-of-a-long-name-{m}", 15, width=m + 1) for m in range(7)]
    arrivals_s = {f"job{i}": 60.0 * i for i in range(15)}
    draw_streams(rows, tmp_path / "figure.png", units=64, arrivals_s=arrivals_s, title="fifteen jobs", width=width_in)
    assert strays(drawn[0]) == ([], [])
    assert len(panels(drawn[0])[0]) == (4 if width_in < 5 else 6)


def test_large_streams_make_small_files(tmp_path):
    """A method with 4,000 jobs of two periods makes a file of less than a megabyte: its size does not grow with the jobs."""
    rows = [turns("method", 4_000)]
    path = draw_streams(rows, tmp_path / "figure.svg", units=64)
    assert path.stat().st_size < 1e6


def test_wrong_rows_are_refused(tmp_path):
    """No rows, two for one method, no units, and flow times that are none, negative or no numbers are refused."""
    with pytest.raises(ValueError, match="rows: found none, allowed: at least one"):
        draw_streams([], tmp_path / "figure.svg", units=8)
    with pytest.raises(ValueError, match="rows: found two for method 'equal', allowed: one"):
        draw_streams([row("other"), row(), row()], tmp_path / "figure.svg", units=8)
    with pytest.raises(ValueError, match="units: found 0, allowed: at least 1"):
        draw_streams([row()], tmp_path / "figure.svg", units=0)
    with pytest.raises(ValueError, match="flow_times_s: found none for equal, allowed: one a job, at least one"):
        row(flows=[])
    for flow_s in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="flow_times_s: found"):
            row(flows=[1.0, flow_s])
