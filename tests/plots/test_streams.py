"""The figure of streams: units held by hand, who is drawn and who is merged, files, equal bytes, refusals."""

import builtins
import subprocess
import sys

import numpy as np
import pytest

from dlsched.plots import StreamRow, draw_streams
from dlsched.plots.streams import STEPS, held_units, largest_jobs, least_mean_flow, step_edges

HOUR = 3600.0


def row(method="equal", periods=None, flows=(50.0, 60.0)):
    return StreamRow(method, {"a": [(0.0, 50.0, 4)], "b": [(10.0, 70.0, 2)]} if periods is None else periods, flows)


def turns(method, jobs, *, width=3):
    """Jobs that begin a minute after one another, each for ten minutes on one unit and then five on `width`."""
    periods = {f"job{i}": [(60.0 * i, 60.0 * i + 600, 1), (60.0 * i + 600, 60.0 * i + 900, width)] for i in range(jobs)}
    return StreamRow(method, periods, [900.0 + i for i in range(jobs)])


@pytest.fixture
def drawn(monkeypatch):
    """Figures caught where they would be written."""
    from matplotlib.figure import Figure

    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures


def words(subfigure):
    return [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in subfigure.legends[0].get_texts()]


def areas(axes):
    """Colour, and where it is drawn the bottom and the top, of each job in a panel."""
    found = {}
    for patch in axes.patches:
        values, _, baseline = patch.get_data()
        shown = ~np.isnan(values)
        found[patch.get_facecolor()] = (baseline[shown].tolist(), values[shown].tolist())
    return found


def test_held_units_by_hand():
    """Periods of 2 units to 4 and 4 units from 3 to 5 hold 2, then 2 + half of 4, then half of 4."""
    assert held_units([(0, 4, 2), (3, 5, 4)], [0, 2, 4, 6]).tolist() == [2.0, 4.0, 2.0]
    assert held_units([(0, 4, 2), (3, 5, 4)], [0, 3, 4, 5]).tolist() == [2.0, 6.0, 4.0]


def test_held_units_outside_the_edges():
    """What is held before the first edge or after the last does not count; without periods nothing is held."""
    assert held_units([(0, 10, 3), (0, 1, 9), (8, 10, 9)], [2, 4, 8]).tolist() == [3.0, 3.0]
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


def test_methods_of_least_mean_flow_keep_their_order():
    """Of five methods three are chosen, of equal means the first, in the order given."""
    rows = [row(name, flows=[mean, mean]) for name, mean in zip("abcde", (3.0, 2.0, 9.0, 1.0, 3.0), strict=True)]
    assert [each.method for each in least_mean_flow(rows, 3)] == ["a", "b", "d"]
    assert least_mean_flow(rows) == rows


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
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_is_written(rows, suffix, tmp_path):
    """Every odd set of rows gives a file, and no warning (which pytest turns into an error)."""
    path = draw_streams(rows, tmp_path / f"figure{suffix}", units=7, title="a title with $ and _")
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_rows_give_equal_bytes(suffix, tmp_path):
    """Two figures of equal rows, of many methods and jobs, are written, and are the same file to the byte."""
    first, second = (
        draw_streams([turns(f"method{m}", 60, width=m + 1) for m in range(9)], tmp_path / f"{name}{suffix}", units=64)
        for name in "ab"
    )
    assert first.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
    assert first.read_bytes() == second.read_bytes()


def test_areas_in_the_figure(tmp_path, drawn):
    """Jobs lie on one another in the order in which they first appear, and keep their colours in all panels."""
    second = row("greedy", {"b": [(0.0, 30.0, 4)], "c": [(30.0, 60.0, 4)]}, [20.0, 90.0])
    draw_streams([row(), second], tmp_path / "figure.svg", units=8)
    left, right = drawn[0].subfigs
    upper, lower = (areas(axes) for axes in left.axes)
    a, b = upper
    assert upper == {a: ([0.0, 0.0], [4.0, 4.0]), b: ([4.0, 0.0], [6.0, 2.0])}
    assert lower.pop(b) == ([0.0], [4.0])
    assert a not in lower
    assert [*lower.values()] == [([0.0], [4.0])]
    assert [axes.get_title(loc="left") for axes in left.axes] == ["equal", "greedy"]
    assert [axes.get_ylim() for axes in left.axes] == [(0, 8), (0, 8)]
    assert {axes.get_xlim() for axes in left.axes} == {(0, 70)}
    assert left.axes[1].get_xlabel() == "time (s)"
    assert words(left) == ["capacity: 8", "a colour for each job"]
    assert words(right) == ["equal: mean 55 s", "greedy: mean 55 s"]


