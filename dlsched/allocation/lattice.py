"""The lattice of a knapsack's changes: the least distance of two totals, and a bound on all choices.

====================  ==========================================================================================
code                  mathematics
====================  ==========================================================================================
``grain``             g, the greatest common divisor of all changes of cost: two totals differ by a multiple of it
``Lattice``           all changes (count, cost) of a pair are x (a, b) + y (0, d), x and y whole numbers
``least_excess``      remainder of (lambda - m) slack divided by d, for an m in [0, lambda] with m a + b a multiple of d
====================  ==========================================================================================

*Proof.* Cost + m count changes in multiples of d. Let 0 <= m <= lambda, let W be the units of a choice, and
V its total of cost + m count, so that its total cost is V - m W. L(lambda) + m C is a lower bound of V: it
is the Lagrangian bound of cost + m count at the price lambda - m of a unit. The base, at slack units below
C, has a V that is (lambda - m) slack above that bound, and the V of other choices differ from it by
multiples of d. So V is above the bound by the remainder plus y d, y >= 0, and the total cost V - m W is
above L(lambda) by this plus m (C - W).

*Levels.* The regrets are that excess without lambda (C - W), so at most the remainder plus y d. Therefore
the regrets of a choice of y = 0 add up to at most the remainder. The search goes through such choices first;
all others exceed the bound by at least the remainder plus d.

If each step saves its units plus a constant (strongly correlated), d is that constant and the bound is the
one by the number of steps, which a choice that fills the capacity attains; the Lagrangian bound lies up to d
lower.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray

_LARGEST = 2.0**62
ROUNDED = 1e-6
"""Share of d, larger than the rounding error of sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes from the jobs' base: counts, and costs as multiples of ``unit``, a power of two; shape (P,)."""

    counts: IntArray
    costs: IntArray
    unit: Fraction
    grain: int  # in units; 0 without a change


@dataclass(frozen=True, slots=True)
class Lattice:
    """The numbers a > 0, b and d >= 0 of the module's docstring; d = 0 when cost follows the count alone."""

    count: int
    cost: int
    period: int


def whole_changes(counts: IntArray, costs: FloatArray, base_costs: FloatArray) -> Changes | None:
    """Take ``costs - base_costs`` exactly; None when they span over 62 binary digits. ``counts`` are changes already."""
    both = np.concatenate((costs, base_costs))
    both = both[both != 0]
    if not len(both):
        return Changes(counts, np.zeros(len(costs), dtype=np.int64), Fraction(1), 0)
    # Integers on the grid of the lowest binary digit that any of the costs has.
    mantissas, exponents = np.frexp(both)
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    _, lowest = np.frexp((digits & -digits).astype(np.float64))
    last = int((exponents - 54 + lowest).min())  # exponent of the last binary digit that is set
    if int(exponents.max()) - last > 62:
        return None
    whole = np.ldexp(costs, -last).astype(np.int64) - np.ldexp(base_costs, -last).astype(np.int64)
    return Changes(counts, whole, Fraction(2) ** last, int(np.gcd.reduce(whole, initial=0)))


def least_excess(changes: Changes, price: float, slack: int, noise: float) -> tuple[float, float]:
    """Return the least excess of all totals over the Lagrangian bound, and d; 0 and infinity if unknown.

    ``slack``: units that the base, of the least cost + price x count, leaves over. The bound is accurate up
    to ``noise``, which is subtracted. The excess is unknown if ``noise`` is not small beside d, or if the
    lattice proves no more than the grain does.
    """
    spanned = lattice(changes.counts, changes.costs, changes.grain)
    if spanned is None:
        return 0.0, math.inf
    above = Fraction(price) / changes.unit + Fraction(spanned.cost, spanned.count)
    beyond = above % Fraction(spanned.period, spanned.count) * changes.unit
    period = spanned.period * changes.unit
    excess = float(beyond * slack % period)
    if beyond > price or excess + noise >= period or noise > ROUNDED * period:
        return 0.0, math.inf
    return max(0.0, excess - noise), float(period)


def lattice(counts: IntArray, costs: IntArray, grain: int) -> Lattice | None:
    """Return the lattice of changes; O(P) a pass, a few passes.

    None when it holds all multiples of the ``grain`` of costs, when cost follows the count, and when numbers are too large.
    """
    found = Lattice(0, 0, 0)
    largest = float(np.abs(counts).max(initial=0))
    off = np.flatnonzero(counts)
    # Euclid pair by pair: only changes whose count is no multiple of the lattice's need to be added.
    while len(off):
        found = _joined(found, int(counts[off[0]]), int(costs[off[0]]))
        if found.period == grain or abs(found.cost) * largest / found.count >= _LARGEST:
            return None
        off = np.flatnonzero(counts % found.count)
    if not found.count:
        return None
    rest = costs - counts // found.count * found.cost
    period = math.gcd(found.period, int(np.gcd.reduce(rest, initial=0)))
    return None if period in (0, grain) else replace(found, period=period)


def _joined(found: Lattice, count: int, cost: int) -> Lattice:
    """Add one change to a lattice, by Euclid's algorithm."""
    first, also = found.count, found.cost
    while count:
        times = first // count
        first, also, count, cost = count, cost, first - times * count, also - times * cost
    period = math.gcd(found.period, cost)
    if first < 0:
        first, also = -first, -also
    return Lattice(first, also % period if period else also, period)
