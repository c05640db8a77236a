r"""Exact search over orders of events and divisions of the units, for streams without ticks whose jobs pause when they restart.

An *order* is a sequence of groups of events (arrivals at W moments, completions of J jobs), with a state before each: its window
between arrivals, and its jobs. Some best stream has at most J + W - 1 intervals between changes of units, so a group of g events
allows g - 1 more in all. In each order the search decides on the division of one interval after another, depth first. At each
start on n but its first, job j loses f_j(n) restart_j of its work. What follows may spend seconds x on any division of any later
state: minimise sum cost x, where sum s_j x >= 1 + what j lost, and window w, but for the last, lasts l_w. Here s_j = 1 / L_j(n)
on the count n that j holds, or where it never ran, else 1 / (restart_j + L_j(n)): at most that is done in a period with a pause.

*Bound.* For any u >= 0, sum u_j (1 + what j lost) + sum_w l_w min (cost - sum_j u_j s_j) over the divisions in window w, if none
in the last window gains more than it costs: else u is scaled down. Proofs, also of the rules: docs/elastic_stream.md.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray, dot
from dlsched.core.limits import Tick
from dlsched.elastic_stream.any_time import completions
from dlsched.elastic_stream.any_time.completions import ROUNDING, TINY, Found, Program, Proven, Searching
from dlsched.elastic_stream.any_time.walk import Walk
from dlsched.elastic_stream.instance import Instance

MOST_JOBS = 5
"""Jobs with work up to which streams with restarts are searched."""
MOST_DIVISIONS = 5_000
"""Divisions of the units among all jobs up to which they are searched."""
MOST_PROGRAMS = 200_000
"""Linear programs after which the search gives up."""
_MOST_PIVOTS = 200  # of a linear program; what it has by then is a bound, too
_LEAST = 1e-11  # share of work a second that counts in a pivot

Columns = tuple[FloatArray, FloatArray, list[int]]  # speeds (J, N), costs, first column of every window
Order = tuple[tuple[int, int], ...]  # state of the program, jobs that complete at its end as bits


def refusal(instance: Instance) -> str | None:
    """Why the search does not take an instance without ticks, or None."""
    jobs = [job for job in instance.jobs if job.work]
    if len(jobs) > MOST_JOBS:
        return f"{len(jobs)} jobs, and with restarts at most {MOST_JOBS} are searched"
    ways = [1] * (instance.units + 1)  # by units: divisions of at most so many
    for job in jobs:
        counts = [0, *job.useful_times_s(instance.units)]
        ways = [sum(ways[units - n] for n in counts if n <= units) for units in range(len(ways))]
    if ways[-1] > MOST_DIVISIONS:
        return f"{ways[-1]:,} divisions of the units, and with restarts at most {MOST_DIVISIONS:,} are searched"
    return None


def search_restarts(instance: Instance, total_s: float, found: Found, proven: Proven, tick: Tick) -> bool:
    """Search for the best stream; return whether all orders were closed before ``MOST_PROGRAMS`` were solved.

    Parameters are those of ``completions.search_completions``; ``refusal`` must be None.
    """
    return _Search(Program(instance), total_s, found, proven, tick).run()


class _Node(NamedTuple):
    """The first intervals, (place in the order, division); of its bound's program the multipliers, and seconds of intervals."""

    order: Order
    intervals: tuple[tuple[int, int], ...]
    at: int  # first place of the order that may have further intervals
    spare: int  # intervals allowed beyond one for every place
    ran: BoolArray
    work: FloatArray  # with what was lost
    bound: float
    multipliers: FloatArray
    seconds: Sequence[float]


