"""Least costs of jobs of a stream with ticks at prices by slot, in whole numbers that are never too large.

A job's work is 1, in N cells. Its cost from slot t on, with k cells left, if it held h units in the slot
before, is the least of

    on w units    pay_t(w) + (p + k a_w / N  if that is at most D + hair; else  D + the cost from t + 1 on of k - m cells)
    on none       D + the cost from t + 1 on of k cells

with D the seconds of a slot, pay_t(w) the price of w units in slot t, a_w the seconds of all its work on w,
p = min(restart, D) if it ran before and h is not w, else 0, and m = ceil((D - p) N / a_w). An end after D
counts as D. From some slot on units are free. A job of weight omega costs omega times what one of weight 1
costs that pays prices over omega.

*Proof that no stream pays less.* By induction from the end: a job that really has at least k / N of its work
left pays at least the cost of k cells. It does at most m cells in a slot, so that at least k - m are left
afterwards. If k cells end in a slot and the job's work does not, the job pays D and more, and the cells at
most D. Pauses longer than D count as D, and the rest of them as over. If units are free, the job ends first
if it goes on at once on its fastest count (after a pause, if that is a change), or stays on its count to the
end: time on both is linear in how long it stays. Work that exceeds its slots by 2**-40 of the job counts as
done in them (``core.ticks``); the hair is 2**-38 of a_w + p, so that it also covers the rounding of the work
left after some thousands of periods.

*Rounding.* Costs are whole numbers of a unit of time, a power of two chosen such that no cost without prices
exceeds 2**60. Every constant is computed in rational numbers and rounded down, m is rounded up; prices of a
slot count as at most 2**61, so that sums and minima of 64-bit integers are exact. Sums and minima are
monotone: the result is at most what rational numbers would give.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dlsched.certificates import exact_sum

Ints = npt.NDArray[np.int64]

_HAIR = Fraction(1, 2**38)
_BITS = 60  # bits of the largest cost without prices
_MOST_PAID = 2**61  # prices of a slot count as at most this, so that sums stay below 2**63


@dataclass(frozen=True, slots=True)
class Speeds:
    """Jobs that differ in arrivals alone: counts, seconds of the work on each, seconds of a pause, weight, all exact."""

    counts: tuple[int, ...]
    seconds: tuple[Fraction, ...]
    pause_s: Fraction
    weight: Fraction

    @property
    def rows(self) -> int:
        """Number of states of the last slot: held nothing yet, nothing any more, or one of the counts."""
        return len(self.counts) + 2


@dataclass(frozen=True, slots=True)
class Paid:
    """Prices by slot, exact; ``slots`` are K + 1 ticks, each block size has K prices."""

    tick_s: Fraction
    slots: tuple[int, ...]
    prices: Mapping[int, tuple[Fraction, ...]]

    def supply_s(self, units: int) -> Fraction:
        """Return what all units and blocks that can be held cost."""
        lengths = [end - begin for begin, end in pairwise(self.slots)]
        return self.tick_s * exact_sum(
            units // size * length * price
            for size, prices in self.prices.items()
            for length, price in zip(lengths, prices, strict=True)
        )

    def backward(self, counts: Sequence[int], first: int, end: int, scale: Fraction) -> Iterator[tuple[int, list[int]]]:
        """Yield slots from before ``end`` back to ``first``, and what counts pay there, in time units."""
        index = len(self.slots) - 1
        known = -2, [0] * len(counts)
        for slot in range(end - 1, first - 1, -1):
            while index >= 0 and self.slots[index] > slot:
                index -= 1
            if known[0] != index:
                inside = 0 <= index < len(self.slots) - 1
                factor = scale * self.tick_s
                each = {size: math.floor(prices[index] * factor) for size, prices in self.prices.items() if inside}
                known = index, [min(_MOST_PAID, sum(n // size * price for size, price in each.items())) for n in counts]
            yield slot, known[1]


class Run:
    """Jobs of equal speeds whose first slots are close; units are free ``span`` slots after the last of these."""

    def __init__(self, speeds: Speeds, firsts: Sequence[int], paid: Paid) -> None:
        self.speeds, self.firsts, self.paid = speeds, firsts, paid
        self.span = 4 * math.ceil(speeds.seconds[-1] / paid.tick_s) + 8

    @property
    def end(self) -> int:
        """Slot from which units are free."""
        return max(self.firsts[-1], min(self.paid.slots[-1], self.firsts[-1] + self.span))

    @property
    def size(self) -> int:
        """Number of costs of every cell: slots times states of the slot before."""
        return (self.end - self.firsts[0] + 1) * self.speeds.rows

    def least_s(self, cells: int, most: int) -> Fraction:
        """Sum the jobs' weighted costs; double the span until it does not matter, up to ``most`` costs."""
        tick_s = self.paid.tick_s
        while True:
            least = self._priced(cells) if self.size <= most else self._alone()
            late = any(cost > (self.end - first) * tick_s for first, cost in zip(self.firsts, least, strict=True))
            if not late or self.end >= self.paid.slots[-1] or 2 * self.size > most:
                return self.speeds.weight * exact_sum(least)
            self.span *= 2

    def _alone(self) -> list[Fraction]:
        """Cost of every job if units are free from the beginning."""
        return [self.speeds.seconds[-1]] * len(self.firsts)

    def _priced(self, cells: int) -> list[Fraction]:
        """Least cost of every job, computed backward from slot to slot."""
        speeds, tick_s, end = self.speeds, self.paid.tick_s, self.end
        longest = (end - self.firsts[0] + 2) * tick_s + max(speeds.seconds) + speeds.pause_s
        scale = Fraction(2) ** (_BITS - longest.numerator.bit_length() + longest.denominator.bit_length() - 1)
        slot_cost = math.floor(tick_s * scale)
        running, stopped, fresh = _free(speeds, cells, scale)
        steps = [
            [_Step(tick_s, seconds, pause_s, cells, scale) for seconds in speeds.seconds]
            for pause_s in (Fraction(0), speeds.pause_s)
        ]
        found = {end: int(fresh[-1])}
        wanted = set(self.firsts)
        # Backward over slots: least costs of jobs that hold each count, are stopped, or never ran
        for slot, pay in self.paid.backward(speeds.counts, self.firsts[0], end, scale / speeds.weight):
            going, anew = (
                [step.cost(after, slot_cost) for step, after in zip(row, running, strict=True)] for row in steps
            )
            going = [cost + each for cost, each in zip(going, pay, strict=True)]
            fresh = np.minimum(fresh + slot_cost, np.minimum.reduce(going))
            stopped = np.minimum.reduce(
                [stopped + slot_cost, *(cost + each for cost, each in zip(anew, pay, strict=True))]
            )
            running = [np.minimum(cost, stopped) for cost in going]
            if slot in wanted:
                found[slot] = int(fresh[-1])
        return [found[first] / scale for first in self.firsts]


