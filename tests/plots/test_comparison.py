"""The comparison figure: files for every odd set of points, equal bytes, refusals."""

import builtins
import re
import subprocess
import sys

import pytest

from dlsched.plots import Point, draw_comparison
from dlsched.plots.figure import FAINT
from tests.plots.looks import strays


def point(instance="a", method="exact", ratio=1.0, *, kind="exact", at_most=False):
    return Point(instance, method, kind, ratio, at_most, 0.1)


def grid(methods, instances, ratio_of):
    return [
        point(f"instance{i}", f"method{m}", ratio_of(m, i), at_most=i % 4 == 3)
        for i in range(instances)
        for m in range(methods)
    ]


def uneven(m, i):
    return None if (m + i) % 7 == 0 else 1 + m * i / 100


@pytest.mark.parametrize(
    "points",
    [
        [point()],
        [point(ratio=None), point(method="dp", ratio=None)],
        [point(name, method) for name in "abc" for method in ("exact", "dp")],
        [point(ratio=1.3), point("b", method="equal", ratio=1.1)],
        [point(ratio=1.2, at_most=True), point(method="hull", ratio=1.5, at_most=True, kind="heuristic")],
        [point(ratio=1e6), point("b", ratio=1 + 1e-9, kind="foreign")],
        [point(method="_$x$_\x1b\n$\\frac{", ratio=1 - 1e-9), point("\ud800\u4e2d" * 40, method="m" * 300)],
        grid(8, 20, uneven),
    ],
    ids=["single", "no answers", "all optimal", "disjoint", "bounds only", "wide", "odd name", "large"],
)
def test_is_written(points, tmp_path):
    """Every odd set of points gives a file, and no warning (which pytest turns into an error)."""
    path = draw_comparison(points, tmp_path / "figure.png", title="a title with $ and _")
    assert path.read_bytes()[:5] == b"\x89PNG\r"


def words(figure, part):
    """The key of the ratios (part 0), or of the curves (part 1)."""
    (legend,) = figure.subfigs[part].legends
    return [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in legend.get_texts()]


def test_marks_in_the_figure(tmp_path, drawn):
    """Ratios, hollow marks, missing answers and profile curves are those computed by hand."""
    points = [
        point("a", "equal", 1.5, kind="heuristic"),
        point("b", "equal", 2.5, kind="heuristic", at_most=True),
        point("a", "exact", 1.0),
        point("b", "exact", 1.25, at_most=True),
        point("c", "exact", 1.0),
    ]
    draw_comparison(points, tmp_path / "figure.png")
    left, right = drawn[0].axes
    marks = [(line.get_xdata()[0], line.get_markerfacecolor() == "white") for line in left.lines]
    assert marks == [(1.0, False), (1.25, True), (1.0, False), (1.5, False), (2.5, True)]
    assert [label.get_text() for label in left.get_yticklabels()] == ["exact", "equal"]
    assert [text.get_text() for text in left.texts] == ["", "1 unanswered"]
    assert (left.get_xlabel(), left.get_xscale()) == ("ratio to the optimum", "linear")
    exact, equal = right.lines
    assert list(exact.get_ydata()) == [1.0, 1.0]
    assert list(equal.get_xdata()) == [1.0, 1.5, 2.0, 2.05]
    assert list(equal.get_ydata()) == [0.0, 1 / 3, 2 / 3, 2 / 3]
    assert right.get_xlim()[0] == 1.0


def test_intervals_by_hand(tmp_path, drawn):
    """Of 1 to 9 the median 5, 5 % to 95 % from 1.4 to 8.6, the middle half from 3 to 7; of three answers the median alone."""
    ratios = {"m": (9.0, 1.0, 7.0, 2.0, 3.0, 6.0, 4.0, 8.0, 5.0), "n": (1.0, 1.5, 2.0)}
    draw_comparison([point(f"{i}", m, r) for m, row in ratios.items() for i, r in enumerate(row)], tmp_path / "f.png")
    segments = [[end for each in part.get_segments() for end in each[:, 0]] for part in drawn[0].axes[0].collections]
    assert segments == [[5.0, 5.0], pytest.approx([1.4, 8.6]), [3.0, 7.0], [1.5, 1.5]]
    assert words(drawn[0], 0) == ["exact method", "median, middle half", "5 % to 95 %"]


def test_methods_are_sorted(tmp_path, drawn):
    """By the median ratio; a method with a missing answer comes after those without, whatever its ratios."""
    ratios = {"worst": (3.0, 3.0), "lazy": (None, 1.0), "best": (1.0, 1.2), "good": (1.5, 1.1)}
    draw_comparison([point(f"{i}", m, r) for m, row in ratios.items() for i, r in enumerate(row)], tmp_path / "f.png")
    assert [label.get_text() for label in drawn[0].axes[0].get_yticklabels()] == ["best", "good", "worst", "lazy"]


