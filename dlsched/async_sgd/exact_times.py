"""How long a job takes on n nodes, in exact arithmetic: integers, cut off on the safe side only when they grow very long.

Mean value analysis in terms of normalising constants, X(n) = G(n - 1) / G(n): the series G(x) = e^(Zx) prod_k 1 / (1 - D_k x)
has x G' = G (Z x + sum_k D_k x / (1 - D_k x)); with g(n) = n! G(n) and t_k(n) = (n - 1)! times the n-th coefficient of
G D_k x / (1 - D_k x) that says

    g(0) = 1;   t_k(n) = D_k (g(n - 1) + (n - 1) t_k(n - 1)),   g(n) = Z g(n - 1) + sum_k t_k(n),   X(n) = n g(n - 1) / g(n)

Only sums and products of numbers >= 0. Seconds are counted in a unit that makes Z and all D_k integers (a fraction of 1 / (B P)),
so g and t are integers too. When they pass ``LONGEST`` bits, two copies go on with ``KEPT`` bits, one cut off downwards and
one upwards: what follows is an enclosure, whose relative width is about n 2^-KEPT.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from dlsched.async_sgd.instance import Job

LONGEST = 4096
"""Bits from which on numbers are cut off; some tens of nodes are exact."""
KEPT = 512
"""Bits to which they are."""
_OFTEN = 2**8  # nodes, after which a callback is called


class Ratio(NamedTuple):
    """A rational number >= 0, not in lowest terms: reducing would take longer than all the rest."""

    numerator: int
    denominator: int


class Enclosure(NamedTuple):
    """Two numbers that a number lies between; equal where it is known exactly."""

    low: Ratio
    high: Ratio


def least_time(job: Job) -> Fraction:
    """Seconds that a job takes at least on any number of nodes: what the busiest of its stations takes for all its batches."""
    transfer = Fraction(job.parameter_bytes) / Fraction(job.bandwidth_bytes_per_s) * (2 if job.duplex == "half" else 1)
    batches = Fraction(job.epochs) * Fraction(job.dataset_examples) / Fraction(job.batch_examples)
    return batches * max(transfer, Fraction(job.update_s)) / job.shards


class ExactTimes:
    """Seconds that a job takes on n = 1, 2, ... nodes; ``tick`` is called now and then, and may raise to stop.

    >>> job = Job(id="a", epochs=1, dataset_examples=12, batch_examples=1, parameter_bytes=0, bandwidth_bytes_per_s=1,
    ...           compute_s=1)
    >>> Fraction(*ExactTimes(job).on(3).low)
    Fraction(4, 1)
    """

    def __init__(self, job: Job, *, tick: Callable[[], None] | None = None) -> None:
        self._tick = tick
        bandwidth, per_bandwidth = job.bandwidth_bytes_per_s.as_integer_ratio()
        computing, per_computing = job.compute_s.as_integer_ratio()
        moved, per_moved = job.parameter_bytes.as_integer_ratio()
        updating, per_updating = job.update_s.as_integer_ratio()
        unit = max(per_bandwidth * per_computing, per_moved, per_bandwidth * per_updating)  # all are powers of two
        links, copies = (2, job.shards) if job.duplex == "half" else (1, 2 * job.shards)
        delay = bandwidth * computing * job.shards * (unit // (per_bandwidth * per_computing))  # seconds times B P unit
        demands = [
            links * moved * (unit // per_moved),
            bandwidth * updating * (unit // (per_bandwidth * per_updating)),
        ]
        common = math.gcd(delay, *demands)
        stations = [
            (demand // common, each) for demand, each in zip(demands, (copies, job.shards), strict=True) if demand
        ]
        self._low = _Recursion(delay // common, stations, upwards=False)
        self._high: _Recursion | None = None
        factors = [job.epochs.as_integer_ratio(), job.dataset_examples.as_integer_ratio()]
        batch, per_batch = job.batch_examples.as_integer_ratio()
        self._numerator = math.prod(each[0] for each in factors) * per_batch * common * per_bandwidth
        self._denominator = math.prod(each[1] for each in factors) * batch * bandwidth * job.shards * unit

    def on(self, nodes: int) -> Enclosure:
        """Return the seconds on that many nodes, >= 1; O(nodes) beyond those that were asked for before."""
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
        if self._tick is not None and nodes % _OFTEN == 0:
            self._tick()

    def saves(self, nodes: int, price: Ratio) -> bool | None:
        """Whether one more node than ``nodes`` saves more than the price (True) or less (False); None: as much, or unknown."""
        before, after = self.on(nodes), self.on(nodes + 1)
        if _excess(before.low, after.high, price) > 0:
            return True
        return False if _excess(before.high, after.low, price) < 0 else None

    def _over(self, first: "_Recursion", second: "_Recursion", nodes: int) -> Ratio:
        """Seconds with g(n) of one recursion over n g(n - 1) of another."""
        shift = first.exponents[nodes] - second.exponents[nodes - 1]
        above, below = max(0, shift), max(0, -shift)
        return Ratio(
            self._numerator * first.constants[nodes] << above,
            self._denominator * nodes * second.constants[nodes - 1] << below,
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
