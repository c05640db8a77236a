"""Rounds of split cuts at the root: solve, cut off the vertex, leave out cuts that are not tight, again.

The cuts of rounds after the last one that made progress are left out.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.core.budget import Tick, no_tick
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.mixed_rounding import Rounding
from dlsched.proofs.prover.relaxation import BASIC, Relaxation, unlimited
from dlsched.proofs.prover.split_cuts import SplitCut, Vertex
from dlsched.solvers.linear import Floats

_ROUNDS = 40
_STALLED = 6
"""Rounds without progress after which sums of rows are rounded too, and then it ends."""
_PROGRESS = 0.002
"""Part of the gap that counts as progress."""
_LAST = 10
"""Rounds in which sums of rows are rounded, at most."""
_TRIED = 400
"""Cuts that are made in a round, at most."""
_ROUNDED = 200
"""Rows that begin a sum in a round, at most."""
_TAKEN = 150
"""Cuts that are added in a round, at most."""
_PARALLEL = 0.9
"""Cosine of the angle to a better cut above which a cut is left out."""
_LARGEST = 200_000
"""Coefficients of a model above which no cuts are made."""


def add_cuts(
    exact: ExactModel,
    pool: list[SplitCut],
    upper: Fraction | None,
    tick: Tick = no_tick,
    enough: Callable[[], bool] = bool,
    left_s: Callable[[], float] = unlimited,
) -> Sequence[int] | None:
    """Add derived rows to a model, and how they derive to ``pool``, in their order.

    ``upper``: objective of a known point, as a minimum; ``enough``: whether no further round begins.

    Returns
    -------
    The rows that are worth solving with; None: all.
    """
    if upper is None or len(exact.model.columns) > _LARGEST:
        return None
    relaxation = Relaxation(exact.model, left_s=left_s)
    reached, rounds, rounding = -math.inf, 0, False
    worth = list(range(exact.own))
    last = _ROUNDS
    while last and not enough():
        last -= 1
        tick()
        answer = relaxation.solve()
        if answer is None or answer.objective == math.inf:
            break
        goal = math.ldexp(float(upper), -relaxation.power)
        gap = goal - answer.objective
        kept = _tight(exact, relaxation.row_states())
        rounds += 1
        if answer.objective - reached > _PROGRESS * gap:
            reached, rounds, worth = answer.objective, 0, kept
        if gap <= 1e-9 * max(1.0, abs(goal)) or (rounds >= _STALLED and rounding):
            break
        if rounds >= _STALLED:
            rounding, rounds = True, 0
            last = _LAST
        vertex = Vertex(exact, relaxation, answer)
        found = []
        for cut in chain(Rounding(vertex).cuts(_ROUNDED if rounding else 0), vertex.cuts(_TRIED)):
            found.append(cut)
            tick()
        found = _apart(found, exact.variables)
        if not found:
            break
        columns, _ = relaxation.basis
        states = relaxation.row_states()
        new = range(len(states), len(states) + len(found))
        pool += found
        exact.add([(cut.columns, cut.values, cut.side) for cut in found])
        relaxation = Relaxation(exact.model, rows=[*kept, *new], left_s=left_s)
        relaxation.basis = columns, states[kept].tolist()
    return worth


def _tight(exact: ExactModel, states: npt.NDArray[np.int64]) -> list[int]:
    """Return the model's own rows, and the cuts that are tight."""
    return [*range(exact.own), *(exact.own + np.flatnonzero(states[exact.own :] != BASIC)).tolist()]


def _apart(cuts: list[SplitCut], variables: int) -> list[SplitCut]:
    """Return the cuts that cut off most, of those that are nearly parallel only the best."""
    cuts.sort(key=lambda cut: -cut.distance)
    taken: list[SplitCut] = []
    rows: list[Floats] = []
    for cut in cuts:
        row = np.zeros(variables)
        largest = max(map(abs, cut.values))
        row[cut.columns] = [value / largest for value in cut.values]
        row /= np.sqrt((row * row).sum())
        if all(float(dot(row, other)) <= _PARALLEL for other in rows):
            taken.append(cut)
            rows.append(row)
            if len(taken) == _TAKEN:
                break
    return taken
