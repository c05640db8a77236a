"""Figures at the width of a page or a column, written so that equal figures give equal files.

Matplotlib is imported only when a figure is drawn; settings of the user or the process neither count nor
change.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.core.files import whole_file
from dlsched.core.imports import needing
from dlsched.plots.words import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_IN, COLUMN_IN = 7.0, 3.3  # widths of a paper's page and of one of its two columns
NARROW_IN = 5.0  # below it what else stands side by side is drawn below one another
WIDTHS_IN = (2.5, 40.0)
DPI = 220
# For each file format the metadata that would make two equal figures differ.
UNDATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def require_format(path: Path | str) -> None:
    """Refuse a file name whose suffix is not a format of figures (ValueError)."""
    if Path(path).suffix.lower() not in UNDATED:
        raise ValueError(f"plot file: found {Path(path).name!r}, allowed suffixes: {', '.join(UNDATED)}")


def require_width(width_in: float) -> None:
    """Refuse a width in inches at which nothing could be read (ValueError)."""
    if not isinstance(width_in, int | float) or not WIDTHS_IN[0] <= width_in <= WIDTHS_IN[1]:
        raise ValueError(f"plot width: found {width_in!r}, allowed: inches from {WIDTHS_IN[0]} to {WIDTHS_IN[1]}")


def text_size(width_in: float) -> float:
    """Size of the text in points; a paper's own is 9 or 10."""
    return 7.0 if width_in < NARROW_IN else 8.0


def headline(figure: "Figure", title: str | None) -> None:
    """Write the title, cut to the width of the figure."""
    if title is not None:
        figure.suptitle(short(title, int(9 * figure.get_figwidth())))


def settle(figure: "Figure") -> None:
    """Fix the layout, so that what fits into a panel is known and still holds when the figure is written."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:  # the last digits of a layout depend on addresses in memory
        left, bottom, width, height = axes.get_position(original=True).bounds
        axes.set_position((round(left, 9), round(bottom, 9), round(width, 9), round(height, 9)))


@contextmanager
def canvas(path: Path | str | None, width_in: float, height_in: float) -> "Iterator[Figure]":
    """Yield an empty figure; on leaving, write it to `path`, whose suffix chooses the format: .png, .svg or .pdf.

    Raises
    ------
    ValueError
        Another suffix, or a width at which nothing could be read.
    SolverMissingError
        Matplotlib is not installed, or cannot be loaded.
    InputError
        The file cannot be written.
    """
    if path is not None:
        require_format(path)
    require_width(width_in)
    with styled(width_in):
        figure = blank(width_in, height_in)
        yield figure
        if path is not None:
            write_figure(figure, path)


def blank(width_in: float, height_in: float) -> "Figure":
    """Return an empty figure, which no window shows."""
    from dlsched.plots.notebook_figure import NotebookFigure

    return NotebookFigure(width_in, height_in)


def write_figure(figure: "Figure", path: Path | str) -> None:
    """Write a figure; the suffix of ``path`` chooses the format, and equal figures give equal files."""
    suffix = Path(path).suffix.lower()
    with whole_file(path) as stream:
        figure.savefig(stream, format=suffix[1:], dpi=DPI, metadata=UNDATED.get(suffix))


@contextmanager
def styled(width_in: float) -> Iterator[None]:
    """Make figures of that width look alike within the block; SolverMissingError: Matplotlib is not installed."""
    with needing("plots need Matplotlib", "plots"):
        import matplotlib
        import matplotlib.figure

    size = text_size(width_in)
    # All from Matplotlib's own defaults, so that no matplotlibrc counts; undone on leaving.
    settings = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in _KEPT} | {
        "axes.linewidth": 0.6,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.labelsize": size,
        "axes.titlesize": size,
        "axes.titlelocation": "left",
        "axes.titlepad": 3.0,
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
        "figure.titlesize": size + 1,
        "font.family": ["DejaVu Sans"],
        "font.size": size,
        "grid.color": "0.9",
        "grid.linewidth": 0.6,
        "hatch.linewidth": 0.5,
        "legend.fontsize": size - 0.5,
        "legend.frameon": False,
        "pdf.fonttype": 42,  # journals refuse Matplotlib's default, Type 3
        "svg.hashsalt": "dlsched",  # equal files have equal element names
        "text.parse_math": False,  # names may hold dollars
        "xtick.labelsize": size - 0.5,
        "ytick.labelsize": size - 0.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
    }
    with matplotlib.rc_context(settings):
        yield


# Settings of the process rather than of a figure: a file does not depend on what draws on a screen.
_KEPT = frozenset({"backend", "backend_fallback", "interactive", "toolbar", "timezone", "date.epoch"})
