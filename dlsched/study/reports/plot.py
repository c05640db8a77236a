"""The figure of a study: checks what is asked for, and draws a panel for each group with one key for all, or one each."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.files import require_writable
from dlsched.plots.figure import UNDATED, Part, draw_parts, require_width, styled
from dlsched.study.figures.summary import Group
from dlsched.study.reports.panels import KINDS, Kind, Panel, panels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    return draw_parts([_part(panel, kind, len(drawn) > 1) for panel in drawn], width_in)


def _part(panel: Panel, kind: Kind, several: bool) -> Part:
    """Return the part that shows a panel; that of files alone in a figure has no title."""
    title = ", ".join(panel.group.names) if several or panel.group.generated else ""
    return Part(title, kind.height_in(panel), lambda figure: kind.draw(figure, panel))


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
