"""Which variable a case splits: what splits of it gained so far, and trials where little is known."""

import math
from dataclasses import dataclass, field

import numpy as np

from dlsched.core.budget import Tick, no_tick
from dlsched.proofs.prover.relaxation import Relaxation
from dlsched.solvers.linear import Floats

_RELIABLE = 4
"""Splits of each direction after which what a variable gained is believed."""
_LOOK_AHEAD = 6
"""Trials in a row without a better variable that end the search."""
_MOST = 40
"""Candidates that are tried at most."""
_STEPS = 60
"""Steps of the simplex method in a trial."""
_LEAST = 1e-6
"""Part of the gap that a gain counts at least."""
_WHOLE = 1e-6


@dataclass(eq=False)
class Branching:
    """Gains by variable and direction, in scaled costs for each unit of the fraction.

    Parameters
    ----------
    integer
        Which variables are whole.
    """

    integer: np.ndarray
    sums: Floats = field(init=False)
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros((2, len(self.integer)))
        self.counts = np.zeros((2, len(self.integer)))

    def fractional(self, x: Floats) -> list[int]:
        """Return the whole variables that are not whole in a point."""
        apart = np.where(self.integer, np.abs(x - np.rint(x)), 0.0)
        found: list[int] = np.flatnonzero(apart > _WHOLE).tolist()
        return found

    def learn(self, column: int, rising: bool, part: float, gain: float) -> None:
        """Take note of what a split gained; ``part``: how far the variable moved."""
        self.sums[int(rising), column] += max(gain, 0.0) / max(part, _WHOLE)
        self.counts[int(rising), column] += 1

    def choose(
        self, relaxation: Relaxation, x: Floats, objective: float, target: float, tick: Tick = no_tick
    ) -> tuple[int, bool]:
        """Return the variable to split, and whether the case upwards is to be solved first.

        The relaxation is left with the bounds and the basis that it had.
        """
        candidates = self.fractional(x)
        gap = target - objective if target < math.inf else max(1.0, abs(objective))
        least = _LEAST * gap
        whole = np.array(candidates)
        parts = np.stack((x[whole] - np.floor(x[whole]), np.ceil(x[whole]) - x[whole]))
        known = self.counts[:, whole]
        mean = self.sums.sum(axis=1) / np.maximum(1.0, self.counts.sum(axis=1))
        rates = np.where(known > 0, self.sums[:, whole] / np.maximum(known, 1.0), np.maximum(mean, 1e-12)[:, None])
        gains = np.minimum(rates * parts, gap)
        scores = np.maximum(gains[0], least) * np.maximum(gains[1], least)
        order = np.lexsort((whole, -np.minimum(parts[0], parts[1]), -scores))
        basis = relaxation.basis
        relaxation.limit(_STEPS)
        best, best_score, ahead = -1, -1.0, 0
        best_gains = 0.0, 0.0
        for place in order[:_MOST].tolist():
            column = candidates[place]
            tick()
            if known[:, place].min() >= _RELIABLE:
                tried = float(gains[0, place]), float(gains[1, place])
            else:
                tried = self._try(relaxation, column, x, objective, gap, basis)
            score = max(tried[0], least) * max(tried[1], least)
            if score > best_score * (1 + 1e-9):
                best, best_score, best_gains, ahead = column, score, tried, 0
                if max(tried) >= gap:
                    break
            else:
                ahead += 1
                if ahead >= _LOOK_AHEAD:
                    break
        relaxation.limit(2**31 - 1)
        relaxation.basis = basis
        return best, best_gains[1] < best_gains[0]

    def _try(
        self,
        relaxation: Relaxation,
        column: int,
        x: Floats,
        objective: float,
        gap: float,
        basis: tuple[list[int], list[int]],
    ) -> tuple[float, float]:
        """Solve both cases of a variable for a few steps, and return what they gain, up to the gap."""
        low, high = float(relaxation.lower[column]), float(relaxation.upper[column])
        below = math.floor(x[column])
        gains = []
        for rising in (False, True):
            relaxation.bound(column, *((below + 1.0, high) if rising else (low, float(below))))
            gain = min(max(relaxation.value() - objective, 0.0), gap)
            gains.append(gain)
            if gain < gap:
                self.learn(column, rising, abs(below + rising - float(x[column])), gain)
            relaxation.bound(column, low, high)
            relaxation.basis = basis
        return gains[0], gains[1]
