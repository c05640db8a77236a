"""Cheapest plans of single jobs at prices by slot, and their costs from any slot on, computed backward.

Let a job have the share v of its work to do at the start of slot t, of D seconds, and let h be its holding in
the slot before (nothing yet, nothing any more, or w units). From there on it costs at least psi_t(v, h):
seconds to its end, and the units of its slots at their prices. psi is the least of

    on w units   pay_t(w) D + (p + v a_w   if that is at most D, else   D + psi_{t+1}(v - (D - p) / a_w, w))
    waiting      D + psi_{t+1}(v, nothing)

a_w are the seconds of all its work on w units; p is its pause, 0 if it ran on w or has not begun. Pauses count
as at most D. From the horizon on units are free: the cost is the pause and v a_w on the fastest count w, or
v a_w on its count w. This bounds psi for every horizon, and equals psi if no cheapest plan reaches the
horizon.

Work is counted in cells, the rest rounded down, so that psi is never above the least cost of a real plan. A traced plan
does no more work than its cells say, and costs psi exactly, so it gives a plane of the relaxed problem.
"""

import math
from dataclasses import dataclass

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.ticks import HAIR

FRESH, STOPPED, HELD = 0, 1, 2
"""Rows of psi: has not begun, waits for a restart, and from there on ran on the counts, in their order."""

_HAIR = 4 * HAIR
"""Tolerance for jobs that just exceed their slot, so that no rounding makes psi too large."""
_ROUND = 1e-9  # tolerance of work done, as a share of a cell


@dataclass(frozen=True, slots=True)
class Kind:
    """Jobs that differ in their arrivals alone.

    ``counts``: units, ascending; ``runs_s``: seconds of all the work on each count, descending; ``pause_s``: pause at the start
    of every period but the first, at most a tick; prices are divided by the ``weight``: psi is the cost of a job of weight 1.
    """

    counts: tuple[int, ...]
    runs_s: tuple[float, ...]
    pause_s: float
    weight: float = 1.0

    @property
    def rows(self) -> int:
        """Number of rows of psi: one without pauses, since the earlier holding does not matter then."""
        return HELD + len(self.counts) if self.pause_s else 1


@dataclass(frozen=True, slots=True, eq=False)
class SlotPrices:
    """Prices of units and of blocks of units, constant from ``slots[k]`` to before ``slots[k + 1]``, 0 elsewhere.

    ``prices[i, k]``, in seconds per block and second, is paid for each whole block of ``sizes[i]`` units of a job.
    """

    slots: IntArray
    sizes: tuple[int, ...]
    prices: FloatArray

    @property
    def end(self) -> int:
        """Slot from which all units are free, whatever the prices."""
        return int(self.slots[-1])

    def interval(self, slots: IntArray) -> IntArray:
        """Return the intervals of slots, -1 before the first and K after the last."""
        return np.searchsorted(self.slots, slots, side="right") - 1

    def paid(self, counts: tuple[int, ...], first: int, end: int) -> FloatArray:
        """Prices of counts of units, per second, in the slots from ``first`` to before ``end``; shape (slots, counts)."""
        blocks = np.array(counts)[:, None] // np.array(self.sizes)
        padded = np.pad(dot(blocks, self.prices), ((0, 0), (1, 1)))
        return np.ascontiguousarray(padded[:, self.interval(np.arange(first, end)) + 1].T)


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """psi of a kind of jobs: ``psi[t - first, row, cell]``, from slot ``first`` until units are free.

    ``paid_s[t - first, i]`` is the price of slot t on the i-th count, over the weight.
    """

    kind: Kind
    first: int
    tick_s: float
    paid_s: FloatArray
    psi: FloatArray

    def least_s(self, slot: int) -> float:
        """Return the cost of a job whose first slot this is."""
        return float(self.psi[slot - self.first, FRESH, -1])

    def trace(self, slot: int) -> tuple[float, IntArray]:
        """Return flow time and units by slot, up to the horizon, of a cheapest plan from the slot on."""
        kind, cells = self.kind, self.psi.shape[2] - 1
        steps = [_steps(kind, cells, self.tick_s, pause=pause) for pause in (False, True)]
        units = np.zeros(len(self.paid_s) + self.first - slot, dtype=np.int64)
        row, cell = FRESH, cells
        for at in range(len(units)):
            paid_s, following = self.paid_s[slot + at - self.first], self.psi[slot + at - self.first + 1]
            # Follow the minimum of psi slot by slot: waiting, or a count on which the job ends or goes on.
            best_s, index, ends_s, after = self.tick_s + following[min(row, STOPPED), cell], -1, -1.0, cell
            for each in range(len(kind.counts)):
                step = steps[row not in (FRESH, _state(kind, each))][each]
                end_s = min(self.tick_s, step.pause_s + cell * step.cell_s) if cell <= step.fits else -1.0
                less = cell - step.does if end_s < 0 else 0
                then_s = end_s if end_s >= 0 else self.tick_s + following[_state(kind, each), less]
                if paid_s[each] + then_s < best_s:
                    best_s, index, ends_s, after = paid_s[each] + then_s, each, end_s, less
            units[at] = kind.counts[index] if index >= 0 else 0
            if ends_s >= 0:
                return at * self.tick_s + ends_s, units
            row, cell = _state(kind, index) if index >= 0 else min(row, STOPPED), after
        return len(units) * self.tick_s + float(self.psi[-1, row, cell]), units


