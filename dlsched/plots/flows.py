"""Distributions of flow times, from arrival to end of the jobs, with a panel for each method."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dlsched.core.quantities import short, time_unit
from dlsched.plots.palette import FAINT
from dlsched.plots.words import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vector = NDArray[np.float64]
LOG_BEYOND = 20  # the axis is logarithmic from this ratio of the largest to the least flow time
STEPS = 2000  # largest number of steps of a step function


class Flows(Protocol):
    """What one method made of an instance, to be drawn over time."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def flow_times_s(self) -> Sequence[float]:
        """Seconds from arrival to end of each job."""

    def held(self) -> dict[str, Vector]:
        """(start in s, end in s, amount held, ...) by job, one line a period."""


def require_flows(method: str, flow_times_s: Sequence[float]) -> None:
    """Refuse flow times that are missing, negative or not numbers (ValueError)."""
    if not len(flow_times_s):
        raise ValueError(f"flow_times_s: found none for {method}, allowed: one a job, at least one")
    for flow_s in flow_times_s:
        if not 0 <= flow_s < math.inf:
            raise ValueError(f"flow_times_s: found {flow_s} for {method}, allowed: finite, >= 0")


def mean_flow_s(row: Flows) -> float:
    """Mean flow time in seconds."""
    return math.fsum(row.flow_times_s) / len(row.flow_times_s)


def draw_flows(panels: "Sequence[Axes]", rows: Sequence[Flows], break_: str) -> None:
    """Draw in each panel the fraction of jobs within each flow time: its method black, the others grey."""
    flows = [np.sort(np.asarray(row.flow_times_s, float)) for row in rows]
    unit, unit_s = time_unit(max(map(mean_flow_s, rows)))
    largest = max(float(times[-1]) for times in flows) / unit_s
    least = min((float(times[times > 0][0]) / unit_s for times in flows if times[-1] > 0), default=0.0)
    start, end = 0.0, 1.05 * largest or 1.0
    if logarithmic := largest > LOG_BEYOND * least > 0:
        # A flow time of 0, or of rounding errors only, counts at the left end.
        start, end = max(least / 1.1, largest / 1e6), 1.1 * largest
        panels[-1].set_xscale("log")
        marks = ticks(start, end)
        panels[-1].set_xticks(marks, [f"{mark:g}" for mark in marks])
        panels[-1].set_xticks([], minor=True)
    curves = []
    for times in flows:
        ranks = np.unique(np.linspace(0, len(times) - 1, STEPS + 1).round().astype(int))
        x = np.concatenate(([start], np.maximum(times[ranks] / unit_s, start), [end]))
        curves.append((x, np.concatenate(([0.0], (ranks + 1) / len(times), [1.0]))))
    for axes, row, own in zip(panels, rows, curves, strict=True):
        for curve in curves:
            if curve is not own:
                axes.step(*curve, where="post", color=FAINT, lw=0.6, alpha=0.6)
        axes.step(*own, where="post", color="black", lw=1.1)
        axes.set_ylim(0, 1.04)
        axes.set_yticks([0, 1])
        axes.set_ylabel("fraction\nof jobs")
        axes.set_title(f"mean {short(mean_flow_s(row) / unit_s)} {unit}")
    panels[-1].set_xlim(start, end)
    panels[-1].set_xlabel(f"flow time{break_}({unit}, log scale)" if logarithmic else f"flow time ({unit})")
