"""Partial sums of shifts and regrets, job after job: the states of a knapsack's core, and the way back from one.

A state is a sum of shifts with the least sum of regrets that reaches it. The parent and the option of every
state are stored in *segments*. When a segment fills its share of the memory, only the states at its end stay;
when the way back leads through it, it is computed again, from the states at its beginning and with the same
limits.

An algorithm of this package may take ``ALLOWED_BYTES`` of memory, a quarter of the machine's and at most 1 GiB. One that
would need more raises ``MemoryError`` first; ``Family.solve`` then ends with ``memory_limit``. Here half of it is for the
work on one job, a quarter for the states between segments, and an eighth for a segment, of which there are two at most.
"""

import math
import os
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.limits import Tick

_GIB = 2**30


try:
    ALLOWED_BYTES = min(_GIB, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)
except (AttributeError, OSError, ValueError):  # the system does not report this machine's memory
    ALLOWED_BYTES = _GIB
"""Bytes that one run of an algorithm may hold besides its cost table."""


def require_memory(needed: int, what: str) -> None:
    """Raise ``MemoryError``, with the size, before a computation that needs more than ``ALLOWED_BYTES``."""
    if needed > ALLOWED_BYTES:
        raise MemoryError(f"{what}: needs {needed / _GIB:.1f} GiB, allowed: {ALLOWED_BYTES / _GIB:.1f} GiB")


_SHIFT_BYTES = 96  # bytes of work for an entry of an array by shift
_STATE_BYTES = 512  # bytes of work for a state if sums are sorted
_BLOCK = 2**20  # sums made between two ticks
_SPARSEST = 8  # entries of an array by shift for every sum made, beyond which sums are sorted instead

Layer = tuple[npt.NDArray[np.int32], npt.NDArray[np.unsignedinteger]]
"""For every state after a job: its parent's index, and the option taken (0: the base)."""

