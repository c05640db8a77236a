"""A utility of z units as a sum of steps; each step has a number of units and the gain that they add.

mu(z) = mu(0) + max { sum_k gain_k g_k :  sum_k width_k g_k <= z,  0 <= g_k <= 1 }. Steps of a concave utility have
width 1 and gains that decrease, so the best g are whole. Steps of other utilities are cut into runs of gains
that decrease. The first g of a run is binary, at most the last g of the run before, and at least the other g
of its run. If another run follows, each g of a run is at most the one before, so that the next run needs
them all. Then the best g are whole again. In an S-shaped utility each of the first steps is a run, up to the
steepest step, which begins the last run. If all g may lie between 0 and 1, the sum is the concave envelope
of an S-shaped utility, and a function above it for other utilities.

A gain below 2**-60 of the largest one, or within the rounding of a utility that is not concave, gets no step
of its own: it joins the next step, which is then wider; after the last step it is left out. ``hidden``
returns how much this can hide.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dlsched.algorithms.utility_table import UtilityTable

_NOTHING = 2.0**-60
_HAIR = 1e-9  # relative amount by which a gain must exceed the one before to begin a run
_ROUNDING = 2.0**-49  # relative rounding of two floats of a utility


class Step(NamedTuple):
    """Units, what they add to the utility, whether g is binary, and the step (from 0) that it needs, if any."""

    width: int
    gain: float
    binary: bool
    after: int | None


def steps(table: UtilityTable) -> list[Step]:
    """Steps of a utility, in order."""
    values = table.values.tolist()
    # Table differences; a gain below ``least`` joins the next step.
    gains = [there - here for here, there in pairwise(values)]
    if not gains or max(gains) <= 0:
        return []
    least = max(gains) * _NOTHING
    if table.concave:
        return [Step(1, gain, False, None) for gain in gains if gain > least]
    least = max(least, values[-1] * _ROUNDING)
    found: list[Step] = []
    before, first, last = 0, 0, math.inf
    for z, gain in enumerate(gains, start=1):
        if gain <= least:
            last = min(last, gain)
            continue
        starts = not found or gain > last * (1 + _HAIR) + values[-1] * _ROUNDING or z - before > 1
        needs = None if not found else len(found) - 1 if starts else first
        if starts:
            found[first + 1 :] = [step._replace(after=k) for k, step in enumerate(found[first + 1 :], start=first)]
            first = len(found)
        found.append(Step(z - before, values[z] - values[before], starts, needs))
        before, last = z, gain
    return found


def hidden(table: UtilityTable, found: list[Step]) -> float:
    """Return the most by which whole steps of a utility are below it."""
    ends = np.concatenate(([0], np.cumsum([step.width for step in found], dtype=np.int64)))
    reached = ends[np.searchsorted(ends, np.arange(len(table.values)), side="right") - 1]
    return float(np.max(table.values - table.values[reached]))
