"""The search: from the best of some draws uphill in the logarithm of the ratio, several times; and random sampling beside it.

A step is taken when it is not worse by more than a threshold that falls to nothing (annealing, as in SAGA's PISA, Coleman and
Krishnamachari, IPDPS 2025); equal ratios are taken always, so that plateaus are crossed. Rounds start anew in turn with
going on from the worst instance found.
"""

import math
from typing import TYPE_CHECKING

from dlsched.core.tolerance import MEETING
from dlsched.worst.judging import Judge, Judged
from dlsched.worst.moves import moved
from dlsched.worst.space import Space

if TYPE_CHECKING:
    import numpy as np

ROUNDS, LONG = 6, 250
"""Most rounds, and the evaluations that each has at least where there are more than one."""
DRAWN = 0.2
"""Share of the evaluations of a round that draw where it starts."""
HEAT = 0.15
"""Threshold at the start, as a part of the logarithm of the ratio."""
COOL = 0.004
"""Least threshold at the start."""
PATIENCE = 500
"""Candidates in a row that are none, after which a round ends."""


def sample(judge: Judge, space: Space, until: int, generator: "np.random.Generator") -> Judged | None:
    """Draw and evaluate until ``judge`` has counted so many evaluations; return the worst of these draws."""
    worst: Judged | None = None
    idle = 0
    while judge.evaluations < until and idle < PATIENCE:
        before = judge.evaluations
        judged = judge.judge(space.draw(generator))
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is not None and (worst is None or judged.ratio > worst.ratio):
            worst = judged
            if math.isinf(worst.ratio):
                break
    return worst


def climb(judge: Judge, space: Space, until: int, generator: "np.random.Generator") -> None:
    """Search until ``judge``, which keeps the worst, has counted so many evaluations, or the ratio is without bound."""
    rounds = max(1, min(ROUNDS, (until - judge.evaluations) // LONG))
    for turn in range(rounds):
        share = (until - judge.evaluations) // (rounds - turn)
        end = judge.evaluations + share
        if turn % 2 == 0 or judge.worst is None:
            start = sample(judge, space, judge.evaluations + math.ceil(DRAWN * share), generator)
            if start is None or start.ratio <= 1 + MEETING:  # nothing to climb from: look longer
                start = sample(judge, space, end - share // 3, generator) or start
        else:
            start = judge.worst
        if start is not None and math.isfinite(start.ratio):
            _anneal(judge, space, start, end, generator)
        if judge.worst is not None and math.isinf(judge.worst.ratio):
            return


def _anneal(judge: Judge, space: Space, start: Judged, end: int, generator: "np.random.Generator") -> None:
    """Walk from an instance, with a threshold that falls, until ``judge`` has counted so many evaluations."""
    current = worst = start
    began, idle = judge.evaluations, 0
    while judge.evaluations < end and idle < PATIENCE:
        left = (end - judge.evaluations) / max(1, end - began)
        before = judge.evaluations
        data = moved(space, current.data, generator)
        judged = None if data is None else judge.judge(data)
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is None:
            continue
        heat = max(COOL, HEAT * abs(worst.score)) * left**2
        if judged.score >= current.score + heat * math.log(1 - generator.random()):
            current = judged
        if judged.ratio > worst.ratio:
            worst = judged
            if math.isinf(worst.ratio):
                return
