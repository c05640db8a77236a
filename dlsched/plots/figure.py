"""Figures at the width of a page or a column, written so that equal figures give equal files; their colours, texts and ticks.

Matplotlib is imported only when a figure is drawn; settings of the user or the process neither count nor change.

Names come from files. What the font cannot show is written as an escape; dollars are drawn as they are.

Colours are for every kind of colour vision, after Okabe and Ito. The least distance of two of ``HUES`` and ``OTHERS``, also
as seen with deuteranopia, protanopia and tritanopia (Machado et al. 2009), is 16 in CIELAB; a test measures it.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.files import whole_file
from dlsched.core.imports import needing
from dlsched.core.messages import cut, told_apart

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, FigureBase


BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
# Without their yellow, which cannot be seen on white. Each marks one thing in a figure; all others are grey.
HUES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (2, 1)), (0, (4, 1, 1, 1, 1, 1)))
OTHERS = "#C8C8C8"  # areas of the jobs without a hue
FAINT = "#9A9A9A"  # curves and marks without a hue
SEQUENCE = "Blues"  # of amounts: light is little, dark is much


def ink_on(colour: str) -> str:
    """Return black or white, whichever is read more easily on that colour (``#rrggbb``), by relative luminance."""
    parts = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#FFFFFF"


LONGEST = 28  # characters of a name that is shown


@cache
def _has_glyph(letter: str) -> bool:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return bool(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_char_index(ord(letter)))


def plain(text: str) -> str:
    """Write text on one line, with escapes for characters that are not printable or not in the font."""
    shown = (
        letter
        if letter.isprintable() and (letter.isascii() or _has_glyph(letter))
        else letter.encode("unicode_escape").decode()
        for letter in text
    )
    return "".join(shown)


def short(text: str, longest: int = LONGEST) -> str:
    """Write text plainly, and cut its middle if it is longer than ``longest``."""
    return cut(plain(text), longest)


def labels(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Return a short label for every name; names that would look the same are numbered."""
    return told_apart({name: short(name, longest) for name in names})


def equal_names(names: Sequence[str], letters: int, lines: int = 2) -> str:
    """Write names of equal pictures as ``a = b``, wrapped to ``lines``; say how many more there are."""
    shown = [plain(name).replace(" ", "\N{NO-BREAK SPACE}") for name in names]
    for count in range(len(shown), 0, -1):
        rest = len(shown) - count
        text = " = ".join([*shown[:count], *([f"{rest} more"] if rest else [])])
        wrapped = textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False)
        if len(wrapped) <= lines and max(map(len, wrapped)) <= letters:
            return "\n".join(wrapped)
    return f"{short(shown[0], letters)}" + (f"\n= {len(shown) - 1} more" if len(shown) > 1 else "")


def ticks(least: float, largest: float) -> list[float]:
    """Round numbers within the limits of a logarithmic axis; only powers of ten if these are many; at most 8.

    >>> ticks(1, 12)
    [1.0, 2.0, 5.0, 10.0]
    """
    decades = range(math.floor(math.log10(least)), math.floor(math.log10(largest)) + 1)
    factors: tuple[float, ...] = (
        (1, 1.5, 2, 3, 5, 7) if largest < 10 * least else (1, 2, 5) if len(decades) <= 3 else (1,)
    )
    every = math.ceil(len(decades) / 8)
    return [f * 10.0**d for d in decades[::every] for f in factors if least <= f * 10.0**d <= largest]


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


def set_ticks(axis: "Axis", marks: Sequence[float], texts: Sequence[str] | None = None) -> None:
    """Mark these values on an axis and no others, by their texts or as short numbers."""
    axis.set_ticks(marks, [f"{mark:g}" for mark in marks] if texts is None else texts)
    axis.set_ticks([], minor=True)


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


def legend_below(
    figure: "Figure", handles: "Sequence[Artist]", columns: int, note: str | None = None, **spacing: float
) -> None:
    """Write the key of a figure below it, under a note if there is one."""
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=columns,
        title=note,
        alignment="left",
        title_fontsize="small",
        **spacing,
    )


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

    ValueError: another suffix, or a width at which nothing could be read. InputError: the file cannot be written.
    """
    if path is not None:
        require_format(path)
    require_width(width_in)
    with styled(width_in):
        figure = blank(width_in, height_in)
        yield figure
        if path is not None:
            write_figure(figure, path, width_in)


def blank(width_in: float, height_in: float) -> "Figure":
    """Return an empty figure, which no window shows."""
    from dlsched.plots.notebook_figure import NotebookFigure

    return NotebookFigure(width_in, height_in)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a figure: its title (may be empty), its height in inches without its key, and a drawing that returns the key."""

    title: str
    height_in: float
    draw: "Callable[[FigureBase], list[Artist]]"


def draw_parts(parts: Sequence[Part], width_in: float, title: str | None = None) -> "Figure":
    """Draw parts below one another, on wide figures in two columns."""
    columns = 1 if width_in < NARROW_IN or len(parts) == 1 else 2
    rows = [parts[index : index + columns] for index in range(0, len(parts), columns)]
    each_in, size = width_in / columns, text_size(width_in)
    heights = [max(part.height_in + 0.2 for part in row) for row in rows]
    with styled(width_in):
        # keys are measured by a first drawing, so that they stand below the axes instead of eating them
        keys = [0.0] * len(rows)
        for _ in range(2):
            figure = blank(width_in, sum(heights) + sum(keys) + (0.2 if title else 0.0))
            headline(figure, title)
            places = figure.subfigures(
                len(rows), columns, height_ratios=[sum(of) for of in zip(heights, keys, strict=True)], squeeze=False
            ).flat
            drawn = [(place, part.draw(place)) for place, part in zip(places, parts, strict=False)]
            every = {_look(artist): artist for _, key in drawn for artist in key}
            # one key serves all parts that have entries in common, if each name has one look, and each look one name
            together = len({look[0] for look in every}) == len({look[1:] for look in every}) == len(every)
            together &= len(every) < sum(len(key) for _, key in drawn)
            # One key below the last part where all share it, else one below each.
            for index, ((place, key), part) in enumerate(zip(drawn, parts, strict=True)):
                place.axes[0].set_title(short(part.title, int(each_in * 15)))
                row = index // columns
                if together and index == (len(rows) - 1) * columns:
                    keys[row] = _key(place, list(every.values()), each_in, size)
                elif key and not together:
                    keys[row] = max(keys[row], _key(place, key, each_in, size))
    return figure


def _look(artist: "Artist") -> tuple[object, ...]:
    """What tells an entry of a key from another."""
    colour = getattr(artist, "get_color", getattr(artist, "get_facecolor", str))()
    line_and_mark = (str(getattr(artist, name, str)()) for name in ("get_linestyle", "get_marker"))
    return artist.get_label(), str(colour), *line_and_mark


def _key(part: "FigureBase", artists: "Sequence[Artist]", width_in: float, size: float) -> float:
    """Write a key below a part, in as many columns as fit, texts having ``size`` points; return its height in inches."""
    names = [str(artist.get_label()).splitlines() for artist in artists]
    column_in = (max(len(line) for name in names for line in name) * 0.65 + 2.2 + 1.8) * (size - 0.5) / 72
    columns = max(1, min(len(artists), int(width_in / column_in)))
    spacing = {"handlelength": 2.2, "columnspacing": 1.0, "labelspacing": 0.25, "borderpad": 0.1}
    part.legend(handles=list(artists), loc="outside lower left", ncols=columns, **spacing)
    return 0.13 * max(map(sum, np.array_split([len(name) for name in names], columns))) + 0.06


def write_figure(figure: "Figure", path: Path | str, width_in: float) -> None:
    """Write a figure of that width; the suffix of ``path`` chooses the format, and equal figures give equal files."""
    suffix = Path(path).suffix.lower()
    with styled(width_in), whole_file(path) as stream:
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
