"""Drawing of performance profiles: on how many instances a method is within a factor of the best."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dlsched.plots.palette import DASHES, FAINT, HUES
from dlsched.plots.words import ticks
from dlsched.statistics.profiles import performance_profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ratios = Mapping[str, Sequence[float | None]]  # by method, one an instance
Looks = Mapping[str, tuple[str, object]]  # by method, its colour and dashes
LOG_BEYOND = 4.0  # the axis is logarithmic if the largest factor is above this
DIGITS = 6  # factors that agree in these digits are equal, as an objective that meets a bound equals it


def equal_curves(ratios: Ratios) -> list[list[str]]:
    """Group the methods of equal profile, best group first: the one with the least area above its curve.

    >>> equal_curves({"far": [2.0, None], "one": [1.0, 1.5], "other": [1.5, 1.0000000001]})
    [['one', 'other'], ['far']]
    """
    groups: dict[object, list[str]] = {}
    for method, of_method in ratios.items():
        groups.setdefault(performance_profile(_rounded(of_method)), []).append(method)
    end = 2.0 * max((ratio for row in ratios.values() for ratio in row if ratio is not None), default=1.0)

    def above(group: list[str]) -> float:
        return math.fsum(math.log(end if ratio is None else max(ratio, 1.0)) for ratio in ratios[group[0]])

    return sorted(groups.values(), key=above)


def hues(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the colour of every method: a hue for each group of equal curves, then grey."""
    return {
        method: HUES[index] if index < len(HUES) else FAINT for index, group in enumerate(groups) for method in group
    }


def draw_profiles(
    axes: "Axes", ratios: Ratios, groups: Sequence[Sequence[str]], *, wider: float = 0.6, looks: Looks | None = None
) -> None:
    """Draw one step curve a group; the better of overlapping curves are wider, each by so many points.

    ``looks``: colours and dashes of the curves, by their first method; None: those of their places.
    """
    profiles = [performance_profile(_rounded(ratios[group[0]])) for group in groups]
    end = axis_from_one(axes, max(taus[-1] for taus, _ in profiles), "factor τ of the best known")
    colours = hues(groups)
    of = min(len(groups), len(HUES))
    for index, (group, (taus, fractions)) in enumerate(zip(groups, profiles, strict=True)):
        own = index < of
        colour, dash = looks[group[0]] if looks else (colours[group[0]], DASHES[index] if own else "-")
        axes.step(
            [*taus, end],
            [*fractions, fractions[-1]],
            linestyle=dash,
            where="post",
            color=colour,
            lw=1.2 + wider * (of - 1 - index) if own else 0.7,
            clip_on=False,
            solid_capstyle="butt",
            zorder=3 if own else 2,
        )
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("fraction of instances within τ")
    axes.set_title("Performance profile")
    axes.grid()
    axes.set_axisbelow(True)


def axis_from_one(axes: "Axes", largest: float, name: str, margin: float = 0.0) -> float:
    """Let the x axis of factors begin at 1, logarithmic and labelled so if it is long; return its end."""
    end = max(1 + 1.05 * (largest - 1), 1.05)
    if end > LOG_BEYOND:
        end = 1.05 * largest
        axes.set_xscale("log")
        marks = ticks(1, end)
        axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes.set_xticks([], minor=True)
        axes.set_xlim(end**-margin, end)
        name += " (log scale)"
    else:
        axes.ticklabel_format(axis="x", useOffset=False, style="plain")
        axes.set_xlim(1 - margin * (end - 1), end)
    axes.set_xlabel(textwrap.fill(name, 50))
    return end


def _rounded(ratios: Sequence[float | None]) -> list[float | None]:
    return [None if ratio is None else round(ratio, DIGITS) for ratio in ratios]
