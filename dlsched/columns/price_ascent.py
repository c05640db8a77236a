"""Bundle method for the best prices of a shared supply, from the cheapest plans at the prices tried.

maximise  sum_p least_p(y) - s y  over y >= 0,   least_p(y) = min over plans x of p of (own(x) + usage(x) y)

Every y gives a bound (``certificates.PricesCertificate``). The function is concave; a plan of p computed at one
y bounds least_p at every other y from above by own + usage y. A linear program maximises the sum of the
lowest of these planes within a box around the best y known. The box grows when the planes were right, and
shrinks when they were not. The plans of a group of participants count as one plane: with one group for each
participant the bound rises fastest, with few groups the program stays small.

Source: the disaggregated bundle method with a box, Frangioni, Standard bundle methods, 2020; equal to column generation with
a box-step, Marsten, Hogan and Blankenship 1975.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_SERIOUS = 0.1
"""Share of the promised rise that prices must bring for the box to move there and grow."""
_GROW, _SHRINK = 1.5, 0.6
_FLOOR = 0.05
"""Half the least width of the box, as a share of the largest price, so that prices of 0 can rise."""
_AGE = 6
"""Number of rounds after which the ascent drops a plane that did not matter."""


@dataclass(frozen=True, slots=True, eq=False)
class Cheapest:
    """The cheapest plans at some prices; ``least`` is a proven lower bound on the sum of their own + usage y.

    ``own``: costs without prices, shape (P,); ``usage``: amounts of each supply, shape (P, K).
    """

    least: float
    own: FloatArray
    usage: "csr_array"


@dataclass(slots=True, eq=False)
class Ascent:
    """Prices that rise to the best ones; one ``step`` prices the plans once and solves one linear program.

    ``price`` maps prices, shape (K,), to the cheapest plans; ``supply`` > 0 and ``start`` >= 0 have shape (K,).
    ``groups``: a number from 0 on for each participant, shape (P,); None: a group each. ``width``: of the first box, in
    parts of the prices. The ascent is ``closed`` when the planes promise at most the part ``close`` of the value beyond
    it.
    """

    price: Callable[[FloatArray], Cheapest]
    supply: FloatArray
    start: FloatArray
    groups: IntArray | None = None
    width: float = 1.0
    close: float = 1e-5
    best: FloatArray = field(init=False)
    value: float = field(init=False, default=-np.inf)
    promised: float = field(init=False, default=np.inf)
    """Upper bound, by the known planes, on what any prices in the box prove."""
    _trial: FloatArray = field(init=False)
    _centre: "_Planes | None" = field(init=False, default=None)
    """Planes at the best prices: without them the box would promise what is known to be false."""
    _planes: list["_Planes"] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.best = self._trial = np.array(self.start, dtype=np.float64)

    def step(self, time_s: float | None = None) -> bool:
        """Price the plans at the trial prices, and choose the next ones; return whether the bound rose.

        ``SolverError`` and ``Stopped`` as in ``linear_program``.
        """
        found = self.price(self._trial)
        value = found.least - float(dot(self.supply, self._trial))
        rose = value > self.value
        if np.isfinite(self.value):
            serious = value - self.value >= _SERIOUS * (self.promised - self.value)
            self.width = min(1.0, self.width * _GROW) if serious else self.width * _SHRINK
        planes = self._grouped(found)
        if rose:
            self.value, self.best, self._centre = value, self._trial, planes
        self._planes.append(planes)
        self._solve(time_s)
        return rose

    @property
    def closed(self) -> bool:
        """Whether the box is so small, or the planes promise so little, that no step matters any more."""
        return self.promised - self.value <= self.close * abs(self.value) or self.width < 1e-6

    def _grouped(self, found: Cheapest) -> "_Planes":
        from scipy.sparse import csr_array

        if self.groups is None:
            return _Planes(np.arange(len(found.own)), found.own, found.usage, np.zeros(len(found.own), dtype=np.int64))
        number = int(self.groups.max()) + 1
        shape = number, len(self.groups)
        ones = csr_array((np.ones(len(self.groups)), (self.groups, np.arange(len(self.groups)))), shape=shape)
        return _Planes(np.arange(number), ones @ found.own, ones @ found.usage, np.zeros(number, dtype=np.int64))

    def _solve(self, time_s: float | None) -> None:
        """Maximise the sum of the lowest planes within the box."""
        from scipy.sparse import csr_array, hstack, vstack

        group = np.concatenate([planes.group for planes in self._planes])
        own = np.concatenate([planes.own for planes in self._planes])
        usage = vstack([planes.usage for planes in self._planes], format="csr")
        number = int(group.max()) + 1
        heights = csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), number))
        # Powers of two scale the program without changing a digit; zero prices get a box of their own.
        unit, scale = _power(np.append(own, self.best * self.supply)), _power(self.supply)
        half = self.width * np.maximum(self.best, _FLOOR * max(float(self.best.max()), float(np.max(self.start))))
        box = np.column_stack([np.maximum(0.0, self.best - half), self.best + half])
        free = np.tile([-np.inf, np.inf], (number, 1))
        answer = linear_program(
            np.concatenate([-np.ones(number), self.supply / scale]),
            a_ub=hstack([heights, -usage / scale], format="csr"),
            b_ub=own / unit,
            bounds=np.vstack([free, box * (scale / unit)]),
            time_s=time_s,
        )
        self._trial = np.maximum(0.0, answer.x[number:] * (unit / scale))
        self.promised = -answer.objective * unit
        self._forget(answer.upper)

    def _forget(self, marginals: FloatArray) -> None:
        """Drop planes that have not mattered for some rounds."""
        begin, retained = 0, []
        for planes in self._planes:
            end = begin + len(planes.group)
            # A binding row (negative marginal) resets a plane's age.
            planes.age[marginals[begin:end] < 0] = -1
            planes.age += 1
            begin = end
            retained.append(planes if planes is self._centre else planes.take(planes.age <= _AGE))
        self._planes = [planes for planes in retained if len(planes.group)]


def _power(numbers: FloatArray) -> float:
    """Return the power of two next to the largest of some numbers >= 0, by which they are divided for the solver; 1 for 0."""
    largest = float(numbers.max())
    return math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0 else 1.0


@dataclass(slots=True, eq=False)
class _Planes:
    """Upper planes of groups: own + usage y, and the number of rounds for which each has not mattered."""

    group: IntArray
    own: FloatArray
    usage: "csr_array"
    age: IntArray

    def take(self, which: "np.typing.NDArray[np.bool_]") -> "_Planes":
        rows = np.flatnonzero(which)
        return _Planes(self.group[rows], self.own[rows], self.usage[rows], self.age[rows])
