"""A plan of a game as a policy: it plays on instances of the grid, in the simulator."""

import math
from fractions import Fraction
from itertools import product

from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.view import View
from dlsched.worst.competitive.grid import Cell, Grid, Plan

_HAIR = Fraction(1, 2**40)  # of a time or a work, by which floats may miss it


class Strategy:
    """A plan as a policy of the simulator; what it is shown has to be of the grid (UsageError)."""

    clairvoyant = False

    def __init__(self, grid: Grid, plan: Plan) -> None:
        self._grid, self._plan = grid, plan
        self._jobs: dict[int, tuple[int, int, int]] = {}
        self._cell: Cell | None = None
        self._entered = Fraction(0)

    def decide(self, view: View) -> dict[int, int]:
        """Follow the plan; asks to be woken when the allocation changes, a stage ends, or at the next moment of the grid."""
        grid, now = self._grid, Fraction(view.now_s)
        hair = now * _HAIR
        self._jobs |= {job: self._arrival(view, job) for job in view.arrived}
        window = sum(moment <= now + hair for moment in grid.releases) - 1
        order = sorted(self._jobs, key=lambda job: (self._jobs[job][: 3 if grid.clairvoyant else 2], job))
        done, needs = [], dict[int, Fraction]()
        for place, job in enumerate(order):
            _, table, work = self._jobs[job]
            ends = grid.ends(work)
            done.append(len(ends))
            if job in view:
                attained = ends[-1] * (1 - Fraction(view.left(job)) / Fraction(view.epochs(job)))
                done[-1] = sum(end <= attained + ends[-1] * _HAIR for end in ends[:-1])
                needs[place] = (ends[done[-1]] - attained) / grid.speeds[table][-1]
        cell = grid.cell(tuple(self._jobs[job] for job in order), window, done)
        if cell != self._cell:
            self._cell, self._entered = cell, now
        units, until = grid.turn(self._plan, cell, now - self._entered + hair, needs)
        until = [seconds + hair for seconds in until]
        for place, need in needs.items():
            table = self._jobs[order[place]][1]
            until += [need * grid.speeds[table][-1] / grid.speed(table, units[place])] if units[place] else []
        until += [moment - now for moment in grid.releases[window + 1 : window + 2]]
        if until:
            view.wake_at(float(now + min(until)))
        return {job: held for job, held in zip(order, units, strict=True) if job in view}

    def _arrival(self, view: View, job: int) -> tuple[int, int, int]:
        """Moment, table and work of a job, as the grid has them."""
        grid = self._grid
        for k, t, w in product(*(range(len(each)) for each in (grid.releases, grid.speeds, grid.works))):
            moment, table, work = grid.releases[k], grid.speeds[t], grid.works[w]
            times = [
                (view.epochs(job) * view.epoch_time_s(job, m) * float(speed), float(work))
                for m, speed in enumerate(table, 1)
            ]
            if all(math.isclose(*pair) for pair in [*times, (view.arrival_s(job), float(moment))]):
                return k, t, w
        raise UsageError(where="stream", found=f"job {job}, not of the grid", allowed="its moments, speeds and works")