Sums = tuple[IntArray, FloatArray, IntArray, IntArray]
"""Shifts, regrets, parents' indices and options taken."""


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Sums of ``shifts``, ascending, each with its least sum of ``regrets``."""

    shifts: IntArray
    regrets: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """What one job may add: ``shifts`` and ``regrets``, shape (options + 1,), the base (0, 0) first.

    ``low_left`` and ``high_left`` are the least and the most that the jobs not yet combined can still shift.
    """

    shifts: IntArray
    regrets: FloatArray
    low_left: int
    high_left: int


@dataclass(slots=True, eq=False)
class Trail:
    """The states after the jobs so far, and the way to each; ``price`` of an unused unit; ``slack``: units to spare at shift 0.

    Keep at most ``most`` states after a job (None: all): those of least regret among the states at most ``reach`` from the slack;
    some sums are then missing, and a result proves nothing about these. Sums of larger regret than ``cap`` are dropped; regrets
    up to half of it count as equal when states are chosen. ``trails`` exist at a time and share the memory.
    """

    price: float
    slack: int
    tick: Tick
    most: int | None = None
    reach: int = 0
    cap: float = math.inf
    trails: int = 1
    cut: bool = False  # whether ``most`` left states out
    states: States = field(default_factory=lambda: States(np.zeros(1, dtype=np.int64), np.zeros(1)))
    _steps: list[tuple[Move, float]] = field(default_factory=list)  # jobs and limits
    _marks: list[tuple[int, States]] = field(default_factory=list)
    _layers: list[Layer] = field(default_factory=list)
    _held: int = 0  # bytes of the last segment
    _marked: int = 0  # bytes of the states between segments

    @property
    def depth(self) -> int:
        """Number of jobs so far."""
        return len(self._steps)

    @property
    def whole(self) -> bool:
        """Whether no segment has to be computed again."""
        return len(self._marks) < 2

    def advance(self, move: Move, limit: float) -> States:
        """Combine the next job; keep the states whose excess can still get below ``limit``. ``MemoryError``: too many states."""
        if not self._marks or self._held > ALLOWED_BYTES // (8 * self.trails):
            self._marked += 16 * len(self.states.shifts)
            if self._marked > ALLOWED_BYTES // (4 * self.trails):
                raise MemoryError("knapsack: the states of its core need more memory than is allowed")
            self._marks.append((self.depth, self.states))
            self._layers, self._held = [], 0
        self.states, layer = self._extended(self.states, move, limit)
        self._steps.append((move, limit))
        self._layers.append(layer)
        self._held += layer[0].nbytes + layer[1].nbytes
        return self.states

    def way(self, depth: int, state: int) -> list[int]:
        """Options of the first ``depth`` jobs on the way to a state after them."""
        options = [0] * depth
        layers: list[Layer] | None = self._layers
        # From the last segment back; only the last has its layers, those of earlier ones are computed again.
        for begin, states in reversed(self._marks):
            if begin < depth:
                for job, (parents, taken) in reversed(
                    [*enumerate(layers or self._again(begin, states, depth), begin)][: depth - begin]
                ):
                    options[job] = int(taken[state])
                    state = int(parents[state])
                depth = begin
            layers = None
        return options

    def _again(self, begin: int, states: States, end: int) -> list[Layer]:
        layers = []
        for move, limit in self._steps[begin:end]:
            states, layer = self._extended(states, move, limit)
            layers.append(layer)
        return layers

    def _extended(self, states: States, move: Move, limit: float) -> tuple[States, Layer]:
        """Add one job: each of its options to each state."""
        # Shifts outside least .. most cannot end within the slack below the limit, whatever the other jobs add.
        least = max(
            int(states.shifts[0]) + int(move.shifts.min()),
            self.slack - move.high_left - math.floor(limit / self.price) - 1,
        )
        most = min(int(states.shifts[-1]) + int(move.shifts.max()), self.slack - move.low_left)
        width, sums = max(0, most - least + 1), len(states.shifts) * len(move.shifts)
        widest = ALLOWED_BYTES // 2 // _SHIFT_BYTES
        method = self._by_shift if width <= min(widest, max(_SPARSEST * sums, 1024)) else self._by_sorting
        shifts, regrets, parents, options = method(states, move, limit, least, most)
        if self.most is not None and len(shifts) > self.most:
            few = self._best_few(shifts, regrets, self.most)
            shifts, regrets, parents, options = shifts[few], regrets[few], parents[few], options[few]
            self.cut = True
        layer = parents.astype(np.int32), options.astype(np.min_scalar_type(len(move.shifts)))
        return States(shifts, regrets), layer

    def _by_shift(self, states: States, move: Move, limit: float, least: int, most: int) -> Sums:
        """Make the sums in an array by shift: for options and states that fill most of it."""
        lowest = np.full(max(0, most - least + 1), np.inf)
        taken = np.zeros(len(lowest), dtype=np.int64)
        since = 0
        for option, (shift, regret) in enumerate(zip(move.shifts.tolist(), move.regrets.tolist(), strict=True)):
            since += len(states.shifts)
            if since > _BLOCK:
                self.tick()
                since = 0
            begin, end = np.searchsorted(states.shifts, (least - shift, most - shift + 1)).tolist()
            cell = states.shifts[begin:end] + (shift - least)
            total = states.regrets[begin:end] + regret
            better = total < lowest[cell]
            lowest[cell[better]] = total[better]
            taken[cell[better]] = option
        moved = np.flatnonzero(lowest < np.inf)
        paid, options, moved = lowest[moved], taken[moved], moved + least
        alive = self._alive(move, moved, paid, limit)
        moved, paid, options = moved[alive], paid[alive], options[alive]
        # Only records in the order of shifts can be optimal: see ``_records``.
        record = self._records(moved, paid)
        moved, paid, options = moved[record], paid[record], options[record]
        return moved, paid, np.searchsorted(states.shifts, moved - move.shifts[options]), options

    def _by_sorting(self, states: States, move: Move, limit: float, least: int, most: int) -> Sums:
        """Make the sums by sorting shifts, some options at a time: for shifts that lie far apart."""
        del least, most
        records: Sums | None = None
        size = len(states.shifts)
        several = max(1, _BLOCK // size)
        for first in range(0, len(move.shifts), several):
            self.tick()
            options = np.repeat(np.arange(first, min(first + several, len(move.shifts))), size)
            parents = np.tile(np.arange(size), len(options) // size)
            moved = move.shifts[options] + states.shifts[parents]
            paid = move.regrets[options] + states.regrets[parents]
            alive = self._alive(move, moved, paid, limit)
            found = moved[alive], paid[alive], parents[alive], options[alive]
            joined = found if records is None else _joined(records, found)
            order = np.lexsort((joined[1], joined[0]))
            record = order[self._records(joined[0][order], joined[1][order])]
            records = joined[0][record], joined[1][record], joined[2][record], joined[3][record]
            if len(record) * _STATE_BYTES > ALLOWED_BYTES // 2:
                raise MemoryError("knapsack: the states of its core need more memory than is allowed")
        assert records is not None
        return records

    def _best_few(self, shifts: IntArray, regrets: FloatArray, most: int) -> IntArray:
        """Up to ``most`` states, ascending: near the slack, of least regret, evenly spread among equals."""
        near = np.flatnonzero(np.abs(shifts - self.slack) <= self.reach)
        if len(near) <= most:
            return near
        alike = self.cap / 2 if self.cap < math.inf else 0.0
        least: IntArray = near[regrets[near] <= max(alike, np.partition(regrets[near], most)[most])]
        return least[:: -(-len(least) // most)]

    def _alive(self, move: Move, moved: IntArray, paid: FloatArray, limit: float) -> IntArray:
        """Indices of the sums that can still fit and get below the limit."""
        unused = np.maximum(self.slack - moved - move.high_left, 0)
        alive = (moved + move.low_left <= self.slack) & (paid + self.price * unused < limit)
        return np.flatnonzero(alive if self.cap == math.inf else alive & (paid <= self.cap))

    def _records(self, moved: IntArray, paid: FloatArray) -> BoolArray:
        """Mark sums, given by shift, that no smaller shift matches even if the difference stays unused."""
        cost = paid - self.price * moved
        record = np.ones(len(cost), dtype=bool)
        record[1:] = cost[1:] < np.minimum.accumulate(cost)[:-1]
        return record


def _joined(first: Sums, second: Sums) -> Sums:
    return (
        np.concatenate((first[0], second[0])),
        np.concatenate((first[1], second[1])),
        np.concatenate((first[2], second[2])),
        np.concatenate((first[3], second[3])),
    )
