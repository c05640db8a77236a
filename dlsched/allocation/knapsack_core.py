"""The core of a knapsack: the pairs that may improve on a base, their sums, and the search among them; see ``knapsack``.

====================  ==========================================================================================
code                  mathematics
====================  ==========================================================================================
``Core``              pairs that may improve on a base, and the incumbent among their choices
``grain``             g, the greatest common divisor of all changes of cost: two totals differ by a multiple of it
``Lattice``           all changes (count, cost) of a pair are x (a, b) + y (0, d), x and y whole numbers
``least_excess``      remainder of (lambda - m) slack divided by d, for an m in [0, lambda] with m a + b a multiple of d
====================  ==========================================================================================

*The lattice* bounds all choices. *Proof.* Cost + m count changes in multiples of d. Let 0 <= m <= lambda, let W be the units
of a choice, and V its total of cost + m count, so that its total cost is V - m W. L(lambda) + m C is a lower bound of V: it is
the Lagrangian bound of cost + m count at the price lambda - m of a unit. The base, at slack units below C, has a V that is
(lambda - m) slack above that bound, and the V of other choices differ from it by multiples of d. So V is above the bound by
the remainder plus y d, y >= 0, and the total cost V - m W is above L(lambda) by this plus m (C - W).

*Levels.* The regrets are that excess without lambda (C - W), so those of a choice of y = 0 add up to at most the remainder. The
search goes through such choices first; all others exceed the bound by at least the remainder plus d. If each step saves its
units plus a constant (strongly correlated), d is that constant and the bound is the one by the number of steps, which a
choice that fills the capacity attains; the Lagrangian bound lies up to d lower.

*Sums* of shifts and regrets are combined job after job, on one side or on two that meet. With two sides every job goes to
the side of fewer sums. The best completion of a sum of one side is the largest sum of the other that still fits, as the
other's sums of more shift are cheaper, price included (``algorithms.sums``). So one pass over the smaller side covers all
pairs, and 10^4 sums on either side stand for 10^8 (after Horowitz and Sahni 1974).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from dlsched.algorithms.sums import Move, States, Trail
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.reduction import least_and_room
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.limits import Tick

_LARGEST = 2.0**62  # products of counts and costs of a lattice stay in 64 bits
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

    ``slack``: units that the base, of the least cost + price x count, leaves over. ``noise``: error of the bound, subtracted; the
    excess is unknown if it is not small beside d, or if the lattice proves no more than the grain does.
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
    """The lattice of changes, O(P) a pass; None: all multiples of the ``grain``, cost follows the count, or too large numbers."""
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


_ROUNDING = 1e-13  # share of the largest term of a regret; better choices by less are not searched for


@dataclass(slots=True, eq=False)
class Core:
    """Pairs that may improve on the base, and the incumbent choice."""

    base: IntArray
    chosen: IntArray
    price: float
    slack: int
    best: float  # excess of the chosen pairs
    gain: float  # a better choice is better by at least ``gain``, or by no more than rounding
    floor: float  # lower bound on the excess of every choice not yet searched
    period: float  # excesses above the floor differ by multiples of it if the capacity is used up; inf: unknown
    jobs: IntArray  # jobs of the pairs below, ascending
    pairs: IntArray
    shifts: IntArray
    regrets: FloatArray

    @classmethod
    def around(
        cls,
        table: CostTable,
        capacity: int,
        price: float,
        base: IntArray,
        chosen: IntArray,
        best: float,
        near: tuple[IntArray, IntArray],
    ) -> "Core":
        """Select the pairs of ``near``, except the base, of a regret below the excess ``best`` of ``chosen``, unless too dear."""
        slack = capacity - int(table.counts[base].sum())
        pairs, jobs = near
        least, most = least_and_room(table, chosen)
        dearer = table.costs[pairs] - table.costs[base[jobs]]
        larger = price * (table.counts[pairs] - table.counts[base[jobs]])
        # Pairs that no better choice can contain go first: too dear in cost, then too large in regret.
        keep = (table.costs[pairs] - least[jobs] <= most) | (pairs == base[jobs]) | (pairs == chosen[jobs])
        keep &= dearer + larger < best
        pairs, jobs, dearer, larger = pairs[keep], jobs[keep], dearer[keep], larger[keep]
        values = dearer + larger
        noise = _ROUNDING * float((np.abs(dearer) + np.abs(larger)).max(initial=0.0))
        other = pairs != base[jobs]
        pairs, jobs, values = pairs[other], jobs[other], values[other]
        moved = np.flatnonzero(chosen != base)  # the incumbent has to be on the grid of the better choices
        every, bases = np.concatenate((pairs, chosen[moved])), np.concatenate((base[jobs], base[moved]))
        changes = whole_changes(table.counts[every] - table.counts[bases], table.costs[every], table.costs[bases])
        gain, floor, period = noise, 0.0, math.inf
        if changes is not None:
            gain = max(noise, float(changes.grain * changes.unit) - noise)
            floor, period = least_excess(changes, price, slack, noise)
        shifts = table.counts[pairs] - table.counts[base[jobs]]
        regrets = np.maximum(values, 0.0)
        return cls(base, chosen, price, slack, best, gain, floor, period, jobs, pairs, shifts, regrets)

    def may_improve(self, threshold: float) -> bool:
        """Whether a better choice may exist, given that none is without a regret above the threshold."""
        return self.best - self.gain > max(threshold, self.floor)

    def next_threshold(self, threshold: float, more: int) -> float:
        """Return a threshold that admits about ``more`` further pairs, at most the best excess."""
        above = self.regrets[self.regrets > threshold]
        if len(above) <= more:
            return self.best
        return min(self.best, float(np.partition(above, more)[more]))

    def sketch(self, keep: IntArray, size: int, seed: int) -> IntArray:
        """At most ``size`` pairs, ascending: the few of least regret of many jobs; regrets up to a quarter of the floor tie."""
        lot = np.random.default_rng(seed).random(len(keep))
        # Two sorts: by regret, then stably by job, so that ``rank`` numbers each job's pairs from its least regret on.
        regrets = np.maximum(self.regrets[keep], self.floor / 4)
        order = np.lexsort((lot, regrets))
        order = order[np.argsort(self.jobs[keep][order], kind="stable")]
        ordered = self.jobs[keep][order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        few = order[rank < max(2, size // len(np.unique(ordered)))]
        return np.sort(keep[few[np.lexsort((lot[few], regrets[few]))][:size]])

    def needed(self, threshold: float, excess: float) -> IntArray:
        """Positions of the pairs for choices up to that excess, ascending: regret <= threshold, among the K least of a shift."""
        keep = np.flatnonzero(self.regrets <= threshold)
        if not len(keep):
            return keep
        shifts = self.shifts[keep]
        up, down = max(0, int(shifts.max())), max(0, -int(shifts.min()))
        # K of step 4 in ``knapsack``.
        most = up + down - 1 + max(self.slack + down, up + int(min(excess / self.price, float(self.slack + down + up))))
        if most >= len(keep):
            return keep
        order = np.lexsort((self.regrets[keep], shifts))
        ordered = shifts[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return np.sort(keep[order[rank < most]])


def combine(
    core: Core,
    near: IntArray,
    step: Tick,
    tick: Tick,
    found: Callable[[IntArray], None],
    *,
    enough: int | None = None,
    most: int | None = None,
    sides: int = 2,
    cap: float = math.inf,
) -> bool:
    """Combine pairs by their positions; the core's incumbent becomes their best choice if that is better.

    If a side has more states than ``enough``, it gives up; if more than ``most``, it goes on with that many; choices with regrets
    above the ``cap`` on either side are skipped. False: there may be a better choice. When stopped on the way, the core keeps the
    best choice so far, unless reading it takes as long again.
    """
    if not len(near):
        return True
    queue = _Queue.of(core, near)
    reach = int(np.abs(core.shifts[near]).max())
    trails = [Trail(core.price, core.slack, tick, most=most, reach=reach, cap=cap, trails=sides) for _ in range(2)]
    rests = [(sum(queue.low), sum(queue.high))] * 2  # least and largest shift of the jobs a side has not combined
    places: list[list[int]] = [[], []]  # places of the jobs that each side has combined
    best: tuple[tuple[int, int], ...] = ()  # number of jobs and state of the best sum, on either side
    whole = True
    try:
        for place in range(queue.jobs):
            step()
            # Each job joins the side with fewer sums, so that both stay short.
            side = int(sides == 2 and len(trails[1].states.shifts) < len(trails[0].states.shifts))
            places[side].append(place)
            rests[side] = rests[side][0] - queue.low[place], rests[side][1] - queue.high[place]
            states = trails[side].advance(queue.move(place, *rests[side]), core.best - core.gain)
            if not len(states.shifts):
                break
            excess, pair = least_pair(trails[0].states, trails[1].states, core.price, core.slack)
            if excess < core.best:
                core.best = excess
                best = tuple((trail.depth, state) for trail, state in zip(trails, pair, strict=True))
            if not core.may_improve(0.0):
                break
            if enough is not None and len(states.shifts) > enough:
                whole = False
                break
    except BaseException as stopped:
        if best and (all(trail.whole for trail in trails) or isinstance(stopped, MemoryError)):
            found(queue.choice(places, [trail.way(*state) for trail, state in zip(trails, best, strict=True)]))
        raise
    if best:
        core.chosen = queue.choice(places, [trail.way(*state) for trail, state in zip(trails, best, strict=True)])
        found(core.chosen)
    return whole and not any(trail.cut for trail in trails)


def least_pair(first: States, second: States, price: float, slack: int) -> tuple[float, tuple[int, int]]:
    """Return the least excess of two sums, one of each, that fit together (inf: none do), and the two."""
    if len(first.shifts) > len(second.shifts):
        excess, (other, state) = least_pair(second, first, price, slack)
        return excess, (state, other)
    # Of the sums that fit beside a first one, the largest shift is the best: see the module.
    room = slack - first.shifts
    match = np.searchsorted(second.shifts, room, side="right") - 1
    fit = np.flatnonzero(match >= 0)
    if not len(fit):
        return np.inf, (0, 0)
    match = match[fit]
    excesses = first.regrets[fit] + second.regrets[match] + price * (room[fit] - second.shifts[match])
    least = int(np.argmin(excesses))
    return float(excesses[least]), (int(fit[least]), int(match[least]))


@dataclass(frozen=True, slots=True, eq=False)
class _Queue:
    """Pairs of a core by job, the jobs in the order in which they are combined."""

    core: Core
    keep: IntArray  # positions of the pairs
    starts: list[int]  # first position of every job's pairs, and last the number of pairs
    low: list[int]  # least and largest shift of every job, the base included
    high: list[int]

    @classmethod
    def of(cls, core: Core, near: IntArray) -> "_Queue":
        keep = in_turn(core, near)
        starts = np.flatnonzero(np.diff(core.jobs[keep], prepend=-1) != 0)
        low = np.minimum(np.minimum.reduceat(core.shifts[keep], starts), 0)
        high = np.maximum(np.maximum.reduceat(core.shifts[keep], starts), 0)
        return cls(core, keep, [*starts.tolist(), len(keep)], low.tolist(), high.tolist())

    @property
    def jobs(self) -> int:
        return len(self.low)

    def move(self, place: int, low_left: int, high_left: int) -> Move:
        """Return the options of a job, if the jobs after it may still shift so far."""
        pairs = self.keep[self.starts[place] : self.starts[place + 1]]
        shifts, regrets = self.core.shifts[pairs], self.core.regrets[pairs]
        return Move(np.concatenate(([0], shifts)), np.concatenate(([0.0], regrets)), low_left, high_left)

    def choice(self, places: list[list[int]], options: list[list[int]]) -> IntArray:
        """Return the base with the options taken by the jobs that either side combined first."""
        chosen = self.core.base.copy()
        for side in range(2):
            for place, option in zip(places[side], options[side], strict=False):
                if option:
                    pair = self.keep[self.starts[place] + option - 1]
                    chosen[self.core.jobs[pair]] = self.core.pairs[pair]
        return chosen


def in_turn(core: Core, keep: IntArray) -> IntArray:
    """Order pairs by jobs: those that grow and those that only shrink alternate, so that sums stay near 0; least regret first."""
    starts = np.flatnonzero(np.diff(core.jobs[keep], prepend=-1) != 0)
    if len(starts) < 2:
        return keep
    grows = np.maximum.reduceat(core.shifts[keep], starts) > 0
    turn = np.empty(len(starts), dtype=np.int64)
    order = np.argsort(np.minimum.reduceat(core.regrets[keep], starts), kind="stable")
    # Growing and shrinking jobs by turns, each kind by its least regret.
    for kind in (order[grows[order]], order[~grows[order]]):
        turn[kind] = np.arange(len(kind))
    job_turn = np.lexsort((grows, turn))
    rank = np.empty(len(starts), dtype=np.int64)
    rank[job_turn] = np.arange(len(starts))
    lengths = np.diff(np.append(starts, len(keep)))
    return keep[np.argsort(np.repeat(rank, lengths), kind="stable")]


_FIRST_CORE = 48  # pairs of the first core; small enough to cost less than the passes before it
_GROWTH = 4  # factor from the pairs of one core to those of the next
_STATES = 2**13  # with more states after a job, the search looks at some of them first
_SKETCHES = 4  # partial searches, as long as each finds a better choice
_LARGEST_SKETCH = 1000  # pairs of a partial search if the lattice tells which excesses are possible


def search(core: Core, step: Tick, tick: Tick, better: Callable[[IntArray], None]) -> None:
    """Search until ``core`` has the best choice: by the levels of its lattice, then pairs by rising regret."""
    threshold, size = -1.0, _FIRST_CORE
    run = partial(combine, core, step=step, tick=tick, found=better)
    if core.period < math.inf:
        _rise(core, run)
    while core.may_improve(threshold):
        # A choice with an excess up to the threshold uses only pairs with a regret up to it.
        proven, threshold = threshold, core.next_threshold(threshold, size)
        near = core.needed(threshold, threshold)
        few = len(near) <= _GROWTH * size
        if not (few and run(near, enough=_STATES, sides=1)):
            whole = _look(core, near, size, proven, run)
            if not whole and core.may_improve(proven):
                run(near)
        size *= _GROWTH


def _rise(core: Core, run: Callable[..., bool]) -> None:
    """Search the choices of the least excess that the lattice allows, then of the next: the floor rises."""
    levels = 1
    while core.may_improve(0.0):
        # All choices of the first ``levels`` levels have regrets up to this cap; twice as many levels follow.
        reached = core.floor + (levels - 1) * core.period
        cap = reached + ROUNDED * core.period
        near, size, whole = core.needed(cap, core.best), _FIRST_CORE, False
        while not whole and size < _GROWTH * len(near) and size <= _LARGEST_SKETCH:
            whole = _look(core, near, size, 0.0, partial(run, cap=cap))
            size *= _GROWTH
        if not whole and core.may_improve(0.0):
            run(near, cap=cap)
        core.floor = reached + core.period
        levels *= 2


def _look(core: Core, near: IntArray, size: int, proven: float, run: Callable[..., bool]) -> bool:
    """Search some states of some pairs, as long as that helps; return whether the search was complete."""
    before = np.inf
    for lot in range(_SKETCHES):
        if not core.may_improve(proven) or core.best >= before:
            break
        before = core.best
        some = near if len(near) <= 2 * size else core.sketch(near, size, lot)
        if run(some, most=_STATES) and len(some) == len(near):
            return True
    return False
