"""The comparison figure: profile values by hand, files for every odd set of points, equal bytes, refusals."""

import builtins
import subprocess
import sys

import pytest

from dlsched.plots import Point, draw_comparison, performance_profile


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


def test_profile_by_hand():
    """Of 1, 2, none, 1.5 and 2 a fifth is within 1, two fifths within 1.5, four fifths within 2, and no more ever."""
    assert performance_profile([1.0, 2.0, None, 1.5, 2.0]) == ((1.0, 1.5, 2.0), (0.2, 0.4, 0.8))


def test_profile_begins_at_one():
    """A method that is never best begins with fraction 0 at 1, one without answers stays there."""
    assert performance_profile([3.0]) == ((1.0, 3.0), (0.0, 1.0))
    assert performance_profile([None, None]) == ((1.0,), (0.0,))


def test_profile_takes_rounding_under_one_as_one():
    """A ratio that rounding put just under 1 counts at 1."""
    assert performance_profile([1 - 1e-9, 1.0]) == ((1.0,), (1.0,))


def test_profile_of_nothing_is_refused():
    """A fraction of no instances has no value."""
    with pytest.raises(ValueError, match="at least one"):
        performance_profile([])


@pytest.mark.parametrize(
    "points",
    [
        [point()],
        [point(ratio=None), point(method="dp", ratio=None)],
        [point(name, method) for name in "abc" for method in ("exact", "dp")],
        [point(ratio=1.3), point("b", method="equal", ratio=1.1)],
        [point(ratio=1.2, at_most=True), point(method="hull", ratio=1.5, at_most=True, kind="heuristic")],
        [point(ratio=1e6), point("b", ratio=1 + 1e-9, kind="foreign")],
        [point(method="_$x$_", ratio=1 - 1e-9)],
        grid(12, 60, uneven),
    ],
    ids=["single", "no answers", "all optimal", "disjoint", "bounds only", "wide", "odd name", "large"],
)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_is_written(points, suffix, tmp_path):
    """Every odd set of points gives a file, and no warning (which pytest turns into an error)."""
    path = draw_comparison(points, tmp_path / f"figure{suffix}", title="a title with $ and _")
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_equal_points_give_equal_bytes(suffix, tmp_path):
    """Two figures of the same points are the same file, to the byte."""
    first, second = (draw_comparison(grid(3, 4, uneven), tmp_path / f"{name}{suffix}") for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_marks_in_the_figure(tmp_path, monkeypatch):
    """Gaps, hollow marks, missing answers and profile curves are those computed by hand."""
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    points = [
        point("a", "exact", 1.0),
        point("a", "equal", 1.5, kind="heuristic"),
        point("b", "exact", 1.25, at_most=True),
        point("b", "equal", 2.5, kind="heuristic", at_most=True),
        point("c", "exact", 1.0),
    ]
    draw_comparison(points, tmp_path / "figure.png")
    left, right = drawn[0].axes
    marks = [(line.get_xdata()[0], line.get_markerfacecolor()) for line in left.lines if line.get_marker() != "None"]
    gaps = [0.0, 20.0, 0.0, 100 / 3, 60.0]  # 1 - 1 / ratio
    assert [gap for gap, _ in marks] == pytest.approx(gaps)
    assert [face == "none" for _, face in marks] == [False, True, False, False, True]
    assert [line.get_xdata()[0] for line in left.lines if line.get_marker() == "None"] == pytest.approx(
        [0.0, (100 / 3 + 60) / 2]
    )
    assert [label.get_text() for label in left.get_yticklabels()] == ["exact", "equal"]
    assert [text.get_text() for text in left.texts] == ["0", "1 of 3", "no answer"]
    exact, equal = right.lines
    assert list(exact.get_ydata()) == [1.0, 1.0]
    assert list(equal.get_xdata())[:3] == [1.0, 1.5, 2.0]
    assert list(equal.get_ydata()) == [0.0, 1 / 3, 2 / 3, 2 / 3]


@pytest.mark.parametrize("name", ["figure.jpeg", "figure"])
def test_unknown_suffix_is_refused(name, tmp_path):
    """Any other suffix is refused, with those that are allowed, and nothing is written."""
    with pytest.raises(ValueError, match=r"allowed suffixes: \.png, \.svg, \.pdf"):
        draw_comparison([point()], tmp_path / name)
    assert not list(tmp_path.iterdir())


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
            raise ImportError(name)
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
    program = (
        "import matplotlib, sys\nfrom dlsched.plots import Point, draw_comparison\n"
        "before = repr(matplotlib.rcParams.copy())\n"
        f"draw_comparison([Point('a', 'm', 'exact', 1.0, False, None)], {str(tmp_path / 'f.svg')!r})\n"
        "sys.exit('matplotlib.pyplot' in sys.modules or repr(matplotlib.rcParams.copy()) != before)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
