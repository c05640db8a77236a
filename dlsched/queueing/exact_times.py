"""Exact seconds of a job on n nodes, in integers; very long integers are cut off on the safe side.

Mean value analysis in terms of normalising constants, X(n) = G(n - 1) / G(n): the series G(x) = e^(Zx) prod_k 1 / (1 - D_k x)
has x G' = G (Z x + sum_k D_k x / (1 - D_k x)); with g(n) = n! G(n) and t_k(n) = (n - 1)! times the n-th coefficient of
G D_k x / (1 - D_k x) that says

    g(0) = 1;   t_k(n) = D_k (g(n - 1) + (n - 1) t_k(n - 1)),   g(n) = Z g(n - 1) + sum_k t_k(n),   X(n) = n g(n - 1) / g(n)

These are only sums and products of numbers >= 0. In the largest unit of seconds that makes Z and all D_k integers, g and t
are integers too. When they pass ``LONGEST`` bits, two copies go on with ``KEPT`` bits, one cut off downwards and one upwards:
from then on they enclose the number, with a relative width of about n 2^-KEPT.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dlsched.core.limits import Tick, no_tick

LONGEST = 4096  # bits beyond which numbers are cut off; several tens of nodes are exact
KEPT = 512  # bits that remain
_OFTEN = 2**8  # nodes, after which ``tick`` is called


class Ratio(NamedTuple):
    """A rational number >= 0, not in lowest terms, since reducing would take longer than all the rest."""

    numerator: int
    denominator: int


class Enclosure(NamedTuple):
    """Lower and upper bound of a number; equal if it is known exactly."""

    low: Ratio
    high: Ratio


class ExactTimes:
    """Seconds that a job takes on n = 1, 2, ... nodes: its cycles on a network of delay Z and equal stations of demand D_k.

    >>> Fraction(*ExactTimes(Fraction(1), [], Fraction(12)).on(3).low)
    Fraction(4, 1)
    """

    def __init__(
        self,
        delay_s: Fraction,
        stations: Sequence[tuple[Fraction, int]],
        cycles: Fraction,
        *,
        tick: Tick = no_tick,
    ) -> None:
        busy = [(demand_s, copies) for demand_s, copies in stations if demand_s]
        times_s = [delay_s, *(demand_s for demand_s, _ in busy)]
        unit = math.lcm(*(time_s.denominator for time_s in times_s))
        whole = [int(time_s * unit) for time_s in times_s]
        common = math.gcd(*whole)
        demands = [(time // common, copies) for time, (_, copies) in zip(whole[1:], busy, strict=True)]
        self._low = _Recursion(whole[0] // common, demands, upwards=False)
        self._high: _Recursion | None = None
        self._scale = cycles * Fraction(common, unit)
        # What the busiest station takes for all cycles is a lower bound on the seconds on any number of nodes.
        self.least = cycles * max((demand_s for demand_s, _ in busy), default=Fraction(0))
        self._tick = tick

    def on(self, nodes: int) -> Enclosure:
        """Return the seconds on that many nodes, >= 1; O(nodes) beyond the most asked for before."""
        low = self._low
        while len(low.constants) <= nodes:
            self._sometimes(len(low.constants))
            if self._high is None and low.constants[-1].bit_length() > LONGEST:
                self._high = low.upwards()
            low.step(cut=self._high is not None)
        high = self._high
        if high is None:
            exact = self._over(low, low, nodes)
            return Enclosure(exact, exact)
        while len(high.constants) <= nodes:
            self._sometimes(len(high.constants))
            high.step(cut=True)
        return Enclosure(self._over(low, high, nodes), self._over(high, low, nodes))

    def _sometimes(self, nodes: int) -> None:
        if nodes % _OFTEN == 0:
            self._tick()

    def saves(self, nodes: int, price: Ratio) -> bool | None:
        """Whether one more node saves more than the price; None if it saves as much, or if it is unknown."""
        before, after = self.on(nodes), self.on(nodes + 1)
        if _excess(before.low, after.high, price) > 0:
            return True
        return False if _excess(before.high, after.low, price) < 0 else None

    def _over(self, first: "_Recursion", second: "_Recursion", nodes: int) -> Ratio:
        """Seconds with g(n) of one recursion over n g(n - 1) of another."""
        shift = first.exponents[nodes] - second.exponents[nodes - 1]
        above, below = max(0, shift), max(0, -shift)
        return Ratio(
            self._scale.numerator * first.constants[nodes] << above,
            self._scale.denominator * nodes * second.constants[nodes - 1] << below,
        )


class _Recursion:
    """g(0), g(1), ... as integers times powers of two; once cut off, all rounded in one direction."""

    def __init__(self, delay: int, stations: list[tuple[int, int]], *, upwards: bool) -> None:
        self._delay, self._stations, self._up = delay, stations, upwards
        self._terms = [0] * len(stations)
        self.constants = [1]
        self.exponents = [0]

    def upwards(self) -> "_Recursion":
        """Return a copy that rounds up from here on."""
        other = _Recursion(self._delay, self._stations, upwards=True)
        other._terms, other.constants, other.exponents = self._terms[:], self.constants[:], self.exponents[:]
        return other

    def step(self, *, cut: bool) -> None:
        """Go to the next n."""
        before, earlier = self.constants[-1], len(self.constants) - 1
        total = self._delay * before
        for kind, (demand, copies) in enumerate(self._stations):
            self._terms[kind] = term = demand * (before + earlier * self._terms[kind])
            total += copies * term
        exponent = self.exponents[-1]
        # Cutting all terms by the same shift keeps them on one exponent; rounding is always in one direction.
        surplus = total.bit_length() - KEPT if cut else 0
        if surplus > 0:
            total, exponent = self._cut(total, surplus), exponent + surplus
            self._terms = [self._cut(term, surplus) for term in self._terms]
        self.constants.append(total)
        self.exponents.append(exponent)

    def _cut(self, number: int, bits: int) -> int:
        return -(-number >> bits) if self._up else number >> bits


def _excess(first: Ratio, second: Ratio, price: Ratio) -> int:
    """Return a number with the sign of first - second - price."""
    difference = first.numerator * second.denominator - second.numerator * first.denominator
    return difference * price.denominator - price.numerator * first.denominator * second.denominator