class _Search(Searching):
    """Depth first within each order, orders of least bound first."""

    def __init__(self, program: Program, total_s: float, found: Found, proven: Proven, tick: Tick) -> None:
        super().__init__(program, total_s, found, proven, tick)
        self.least = math.inf  # bound of complete streams that, by rounding, do not attain it
        # The divisions by job: units, shares of the work a second at once and after a pause, and what a pause loses of it.
        units, rows = program.instance.units, list[list[int]]([[]])
        for counts in program.counts:
            rows = [[*row, n] for row in rows for n in [0, *counts] if sum(row) + n <= units]
        self.units: IntArray = np.array(rows)
        self.free = units - self.units.sum(axis=1)
        self.speeds, self.slow, self.lost = np.zeros((3, *self.units.shape))
        for job, (index, counts, speeds) in enumerate(zip(program.jobs, program.counts, program.speeds, strict=True)):
            places = np.searchsorted([0, *counts], self.units[:, job])
            pause = math.ldexp(program.instance.jobs[index].restart_s, -program.power)
            self.speeds[:, job] = np.append(0.0, speeds)[places]
            self.slow[:, job] = np.append(0.0, completions.ABOVE / (1 / speeds + pause))[places]
            self.lost[:, job] = pause * self.speeds[:, job]
        # of each state
        self.divisions = [np.flatnonzero(~self.units[:, ~present].any(axis=1)) for present in program.present]

    def run(self) -> bool:
        """Close every order, or solve too many programs."""
        jobs, roots = len(self.program.jobs), list[_Node]()
        for order in self._orders():
            spare = jobs + len(self.program.lengths) - len(order)
            root = _Node(order, (), 0, spare, np.zeros(jobs, dtype=bool), np.ones(jobs), 0.0, np.zeros(jobs), ())
            roots += self._solved(root, roots[-4:])
        roots.sort(key=lambda node: node.bound)
        for root in roots:
            self._prove(min(root.bound, self.least, self._cutoff))
            waiting = [root]
            while waiting:
                if self.programs >= MOST_PROGRAMS:
                    return False
                node = waiting.pop()
                if node.bound >= self._cutoff:
                    continue
                if node.at == len(node.order):
                    self._offer(node)
                else:
                    waiting += sorted(self._below(node), key=lambda node: -node.bound)
        self._prove(min(self.least, self._cutoff))
        return True

    def _orders(self) -> Iterator[Order]:
        """All orders; of jobs that are alike the first completes first, or both at a time."""
        program, numbers = self.program, range(len(self.program.jobs))
        records = [program.instance.jobs[index].model_copy(update={"id": "any"}) for index in program.jobs]
        alike = [(1 << i, 1 << j) for i, j in program.pairs if records[i] == records[j]]
        states = {
            pair: at for at, pair in enumerate(zip(program.window.tolist(), program.members.tolist(), strict=True))
        }
        waiting: list[tuple[Order, int, int]] = [((), 0, (1 << len(numbers)) - 1)]
        while waiting:
            order, window, unfinished = waiting.pop()
            if not unfinished:
                yield order
                continue
            state = states[window, unfinished]
            present = [1 << job for job in numbers if program.present[state, job]]
            for completing in (sum(group) for size in range(len(present) + 1) for group in combinations(present, size)):
                left = unfinished & ~completing
                if not any(left & i and not left & j for i, j in alike):
                    following = range(window + (not completing), min(window + 2, program.windows))
                    waiting += [((*order, (state, completing)), each, left) for each in following]

    def _below(self, node: _Node) -> list[_Node]:
        """The nodes with one more interval that the incumbent does not close."""
        state, completing = node.order[node.at]
        completes = completing >> np.arange(len(self.program.jobs)) & 1 == 1
        divisions, units = self.divisions[state], self.units[self.divisions[state]]
        lost = np.zeros(units.shape)
        if node.intervals:
            before, held = node.intervals[-1]
            had, present = self.units[held], self.program.present[state] & self.program.present[node.order[before][0]]
            less = (units < had) & (units + self.free[divisions, None] >= had)
            more = (units > had) & (had + self.free[held] >= units)
            kept = ~((less | more) & present).any(axis=1) & ((divisions != held) | (before != node.at))
            lost = np.where(node.ran & (units != had), self.lost[divisions], 0.0)[kept]
            divisions, units = divisions[kept], units[kept]
        solved: list[_Node] = []
        for division, runs, loses in zip(divisions.tolist(), units > 0, lost, strict=True):
            child = node._replace(
                intervals=(*node.intervals, (node.at, division)), ran=node.ran | runs, work=node.work + loses
            )
            if runs[completes].all():
                solved += self._solved(child._replace(at=node.at + 1), [node, *solved[-2:]])
            if node.spare:
                solved += self._solved(child._replace(spare=node.spare - 1), [node, *solved[-2:]])
        return solved

    def _solved(self, node: _Node, known: Sequence[_Node]) -> list[_Node]:
        """The node with its bound, or none if this, or the multipliers of nodes that are known, close it."""
        program, places = self.program, [at for at, _ in node.intervals] + list(range(node.at, len(node.order)))
        # The columns, ascending by window: the divisions of the intervals, then those of the states that are left.
        speeds = self.speeds
        taken = np.array([division for _, division in node.intervals], dtype=np.int64)
        if node.intervals:
            speeds = np.where(~node.ran | (self.units == self.units[taken[-1]]), speeds, self.slow)
        states = [node.order[at][0] for at in places]
        open_ = [self.divisions[state] for state in states[len(taken) :]]
        sizes = [1] * len(taken) + [len(each) for each in open_]
        matrix = np.concatenate([self.speeds[taken], *(speeds[each] for each in open_)]).T
        costs = np.repeat(program.cost[states], sizes)
        starts = np.searchsorted(np.repeat(program.window[states], sizes), np.arange(program.windows)).tolist()
        columns = matrix, costs, starts
        if any(self._bound(node, columns, each.multipliers) >= self._cutoff for each in known):
            return []
        price = 4 * self.incumbent
        while True:
            self._tick()
            self.programs += 1
            multipliers, seconds, undone = self._program(node, columns, price)
            bound = self._bound(node, columns, multipliers)
            if bound >= self._cutoff:
                return []
            if undone <= TINY or price >= completions.LARGEST * self.incumbent:
                return [node._replace(bound=bound, multipliers=multipliers, seconds=seconds[: len(taken)].tolist())]
            price *= completions.RAISED

    def _bound(self, node: _Node, columns: Columns, multipliers: FloatArray) -> float:
        """The bound of multipliers, rounded safely."""
        matrix, costs, starts = columns
        gains = dot(multipliers, matrix)
        most = gains + ROUNDING * (costs + gains)
        ratios = costs[starts[-1] :] / np.maximum(most[starts[-1] :], costs[starts[-1] :])
        scale = float(ratios.min()) * (1 - ROUNDING)
        left = costs - scale * most
        parts = [scale * value for value in (multipliers * node.work).tolist()]
        for length, (start, end) in zip(self.program.lengths.tolist(), pairwise(starts), strict=True):
            parts.append(length * float(left[start:end].min()))
        return math.fsum(parts) - ROUNDING * math.fsum(map(abs, parts))

    def _program(self, node: _Node, columns: Columns, price: float) -> tuple[FloatArray, FloatArray, float]:
        """Multipliers of the work, seconds of the columns, and the most that a row lacks, which costs ``price``.

        Simplex method on a dense tableau; arithmetic by elements gives the same on all processors.
        """
        matrix, costs, starts = columns
        jobs, number = matrix.shape
        right = np.concatenate([node.work, self.program.lengths])
        table = np.zeros((len(right) + 1, number + jobs + 1))
        table[:jobs, :number] = matrix
        table[range(jobs), range(number, number + jobs)] = -1.0
        for row, (start, end) in enumerate(pairwise(starts), start=jobs):
            table[row, start:end] = 1.0
        table[:-1, -1], table[-1, :number] = right, costs
        for row in table[:-1]:
            table[-1] -= price * row
        basis = np.full(len(right), number + jobs)
        for _ in range(_MOST_PIVOTS):
            entering = int(np.argmin(table[-1, :-1]))
            column = table[:, entering].copy()
            rises = column[:-1] > _LEAST
            if column[-1] >= -TINY * price or not rises.any():
                break
            leaving = int(np.argmin(np.where(rises, table[:-1, -1], np.inf) / np.where(rises, column[:-1], 1.0)))
            pivot = table[leaving] / column[leaving]
            table -= column[:, None] * pivot
            table[leaving], basis[leaving] = pivot, entering
        values = np.zeros(number + jobs + 1)
        np.maximum.at(values, basis, table[:-1, -1])
        return np.maximum(table[-1, number:-1], 0.0), values[:number], float(values[-1])

    def _offer(self, node: _Node) -> None:
        """Make a stream of a complete node, each interval until its events, and keep its cost if it is better."""
        program, walk = self.program, Walk(self.program.instance, self.program.jobs)
        ends = [following[0] != interval[0] for interval, following in pairwise([*node.intervals, (-1, -1)])]
        for (at, division), ended, seconds in zip(node.intervals, ends, node.seconds, strict=True):
            lasts, units = Fraction(math.ldexp(seconds, program.power)), self.units[division].tolist()
            if ended:
                completing = node.order[at][1]
                moments = program.starts[: program.window[(*node.order, node.order[at])[at + 1][0]] + 1]
                needed = [walk.needed(job, held) for job, held in enumerate(units) if completing >> job & 1]
                lasts = max(moments[-1] - walk.now, *needed, Fraction(0))
            walk.serve(units, lasts)
        self._keep(*walk.finished())
        if node.bound < self._cutoff:
            self.least = min(self.least, node.bound)
