"""The search: draws of the space and of the presets that fit it, then walks uphill from the worst of them.

The first draws alternate between the space and the presets; later draws come from the source of the worst
draw so far (a bandit whose arms are the space and the presets). Walks begin at the worst draw of each arm,
then at the worst of the others, with equal numbers of evaluations; the better half continues until one is
left (successive halving, Jamieson and Talwalkar, AISTATS 2016). So a search is seldom worse than its draws
alone, and does not climb a single hill.

A step is taken when it is not worse by more than a threshold that falls to nothing (annealing, as in SAGA's PISA, Coleman and
Krishnamachari, IPDPS 2025); equal ratios are taken always, so that plateaus are crossed.
"""

import math
from collections.abc import Iterable, Iterator
from heapq import nlargest
from typing import TYPE_CHECKING

from dlsched.core.elementary import log
from dlsched.core.tolerance import MEETING
from dlsched.worst.judging import Judge, Judged
from dlsched.worst.moves import moved
from dlsched.worst.space import DrawGenerated, Space

if TYPE_CHECKING:
    import numpy as np

SAMPLED = 0.3
"""Share of the evaluations that go to draws."""
BY_TURNS = 0.5
"""Share of the draws that alternate between arms; the others use the arm of the worst draw."""
WORST = 20
"""Number of worst draws by which arms are compared."""
WALKS = 8
"""Largest number of walks that begin."""
LONG = 50
"""One more walk begins for each of this many evaluations after drawing."""
ALONE = 2
"""Number of walks of the one that is left, each from the worst instance so far."""
HEAT, HEAT_TOGETHER = 0.15, 0.03
"""Initial threshold as a fraction of the logarithm of the ratio: for the last walk, and for one of
several."""
COOL = 0.004
"""Least threshold at the start."""
PATIENCE = 500
"""Number of invalid candidates in a row after which a walk, or drawing, ends."""


def turns(space: Space) -> Iterator[DrawGenerated]:
    """Yield the arms in turn: the space every other time, and in between one preset after another."""
    while True:
        for draw in space.presets.values():
            yield space.draw
            yield draw
        if not space.presets:
            yield space.draw


def sample(
    judge: Judge, space: Space, until: int, generator: "np.random.Generator", by_turns: float = 1.0
) -> list[Judged]:
    """Draw and evaluate until ``judge`` has counted so many evaluations, or is done.

    Parameters
    ----------
    until
        Number of evaluations, including earlier ones.
    by_turns
        Share of them that are drawn by turns of the space and of its presets; the others by what drew the worst before.

    Returns
    -------
    list of Judged
        Draws that have a ratio, each once: the worst of the space and of each preset, then the others, each the worst first.
    """
    begun, arms = judge.evaluations, [space.draw, *space.presets.values()]
    met: dict[str, tuple[Judged, DrawGenerated]] = {}
    turn, idle = turns(space), 0
    while judge.evaluations < until and idle < PATIENCE:
        if judge.evaluations - begun < by_turns * (until - begun):
            draw = next(turn)
        else:
            worst = [drew for _, drew in nlargest(WORST, met.values(), key=lambda each: each[0].ratio)]
            chances = [1 + sum(drew is arm for drew in worst) for arm in arms]
            draw = arms[generator.choice(len(arms), p=[chance / sum(chances) for chance in chances])]
        before = judge.evaluations
        data = draw(generator)
        judged = None if data is None else judge.judge(data)
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is not None:
            met.setdefault(repr(data), (judged, draw))
        if judge.done:
            break
    worst_first = sorted(met.values(), key=lambda each: -each[0].ratio)
    heads = {draw: judged for judged, draw in reversed(worst_first)}
    return [
        *(judged for judged, draw in worst_first if heads[draw] is judged),
        *(judged for judged, draw in worst_first if heads[draw] is not judged),
    ]


def climb(judge: Judge, space: Space, until: int, generator: "np.random.Generator") -> None:
    """Search until ``judge``, which keeps the worst, has counted so many evaluations, or is done."""
    drawn = judge.evaluations + math.ceil(SAMPLED * (until - judge.evaluations))
    starts = sample(judge, space, drawn, generator, BY_TURNS)
    if not starts or starts[0].ratio <= 1 + MEETING:  # nothing to climb from: look longer
        starts = sample(judge, space, until - (until - judge.evaluations) // 3, generator) or starts
    starts = starts[: max(1, min(WALKS, (until - judge.evaluations) // LONG))]
    rounds = len(starts).bit_length() + ALONE - 1
    for turn in range(rounds):
        share = (until - judge.evaluations) // (rounds - turn)
        heat = HEAT if len(starts) == 1 else HEAT_TOGETHER
        ends = [
            walk(judge, space, start, judge.evaluations + share // len(starts), heat, generator) for start in starts
        ]
        starts = _worst_first(ends)[: max(1, len(ends) // 2)]


def _worst_first(met: Iterable[Judged]) -> list[Judged]:
    return sorted(met, key=lambda judged: -judged.ratio)


def walk(judge: Judge, space: Space, start: Judged, end: int, heat: float, generator: "np.random.Generator") -> Judged:
    """Walk from an instance until ``judge`` has counted so many evaluations, or is done; return the worst.

    ``heat`` is the threshold at the start, as a part of the logarithm of the ratio.
    """
    current = worst = start
    began, idle = judge.evaluations, 0
    while judge.evaluations < end and idle < PATIENCE and not judge.done:
        left = (end - judge.evaluations) / (end - began)
        before = judge.evaluations
        data = moved(space, current.data, generator)
        judged = None if data is None else judge.judge(data)
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is None:
            continue
        threshold = max(COOL, heat * abs(worst.score)) * left * left
        if judged.score >= current.score + threshold * log(1 - generator.random()):
            current = judged
        if judged.ratio > worst.ratio:
            worst = judged
    return worst
