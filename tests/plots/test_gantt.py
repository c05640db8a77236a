"""The chart of gangs: GPUs given by hand, bars, labels, servers, what is left out, odd names."""

import pytest

from dlsched.plots import Gang, GangRow, draw_gangs
from dlsched.plots.gantt import seats
from tests.plots.looks import strays


def row(method="exact", gangs=None, flows=(20.0, 25.0)):
    first = {"a": Gang(0.0, 20.0, {0: 2, 1: 1}), "b": Gang(20.0, 30.0, {0: 2})}
    return GangRow(method, first if gangs is None else gangs, flows)


def bars(axes):
    """(left, right, top GPU, bottom GPU) of every bar."""
    found = []
    for path in axes.collections[-1].get_paths():
        (left, top), (right, bottom) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        found.append((left, right, top, bottom))
    return found


def charts(figure):
    return [axes for axes in figure.axes if "GPUs" in axes.get_ylabel()]


def test_seats_by_hand():
    """Adjacent GPUs where there are some, else the first free ones, never two jobs at once; runs end with the server."""
    gangs = {
        "a": Gang(0, 9, {0: 1}),
        "b": Gang(0, 2, {0: 1}),
        "c": Gang(0, 9, {0: 1}),
        "d": Gang(1, 3, {0: 1, 1: 2}),
        "e": Gang(2, 9, {0: 1, 1: 1}),
        "f": Gang(3, 9, {1: 2}),
    }
    assert seats(gangs, [4, 3]) == {
        "a": [(0, 1)],
        "b": [(1, 1)],
        "c": [(2, 1)],
        "d": [(3, 1), (4, 2)],
        "e": [(1, 1), (6, 1)],
        "f": [(4, 2)],
    }


def test_seats_of_scattered_gpus():
    """Of three free GPUs of which no two are adjacent a job of two takes the first two; rounding of times is no overlap."""
    gangs = {str(index): Gang(0, 9 - index % 2, {0: 1}) for index in range(6)} | {"z": Gang(8 - 1e-9, 9, {0: 2})}
    assert seats(gangs, [6])["z"] == [(1, 1), (3, 1)]


def test_bars_in_the_figure(tmp_path, drawn):
    """One bar a job and server, times from the first release, jobs named, releases marked."""
    servers, releases_s = {"s0": 2, "s1": 2}, {"a": 5.0, "b": 6.0}
    gangs = {"a": Gang(5.0, 25.0, {0: 2, 1: 1}), "b": Gang(25.0, 35.0, {0: 2})}
    rows = [row(gangs=gangs), row("same", gangs=gangs), row("slow", {**gangs, "b": Gang(30, 40, {1: 2})}, (20.0, 34.0))]
    draw_gangs(rows, tmp_path / "figure.png", servers=servers, releases_s=releases_s, title="$two$")
    upper, lower = charts(drawn[0])
    assert bars(upper) == [(0, 20, 0, 2), (0, 20, 2, 3), (20, 30, 0, 2)]
    assert bars(lower) == [(0, 20, 0, 2), (0, 20, 2, 3), (25, 35, 2, 4)]
    assert [axes.get_title(loc="left") for axes in (upper, lower)] == ["exact = same", "slow"]
    assert [label.get_text() for label in upper.get_yticklabels()] == ["s0", "s1"]
    assert [text.get_text() for text in upper.texts] == ["a", "b"]
    assert lower.get_xlabel() == "time since the first release (s)"
    (strip,) = (axes for axes in drawn[0].axes if axes.get_title(loc="left") == "releases")
    assert [line.get_xdata()[0] for line in strip.lines] == [0.0, 1.0]
    colours = upper.collections[-1].get_facecolors()
    assert (colours[0] == colours[1]).all() and (colours[0] != colours[2]).any()


def test_many_servers_are_counted_not_named(tmp_path, drawn):
    """Sixty servers have no room for names: the axis says how many they are; of 40 jobs six have colours."""
    gangs = {f"j{index}": Gang(0.0, 10.0 + index, {index: 1}) for index in range(40)}
    servers = {f"server-{index}": 4 for index in range(60)}
    rows = [GangRow(f"m{m}", {**gangs, "j0": Gang(m, 10 + m, {m: 1})}, [9.0 + m]) for m in range(6)]
    draw_gangs(rows, tmp_path / "figure.png", servers=servers, releases_s=dict.fromkeys(gangs, 0.0))
    chart = charts(drawn[0])
    assert len(chart) == 4
    assert chart[0].get_ylabel() == "GPUs of\n60 servers"
    legend = drawn[0].legends[0]
    assert "other jobs: 34" in [text.get_text() for text in legend.get_texts()]
    assert "Of longer mean flow time and not drawn: 2 of 6 methods." in legend.get_title().get_text()
    assert len({tuple(colour) for colour in chart[0].collections[-1].get_facecolors()}) == 7


@pytest.mark.parametrize("width_in", [3.3, 7.0])
def test_all_text_is_within_and_readable(width_in, tmp_path, drawn):
    """At both widths no text leaves the figure, and none is smaller than 5.5 points, whatever the names are."""
    odd = {"a$b$\x1b[0m": Gang(0.0, 9.0, {0: 2}), "\n\ud800" * 30: Gang(1e-9, 1e-3, {1: 1})}
    rows = [GangRow(name, odd, [1e-3, 9.0 + index]) for index, name in enumerate(["$m", "x" * 200, "a\nb$\\frac$"])]
    servers = {"_$s$": 2, "t" * 50: 2}
    draw_gangs(rows, tmp_path / "f.png", servers=servers, releases_s=dict.fromkeys(odd, 0.0), width=width_in, title="$")
    assert strays(drawn[0]) == ([], [])


def test_wrong_gangs_are_refused(tmp_path):
    """No rows, two for one method, no GPUs, more than a picture holds."""
    path, servers = tmp_path / "figure.png", {"s0": 2, "s1": 2}
    with pytest.raises(ValueError, match="rows: found none"):
        draw_gangs([], path, servers=servers, releases_s={})
    with pytest.raises(ValueError, match="rows: found two for method 'exact'"):
        draw_gangs([row(), row()], path, servers=servers, releases_s={})
    with pytest.raises(ValueError, match=r"servers: found 9007199254740992 GPUs, allowed in a figure: 1 to 100,000"):
        draw_gangs([row()], path, servers={"vast": 2**53}, releases_s={})
    assert not list(tmp_path.iterdir())