def costs(kind: Kind, first: int, horizon: int, tick_s: float, prices: SlotPrices, cells: int) -> Costs:
    """Return psi for the slots from ``first`` to ``horizon``, if units are free from the horizon on."""
    paid_s = tick_s * prices.paid(kind.counts, first, horizon) / kind.weight
    psi = np.empty((horizon - first + 1, kind.rows, cells + 1))
    psi[-1] = _free(kind, cells)
    steady, paused = (_steps(kind, cells, tick_s, pause=pause) for pause in (False, True))
    # Backwards over slots: psi now, from what psi is after the slot.
    for at in range(horizon - first - 1, -1, -1):
        now, following = psi[at], psi[at + 1]
        np.add(following[:HELD], tick_s, out=now[:HELD])  # waiting
        for index in range(len(kind.counts)):
            state = _state(kind, index)
            cost = _run(steady[index], following[state], tick_s, paid_s[at, index])
            np.minimum(now[FRESH], cost, out=now[FRESH])
            if kind.rows > 1:
                now[state] = cost
                cost = _run(paused[index], following[state], tick_s, paid_s[at, index])
                np.minimum(now[STOPPED], cost, out=now[STOPPED])
        if kind.rows > 1:
            np.minimum(now[HELD:], now[STOPPED], out=now[HELD:])
    return Costs(kind, first, tick_s, paid_s, psi)


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A slot on one count: cells that fit into it, seconds to their ends, cells that it does if more are left."""

    fits: int
    does: int
    cell_s: float
    pause_s: float
    ends_s: FloatArray


def _steps(kind: Kind, cells: int, tick_s: float, *, pause: bool) -> list[_Step]:
    pause_s = kind.pause_s if pause else 0.0
    steps = []
    for run_s in kind.runs_s:
        does = (tick_s - pause_s) * (cells / run_s)
        # Cells that end within the slot, with room for rounding, so that psi is never too large.
        fits = min(cells, int(does + _HAIR * (1 + pause_s / run_s) * cells + _ROUND))
        ends_s = np.minimum(tick_s, pause_s + np.arange(fits + 1) * (run_s / cells))
        steps.append(_Step(fits, min(fits + 1, math.ceil(does)), run_s / cells, pause_s, ends_s))
    return steps


def _run(step: _Step, following: FloatArray, tick_s: float, paid_s: float) -> FloatArray:
    """Costs of a slot on one count and what follows, by cell."""
    cost = np.empty_like(following)
    cost[: step.fits + 1] = step.ends_s
    begin = step.fits + 1
    np.add(following[begin - step.does : len(following) - step.does], tick_s, out=cost[begin:])
    cost += paid_s
    return cost


def _free(kind: Kind, cells: int) -> FloatArray:
    """Return the seconds to the end if units cost nothing, by row and cell."""
    rest = np.arange(cells + 1) / cells
    fastest = rest * kind.runs_s[-1]
    if kind.rows == 1:
        return fastest[None]
    running = np.minimum(rest * np.array(kind.runs_s)[:, None], kind.pause_s + fastest)
    return np.vstack([fastest, kind.pause_s + fastest, running])


def _state(kind: Kind, index: int) -> int:
    return HELD + index if kind.rows > 1 else FRESH
