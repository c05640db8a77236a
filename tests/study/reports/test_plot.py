"""Figures of studies for papers: numbers by hand, texts of a readable size inside the figure, refusals in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.plots.figure import write_figure
from dlsched.study.figures.summary import summarise
from dlsched.study.reports.plot import KINDS, panel_of, plot, require_plot, shares
from tests.study.by_hand import rows_of
from tests.study.reports.synthetic import rows

pytest.importorskip("matplotlib")
MANY = {f"method-of-a-long-name-{number}": 0.01 * number for number in range(9)}


def shown(figure):  # type: ignore[no-untyped-def]
    """Texts that are not empty, in every part of the figure."""
    from matplotlib.text import Text

    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("instances", [20, 200])
def test_every_figure_is_readable_at_the_width_of_a_column(what: str, instances: int) -> None:
    """Text has 6 pt at least and stands inside the figure, whose axes keep more than an inch of height or a row's."""
    from matplotlib.legend import Legend

    figure = plot(summarise(rows(instances=instances, methods=MANY), 60.0), what, 3.3)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    assert min(text.get_fontsize() for text in shown(figure)) >= 6
    for legend in figure.findobj(Legend):
        box = legend.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= width + 1 and box.y0 >= -1 and box.y1 <= height + 1
    assert figure.get_figwidth() == 3.3
    for axes in figure.axes:
        assert axes.get_position().height * height / figure.dpi > 0.7


@pytest.mark.parametrize(
    ("what", "names"),
    [("profile", ["a", "b", "c"]), ("ratios", ["5 % to 95 %", "an instance", "median, middle half"])],
)
def test_panels_share_a_key(what: str, names: list[str]) -> None:
    """Where one has fewer methods, too: every name once, below the last panel."""
    from matplotlib.legend import Legend

    first = rows_of({"a": [1.0, 1.5, 1.1, 1.2], "b": [1.2, 1.1, 1.0, 1.0], "c": [1.4, 1.9, 1.3, 1.2]})
    second = [replace(row, preset="other") for row in first if row.method != "b"]
    figure = plot(summarise([*first, *second]), what, 3.3)
    (legend,) = figure.findobj(Legend)
    assert sorted(text.get_text() for text in legend.get_texts()) == names


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    """In every format that needs no LaTeX."""
    groups = summarise(rows(instances=12), 60.0)
    for ending in ("pdf", "svg", "png"):
        files = [str(tmp_path / f"{number}.{ending}") for number in range(2)]
        for file in files:
            write_figure(plot(groups, "ratios", 3.3), file, 3.3)
        assert Path(files[0]).read_bytes() == Path(files[1]).read_bytes()


def test_dots_of_few_and_quantiles_of_many() -> None:
    """A dot for each of three answers; of 200 the density and the worst."""
    few = plot(summarise(rows_of({"a": [1.0, 1.5, 2.0]})), "ratios", 3.3)
    dots = [line.get_xdata()[0] for line in few.axes[0].lines if line.get_marker() == "o"]
    assert sorted(map(float, dots)) == [1.0, 1.5, 2.0]
    many = plot(summarise(rows_of({"a": [1 + index / 100 for index in range(200)]})), "ratios", 3.3)
    assert [line.get_marker() for line in many.axes[0].lines] == ["x"] and float(
        many.axes[0].lines[0].get_xdata()[0]
    ) == 2.99


def test_shares_of_gaps_by_hand() -> None:
    """Half of the instances are optimal, three quarters within the gap of a ratio of 1.25, the last has no answer."""
    of = [
        replace(row, gap=None if row.ratio is None else row.ratio - 1) for row in rows_of({"a": [1.0, 1.0, 1.25, None]})
    ]
    (curve,) = plot(summarise(of), "gaps", 3.3).axes[0].lines
    assert list(zip(*map(list, curve.get_data()), strict=True)) == [(0, 0.5), (25, 0.75), (26, 0.75)]


def test_the_matrix_by_hand() -> None:
    """``a`` is better on one of four instances, where ``b`` has no answer on it; ties are nobody's."""
    (group,) = summarise(rows_of({"a": [1.0, 1.0, 1.5, 1.2], "b": [None, 1.0, 1.2, 1.2]}))
    panel = panel_of(group, 3.3)
    found = dict(zip(panel.methods, shares(panel).tolist(), strict=True))
    assert np.nansum(found["a"]) == 0.25 and np.nansum(found["b"]) == 0.25


def test_what_cannot_be_drawn_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = summarise([row for number in range(7) for row in rows(preset=f"p{number}", instances=3)], 60.0)
    with pytest.raises(UsageError, match="what: found 'pie', allowed: ratios, profile, gaps, growth, time, matrix"):
        plot(groups, "pie", 3.3)
    with pytest.raises(UsageError, match="group: found 7 groups, allowed: at most 6"):
        plot(groups, "ratios", 3.3)
    assert len(plot(groups, "ratios", 3.3, "p3").axes) == 1
    titles = [axes.get_title("left") for axes in plot(groups, "ratios", 3.3, ["p5", "ring_allocation, p3", "p5"]).axes]
    assert titles == ["ring_allocation, p3", "ring_allocation, p5"]  # in the order of the study
    with pytest.raises(UsageError, match="group: found 'q', allowed: 'ring_allocation, p0'"):
        plot(groups, "ratios", 3.3, ["p3", "q"])
    with pytest.raises(UsageError, match="all instances have 10 jobs"):
        plot(summarise(rows_of({"a": [1.0]})), "growth", 3.3)
    with pytest.raises(UsageError, match="plot width: found 1"):
        plot(groups, "ratios", 1.0, "p3")
    with pytest.raises(UsageError, match=r"ends with \.png, \.svg, \.pdf, \.pgf"):
        require_plot("ratios", 3.3, str(tmp_path / "a.eps"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SolverMissingError, match=r"a\.pgf: pgf needs LaTeX"):
        require_plot("ratios", 3.3, str(tmp_path / "a.pgf"))