def test_flow_times_in_the_figure(tmp_path, drawn):
    """Curves rise by one over the number of jobs at each flow time, in the unit of the axis."""
    rows = [row("m", flows=[4 * HOUR, 2 * HOUR, 8 * HOUR, 8 * HOUR]), row("n", flows=[3 * HOUR])]
    draw_streams(rows, tmp_path / "figure.svg", units=8)
    (axes,) = drawn[0].subfigs[1].axes
    first, second = axes.lines
    end = axes.get_xlim()[1]
    assert first.get_xdata().tolist() == [0.0, 2.0, 4.0, 8.0, 8.0, end]
    assert first.get_ydata().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert second.get_xdata().tolist() == [0.0, 3.0, end]
    assert (axes.get_xscale(), axes.get_xlabel()) == ("linear", "flow time (h)")
    assert words(drawn[0].subfigs[1]) == ["m: mean 5.5 h", "n: mean 3 h"]


@pytest.mark.parametrize(("largest", "scale"), [(20.0, "linear"), (20.5, "log")])
def test_wide_flow_times_are_logarithmic(largest, scale, tmp_path, drawn):
    """More than a factor of 20 is drawn on a logarithmic axis, whose left end takes the flow times of 0."""
    draw_streams([row(flows=[0.0, 1.0, largest, largest])], tmp_path / "figure.svg", units=8)
    (axes,) = drawn[0].subfigs[1].axes
    x, y = (data.tolist() for data in axes.lines[0].get_data())
    assert axes.get_xscale() == scale
    assert x[:3] == [axes.get_xlim()[0], axes.get_xlim()[0], 1.0]
    assert y[:3] == [0.0, 0.25, 0.5]


@pytest.mark.parametrize(
    ("span_s", "unit", "end"),
    [(179.0, "s", 179.0), (180.0, "min", 3.0), (3 * HOUR, "h", 3.0), (72 * HOUR, "days", 3.0)],
)
def test_time_unit(span_s, unit, end, tmp_path, drawn):
    """The axis is in the largest unit of which it has at least three."""
    draw_streams([row("m", {"a": [(0.0, span_s, 1)]})], tmp_path / "figure.svg", units=8)
    (axes,) = drawn[0].subfigs[0].axes
    assert axes.get_xlabel() == f"time ({unit})"
    assert axes.get_xlim() == (0.0, end)


def test_what_is_left_out_is_said(tmp_path, drawn):
    """Six of eight methods and forty of 2,100 jobs are drawn on their own, the other jobs as one area at the bottom."""
    draw_streams([turns(f"method{m}", 2100, width=m % 3 + 1) for m in range(8)], tmp_path / "figure.svg", units=64)
    left, right = drawn[0].subfigs
    assert [axes.get_title(loc="left") for axes in left.axes] == [f"method{m}" for m in range(6)]
    assert len(right.axes[0].lines) == 6
    assert words(left) == [
        "capacity: 64",
        "other jobs: 2,060",
        "40 jobs of most unit-seconds: a colour each",
        "means over 2,000 equal steps",
        "6 of 8 methods: least mean flow time",
    ]
    assert {len(axes.patches) for axes in left.axes} == {41}
    bottoms, _ = next(iter(areas(left.axes[0]).values()))
    assert not any(bottoms)
    assert len(areas(left.axes[0])) == 41


def test_large_streams_make_small_files(tmp_path):
    """Three methods with 20,000 jobs of two periods make files of a few megabytes."""
    rows = [turns(f"method{m}", 20_000, width=m + 1) for m in range(3)]
    path = draw_streams(rows, tmp_path / "figure.svg", units=64)
    assert path.stat().st_size < 5e6


@pytest.mark.parametrize("name", ["figure.jpeg", "figure"])
def test_unknown_suffix_is_refused(name, tmp_path):
    """Any other suffix is refused, with those that are allowed, and nothing is written."""
    with pytest.raises(ValueError, match=r"allowed suffixes: \.png, \.svg, \.pdf"):
        draw_streams([row()], tmp_path / name, units=8)
    assert not list(tmp_path.iterdir())


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


def test_missing_matplotlib_is_named(tmp_path, monkeypatch):
    """Without Matplotlib the error says what to install."""
    true_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return true_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"^plots need Matplotlib: pip install 'dlsched\[plots\]'$"):
        draw_streams([row()], tmp_path / "figure.svg", units=8)


def test_no_global_state_is_touched(tmp_path):
    """Drawing changes no Matplotlib setting and imports no pyplot, hence opens no display."""
    program = (
        "import matplotlib, sys\nfrom dlsched.plots import StreamRow, draw_streams\n"
        "before = repr(matplotlib.rcParams.copy())\n"
        f"draw_streams([StreamRow('m', {{'a': [(0.0, 1.0, 1)]}}, [1.0])], {str(tmp_path / 'f.svg')!r}, units=2)\n"
        "sys.exit('matplotlib.pyplot' in sys.modules or repr(matplotlib.rcParams.copy()) != before)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