@pytest.mark.parametrize(("largest", "scale", "said"), [(3.8, "linear", ""), (4.5, "log", " (log scale)")])
def test_a_wide_axis_says_that_it_is_logarithmic(largest, scale, said, tmp_path, drawn):
    """From a factor of 4 on both axes are logarithmic, and their labels say so."""
    draw_comparison([point(), point(method="equal", ratio=largest)], tmp_path / "figure.png")
    left, right = drawn[0].axes
    assert {left.get_xscale(), right.get_xscale()} == {scale}
    assert [axes.get_xlabel() for axes in (left, right)] == [
        f"ratio to the optimum{said}",
        f"factor τ of the best known{said}",
    ]


def test_equal_curves_are_one(tmp_path, drawn):
    """Methods that differ by less than a bound must meet share a curve and a colour; the key says ``a = b``."""
    draw_comparison(
        [
            point(method="a"),
            point(method="b", ratio=1 + 1e-8),
            point(method="c", ratio=1.5),
            point(method="d", ratio=1.5),
        ],
        tmp_path / "figure.png",
    )
    left, right = drawn[0].axes
    assert len(right.lines) == 2
    assert words(drawn[0], 1) == ["a = b", "c = d"]
    assert [line.get_markeredgecolor() for line in left.lines] == [
        line.get_color() for line in right.lines for _ in "ab"
    ]


def test_no_colour_stands_for_two_curves(tmp_path, drawn):
    """Of nine curves the first six have a hue each, the others are grey, and the key says how many they are."""
    draw_comparison([point(method=f"m{m}", ratio=1 + m / 10) for m in range(9)], tmp_path / "figure.png")
    colours = [line.get_color() for line in drawn[0].axes[1].lines]
    assert len(set(colours[:6])) == 6
    assert set(colours[6:]) == {FAINT} and FAINT not in colours[:6]
    assert words(drawn[0], 1)[5:] == ["m5", "3 other methods"]


@pytest.mark.parametrize(("suffix", "width_in"), [(".svg", 3.3), (".svg", 7.0), (".pdf", 3.3)])
def test_width_of_a_paper(suffix, width_in, tmp_path):
    """Files are exactly as wide as a column or a page (72 points an inch)."""
    path = draw_comparison([point()], tmp_path / f"figure{suffix}", width=width_in)
    size = rb'width="([0-9.]+)pt"' if suffix == ".svg" else rb"MediaBox \[ 0 0 ([0-9.]+) "
    assert float(re.search(size, path.read_bytes())[1]) == pytest.approx(72 * width_in)
    with pytest.raises(ValueError, match=r"plot width: found 0.5, allowed: inches from 2.5 to 40"):
        draw_comparison([point()], path, width=0.5)


@pytest.mark.parametrize("width_in", [3.3, 7.0])
def test_all_text_is_within_and_readable(width_in, tmp_path, drawn):
    """At both widths no text leaves the figure, and none is smaller than 5.5 points."""
    draw_comparison(grid(12, 3, uneven), tmp_path / "figure.png", width=width_in, title="twelve methods")
    outside, small = strays(drawn[0])
    assert (outside, small) == ([], [])


def test_wrong_points_are_refused(tmp_path):
    """No points, two for one method and instance, a ratio under 1 or infinite, and an unknown kind are refused."""
    with pytest.raises(ValueError, match="found none"):
        draw_comparison([], tmp_path / "figure.svg")
    with pytest.raises(ValueError, match="found two for method 'exact' on instance 'a'"):
        draw_comparison([point(), point()], tmp_path / "figure.svg")
    for ratio in (0.9, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="ratio: found"):
            point(ratio=ratio)
    with pytest.raises(ValueError, match="kind: found 'magic', allowed: exact, heuristic, foreign"):
        point(kind="magic")


def test_missing_matplotlib_is_named(tmp_path, monkeypatch):
    """Without Matplotlib the error says what to install."""
    true_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib_not_here")
        return true_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"^plots need Matplotlib: pip install 'dlsched\[plots\]'$"):
        draw_comparison([point()], tmp_path / "figure.svg")


def test_import_leaves_matplotlib_alone():
    """Importing dlsched.plots does not import Matplotlib."""
    program = "import sys, dlsched.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_global_state_is_touched(tmp_path):
    """Drawing changes no Matplotlib setting and imports no pyplot, hence opens no display."""
    import matplotlib

    before = dict(dict.items(matplotlib.rcParams))  # its own items would look for a screen to draw on
    loaded = "matplotlib.pyplot" in sys.modules
    draw_comparison([point()], tmp_path / "figure.svg")
    assert dict(dict.items(matplotlib.rcParams)) == before
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_no_setting_of_the_user_counts(tmp_path):
    """A matplotlibrc that asks for TeX, mathematics and another font changes no byte."""
    import matplotlib

    plain = draw_comparison([point(method="$x$")], tmp_path / "plain.svg")
    with matplotlib.rc_context({"text.usetex": True, "text.parse_math": True, "font.size": 30, "font.family": "serif"}):
        changed = draw_comparison([point(method="$x$")], tmp_path / "changed.svg")
    assert plain.read_bytes() == changed.read_bytes()
