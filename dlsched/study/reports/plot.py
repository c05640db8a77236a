"""The figure of a study: checks what is asked for, and draws a panel for each group with one key for all, or one each."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.files import require_writable
from dlsched.plots.figure import NARROW_IN, UNDATED, blank, require_width, short, styled, text_size, write_figure
from dlsched.study.figures.summary import Group
from dlsched.study.reports.panels import KINDS, Kind, Panel, panels_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure, FigureBase


FORMATS = (*(suffix[1:] for suffix in UNDATED), "pgf")
MOST = 6  # largest number of groups in a figure


def require_plot(what: str, width_in: float, path: str | None = None) -> None:
    """Refuse an unknown figure or format, or a width at which nothing could be read, before anything is read."""
    if not isinstance(what, str) or what not in KINDS:
        raise UsageError(where="what", found=repr(what), allowed=", ".join(KINDS))
    try:
        require_width(width_in)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if path is None:
        return
    suffix = Path(path).suffix.lower()[1:]
    if suffix not in FORMATS:
        allowed = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(where="out", found=repr(Path(path).name), allowed=f"a file that ends with {allowed}")
    with styled(width_in):
        import matplotlib

        program = str(matplotlib.rcParams["pgf.texsystem"])
    if suffix == "pgf" and shutil.which(program) is None:
        raise SolverMissingError(
            f"{Path(path).name}: pgf needs LaTeX ({program}), which measures its text and is not installed here; pdf needs none"
        )
    require_writable(path)


def plot(groups: Sequence[Group], what: str, width_in: float, group: str | Sequence[str] | None = None) -> "Figure":
    """Draw a figure of a study's groups, or of those that ``group`` names: families, presets, or both with a comma."""
    require_plot(what, width_in)
    kind = KINDS[what]
    panels = panels_of(_chosen(groups, group), width_in)
    drawn = [panel for panel in panels if not kind.missing(panel)]
    if not drawn:
        reasons = dict.fromkeys(kind.missing(panel) for panel in panels)
        raise UsageError(
            where="what", found=repr(what), allowed=f"another: {'; '.join(reasons) or 'no cell has ended'}"
        )
    if len(drawn) > MOST:
        names = " or ".join(repr(", ".join(panel.group.names)) for panel in drawn[:2])
        raise UsageError(
            where="group", found=f"{len(drawn)} groups", allowed=f"at most {MOST} in a figure; choose some, as {names}"
        )
    return _drawn(drawn, kind, width_in)


def _chosen(groups: Sequence[Group], chosen: str | Sequence[str] | None) -> list[Group]:
    """Return the groups of every name, in the order of the study."""
    if not chosen:
        return list(groups)
    names = list(chosen) if isinstance(chosen, list | tuple) else [chosen]
    by_name = {name: [group for group in groups if name in _names(group)] for name in names}
    for name in (name for name, of in by_name.items() if not of):
        allowed = (
            ", ".join(dict.fromkeys(repr(", ".join(group.names)) for group in groups)) or "none: no cell has ended"
        )
        raise UsageError(where="group", found=repr(name), allowed=allowed)
    return [group for group in groups if any(group in of for of in by_name.values())]


def _names(group: Group) -> tuple[str, ...]:
    """Return all that a group goes by."""
    return (*group.names, group.objective, ", ".join(group.names), ", ".join(group.names[:2]))


def _drawn(panels: Sequence[Panel], kind: Kind, width_in: float) -> "Figure":
    """Draw the panels below one another, on wide figures in two columns."""
    columns = 1 if width_in < NARROW_IN or len(panels) == 1 else 2
    rows = [panels[index : index + columns] for index in range(0, len(panels), columns)]
    each_in = width_in / columns
    heights = [max(kind.height_in(panel) + 0.2 for panel in row) for row in rows]
    with styled(width_in):
        # keys are measured by a first drawing, so that they stand below the axes instead of eating them
        keys = [0.0] * len(rows)
        for _ in range(2):
            figure = blank(width_in, sum(heights) + sum(keys))
            parts = figure.subfigures(
                len(rows), columns, height_ratios=[sum(of) for of in zip(heights, keys, strict=True)], squeeze=False
            ).flat
            drawn = [(part, kind.draw(part, panel)) for part, panel in zip(parts, panels, strict=False)]
            every = {_look(artist): artist for _, key in drawn for artist in key}
            # one key serves all panels where each name has one look, and each look one name
            together = len({look[0] for look in every}) == len({look[1:] for look in every}) == len(every)
            # One key below the last panel where all share it, else one below each.
            for place, ((part, key), panel) in enumerate(zip(drawn, panels, strict=True)):
                if len(panels) > 1 or panel.group.generated:
                    part.axes[0].set_title(short(", ".join(panel.group.names), int(each_in * 15)))
                row = place // columns
                if every and together and place == (len(rows) - 1) * columns:
                    keys[row] = _key(part, list(every.values()), each_in)
                elif key and not together:
                    keys[row] = max(keys[row], _key(part, key, each_in))
    return figure


def _look(artist: "Artist") -> tuple[object, ...]:
    """What tells an entry of a key from another."""
    colour = getattr(artist, "get_color", getattr(artist, "get_facecolor", str))()
    return artist.get_label(), str(colour), str(getattr(artist, "get_linestyle", str)())


def _key(part: "FigureBase", artists: "Sequence[Artist]", width_in: float) -> float:
    """Write a key below a panel, in as many columns as fit; return its height in inches."""
    letters = max(len(str(artist.get_label())) for artist in artists)
    column_in = (letters * 0.6 + 2.2 + 1.8) * (text_size(width_in) - 0.5) / 72
    columns = max(1, min(len(artists), int(width_in / column_in)))
    spacing = {"handlelength": 2.2, "columnspacing": 1.0, "labelspacing": 0.25, "borderpad": 0.1}
    part.legend(handles=list(artists), loc="outside lower left", ncols=columns, **spacing)
    return 0.13 * -(-len(artists) // columns) + 0.06


def write_plot(figure: "Figure", path: str, width_in: float) -> None:
    """Write the figure of a study; the path's suffix chooses the format."""
    with styled(width_in):
        write_figure(figure, path)
