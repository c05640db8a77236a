"""A utility of z units as a sum of steps, each of some units and what they add.

mu(z) = mu(0) + max { sum_k gain_k g_k :  sum_k width_k g_k <= z,  0 <= g_k <= 1 }. Steps of a concave utility have
width 1 and gains that decrease, so the best g are whole. Those of an S-shaped one increase up to its steepest one: up to
there g_k is binary and g_k <= g_{k-1}, and from there g_k is at most that of the steepest; then the best g are whole again.
A g between 0 and 1 in all of them gives the concave envelope.

Gains below 2**-60 of the largest one are no steps of their own: before it they are part of the next step, which is
wider; after it they are left out. ``hidden`` says how much that can hide.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dlsched.algorithms.utility_table import UtilityTable

_NOTHING = 2.0**-60


class Step(NamedTuple):
    """Units, what they add to the utility, whether g is binary, and the step (from 0) that it needs, if any."""

    width: int
    gain: float
    binary: bool
    after: int | None


def steps(table: UtilityTable) -> list[Step]:
    """Steps of a utility, in order."""
    values = table.values.tolist()
    gains = [there - here for here, there in pairwise(values)]
    if not gains or max(gains) <= 0:
        return []
    least = max(gains) * _NOTHING
    if table.concave:
        return [Step(1, gain, False, None) for gain in gains if gain > least]
    steepest = gains.index(max(gains))
    found: list[Step] = []
    before = 0
    for z, gain in enumerate(gains, start=1):
        if gain > least:
            last = len(found) - 1
            found.append(Step(z - before, values[z] - values[before], True, last if found else None))
            before = z
        if z > steepest:
            break
    last = len(found) - 1
    return found + [Step(1, gain, False, last) for gain in gains[steepest + 1 :] if gain > least]


def hidden(table: UtilityTable, found: list[Step]) -> float:
    """The most by which the steps of a utility, whole, are below it."""
    ends = np.concatenate(([0], np.cumsum([step.width for step in found], dtype=np.int64)))
    reached = ends[np.searchsorted(ends, np.arange(len(table.values)), side="right") - 1]
    return float(np.max(table.values - table.values[reached]))