class _Step:
    """A slot on one count: how many cells may end in it, their seconds, and how many cells it does."""

    def __init__(self, tick_s: Fraction, seconds: Fraction, pause_s: Fraction, cells: int, scale: Fraction) -> None:
        hair_s = _HAIR * (seconds + pause_s)
        self.fits = min(cells, math.floor((tick_s + hair_s - pause_s) * cells / seconds))
        self.does = min(self.fits + 1, math.ceil((tick_s - pause_s) * cells / seconds))
        ends = math.floor(pause_s * scale) + np.arange(self.fits + 1) * math.floor(seconds * scale / cells)
        self.ends: Ints = np.minimum(ends, math.floor(tick_s * scale))

    def cost(self, after: Ints, slot_cost: int) -> Ints:
        """Return costs by cells left, without prices; ``after``: costs from the next slot on this count."""
        begin = self.fits + 1
        return np.concatenate([self.ends, after[begin - self.does : len(after) - self.does] + slot_cost])


def _free(speeds: Speeds, cells: int, scale: Fraction) -> tuple[list[Ints], Ints, Ints]:
    """Return costs if units are free: of jobs that hold a count, that are stopped, and that never ran."""
    remaining = np.arange(cells + 1)
    fastest, *others = (remaining * math.floor(seconds * scale / cells) for seconds in reversed(speeds.seconds))
    stopped = fastest + math.floor(speeds.pause_s * scale)
    return [np.minimum(stopped, each) for each in (*reversed(others), fastest)], stopped, fastest
