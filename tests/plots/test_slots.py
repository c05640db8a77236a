"""The chart of rings: workers by slot by hand, cells, arrivals, what is left out, odd names."""

import numpy as np
import pytest

from dlsched.plots import SlotRow, draw_slots
from dlsched.plots.slots import workers_by_slot
from tests.plots.looks import strays


def test_workers_by_slot_by_hand():
    """As many columns as slots are exact; fewer are means; of vast numbers of slots nothing but the rings is looked at."""
    assert workers_by_slot({1: (2, 1), 3: (4, 2)}, 3, 3).tolist() == [2, 0, 4]
    assert workers_by_slot({1: (2, 1), 3: (4, 2)}, 3, 2) == pytest.approx([4 / 3, 8 / 3])
    vast = workers_by_slot({1: (2, 1), 2**53: (4, 1)}, 2**53, 4)
    assert vast == pytest.approx([2**-50, 0, 0, 2**-49])


def test_means_keep_the_worker_slots():
    """Whatever the parts, workers times slots add up to those of the rings."""
    generator = np.random.default_rng(3)
    rings = {
        int(slot): (int(workers), 1)
        for slot, workers in zip(range(1, 1000, 3), generator.integers(1, 9, 333), strict=True)
    }
    total = sum(workers for workers, _ in rings.values())
    for columns in (1, 7, 500, 999, 1000):
        assert workers_by_slot(rings, 1000, columns).sum() * 1000 / columns == pytest.approx(total)


def test_cells_in_the_figure(tmp_path, drawn):
    """Numbers of workers in their cells, white without a ring, a dot for a ring on two servers, a line at each arrival."""
    rings = {"a": {1: (3, 2), 2: (1, 1)}, "b": {2: (2, 1)}}
    rows = [SlotRow("fifo", {"a": {1: (3, 1)}}, 5.0), SlotRow("exact", rings, 7.5), SlotRow("milp", dict(rings), 7.5)]
    draw_slots(rows, tmp_path / "figure.png", slots=3, arrivals={"a": 1, "b": 2}, title="two jobs")
    first, second, bar = drawn[0].axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["exact = milp: utility 7.5", "fifo: utility 5"]
    cells = np.ma.filled(first.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(cells, [[3, 1, np.nan], [np.nan, 2, np.nan]])
    assert {(*text.get_position(), text.get_text()) for text in first.texts} == {(1, 0, "3"), (2, 0, "1"), (2, 1, "2")}
    assert [round(line.get_xdata()[0]) for line in first.lines] == [1]
    arrivals = first.collections[0].get_segments()
    assert [(part[0][0], part[0][1], part[1][1]) for part in arrivals] == [(0.5, -0.5, 0.5), (1.5, 0.5, 1.5)]
    assert [label.get_text() for label in first.get_yticklabels()] == ["a", "b"]
    assert bar.get_ylabel() == "workers"
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["arrival", "ring on several servers"]


def test_what_is_left_out_is_said(tmp_path, drawn):
    """Four of five methods, 200 of 230 jobs and means over slots, and no dot where none can be seen; axes say so."""
    jobs = {f"j{index}": 1 + index for index in range(230)}
    rows = [
        SlotRow(f"m{m}", {job: {slot: (2, 2)} for job, slot in jobs.items() if slot > 20 + m}, 10.0 - m)
        for m in range(5)
    ]
    draw_slots(rows, tmp_path / "figure.png", slots=5000, arrivals=jobs)
    legend = drawn[0].legends[0]
    assert legend.get_title().get_text() == "Of less utility and not drawn: 1 of 5 methods."
    assert [text.get_text() for text in legend.get_texts()] == ["arrival"]
    assert drawn[0].axes[0].get_ylabel() == "200 of 230 jobs: most worker-slots\nin the file's order"
    assert drawn[0].axes[0].images[0].get_array().shape == (200, 500)
    assert drawn[0].axes[-1].get_ylabel() == "workers, means over 10 slots"


@pytest.mark.parametrize("width_in", [3.3, 7.0])
def test_all_text_is_within_and_readable(width_in, tmp_path, drawn):
    """At both widths no text leaves the figure, and none is smaller than 5.5 points, whatever the names are."""
    jobs = {"$a_b$": 1, "\x1b[31m\n" * 9: 2, "\ud800\u4e2d": 4}
    rows = [
        SlotRow(name, {job: {slot: (index + 1, 2)} for job, slot in jobs.items()}, 10.0 - index)
        for index, name in enumerate(["$m$", "y" * 100, "a b\nc"])
    ]
    draw_slots(rows, tmp_path / "figure.png", slots=12, arrivals=jobs, width=width_in, title="\x07$x$" * 40)
    assert strays(drawn[0]) == ([], [])


def test_wrong_rows_are_refused(tmp_path):
    """No rows, two for one method, no jobs, no slots."""
    one, path = SlotRow("m", {}, 0.0), tmp_path / "figure.png"
    for rows, slots, arrivals, found in [
        ([], 1, {"a": 1}, "rows: found none"),
        ([one, one], 1, {"a": 1}, "rows: found two for method 'm'"),
        ([one], 1, {}, "arrivals: found none"),
        ([one], 0, {"a": 1}, "slots: found 0"),
    ]:
        with pytest.raises(ValueError, match=found):
            draw_slots(rows, path, slots=slots, arrivals=arrivals)
