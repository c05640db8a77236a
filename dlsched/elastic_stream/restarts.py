r"""Exact search over orders of events and divisions of the units, for streams without ticks in which jobs pause when they restart.

*Intervals.* Between changes of units a stream is a sequence of intervals, each with a division of the units among the J jobs.
Keep the divisions and the order of events (arrivals, at W moments, and completions), and vary the lengths: the least cost is a
linear program with J + W - 1 rows (work of each job, seconds of each window between arrivals). So some best stream has at most
J + W - 1 intervals. An *order* is a sequence of groups of events that happen at a time, with a state before each: its window and
its jobs present. Without groups of several events each state has one interval; a group of g events allows g - 1 more in all.

*Search.* Orders by ascending bound, and in each depth first over the divisions of one interval after another. A node has the
first intervals, and with them the pauses paid: j pays f_j(n) rho_j of its work at each start on n but its first. The rest is
relaxed to seconds x on any division of any later state, at any time:

    minimise sum cost x,   sum s_j x >= 1 + pauses of j,   seconds of window w = l_w for all but the last.

Here s_j = f_j(n) = 1 / L_j(n) on the count that j holds, or if it never ran; else a period on n begins with a pause, and lasts no
longer than rho_j + L_j(n): it does at most s_j = 1 / (rho_j + L_j(n)) of the work a second.

*Bound.* For multipliers u >= 0 of the work, sum u_j (1 + pauses_j) + sum_w l_w min (cost - sum_j u_j s_j) over the columns of
window w, if no column of the last window gains more than it costs: else u is scaled down. It holds whatever found u.

*Rules.* In a best stream of fewest intervals no change of these two kinds is made, as to make it later or sooner does more work:
a job gives up units that it could keep beside the others of the next interval; it takes units that it could have had beside the
others of this interval, in which it was present. And a job runs when it completes.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray, dot
from dlsched.core.limits import Tick
from dlsched.elastic_stream.completions import ABOVE, CLOSED, DONE, ROUNDING, Found, Program, Proven, clock
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

MOST_JOBS = 5
"""Jobs with work up to which streams with restarts are searched."""
MOST_DIVISIONS = 5_000
"""Divisions of the units among all jobs up to which they are searched."""
MOST_PROGRAMS = 200_000
"""Linear programs after which the search gives up."""
_MOST_PIVOTS = 200  # of a linear program; what it has by then is a bound, too
_TINY = 1e-12  # relative size of what counts as none
_RAISED = 16.0  # factor by which the cost of undone work rises
_LARGEST = 2.0**40  # its largest multiple of the incumbent


def refusal(instance: Instance) -> str | None:
    """Why the search does not take an instance without ticks, or None."""
    jobs = [job for job in instance.jobs if job.work]
    if len(jobs) > MOST_JOBS:
        return f"{len(jobs)} jobs, and with restarts at most {MOST_JOBS} are searched"
    ways = [1] + [0] * instance.units
    for counts in (job.useful_times_s(instance.units) for job in jobs):
        ways = [sum(ways[held - n] for n in (0, *counts) if n <= held) for held in range(len(ways))]
    if sum(ways) > MOST_DIVISIONS:
        return f"{sum(ways):,} divisions of the units, and with restarts at most {MOST_DIVISIONS:,} are searched"
    return None


def search_restarts(instance: Instance, total_s: float, found: Found, proven: Proven, tick: Tick) -> bool:
    """Search for the best stream; return whether all orders were closed before ``MOST_PROGRAMS`` were solved.

    Parameters and errors as of ``completions.search_completions``; ``refusal`` must be None.
    """
    return _Search(Program(instance), total_s, found, proven, tick).run()


class _State(NamedTuple):
    """A window, the jobs present in it as bits, and the jobs that complete at its end."""

    window: int
    present: int
    completing: int


@dataclass(slots=True, eq=False)
class _Node:
    """The first intervals of an order (state, division), the first state that is open, what jobs did, a bound and multipliers.

    ``ran``: whether each job has run; ``work``: with the pauses paid; ``spare``: further intervals allowed.
    """

    order: "tuple[_State, ...]"
    intervals: tuple[tuple[int, int], ...]
    at: int
    ran: BoolArray
    work: FloatArray
    spare: int
    bound: float = 0.0
    multipliers: FloatArray | None = None
    lengths: FloatArray | None = None

    @property
    def inside(self) -> bool:
        """Whether the last interval is of the state that is open."""
        return bool(self.intervals) and self.intervals[-1][0] == self.at


class _Columns(NamedTuple):
    """Of a node, ascending by window: shares of work a second (J, N), costs a second, first column of each window."""

    speeds: FloatArray
    costs: FloatArray
    starts: IntArray


class _Search:
    """Depth first within each order; costs are in the program's units."""

    def __init__(self, program: Program, total_s: float, found: Found, proven: Proven, tick: Tick) -> None:
        self.program, self._found, self._proven, self._tick = program, found, proven, tick
        self._unit = program.power + program.weight
        self.incumbent = math.ldexp(total_s, -self._unit)
        self.least = math.inf  # bound of what is closed though it may hold a better stream, by rounding
        self.programs = 0
        self.jobs = len(program.jobs)
        self.pauses_s = [Fraction(program.instance.jobs[index].restart_s) for index in program.jobs]
        self._make_divisions()

    def _make_divisions(self) -> None:
        """All divisions: place of each job's units in its counts, from 1 on, or 0; units; speeds at once and after a pause."""
        program = self.program
        rows: list[tuple[tuple[int, ...], int]] = [((), program.instance.units)]
        for counts in program.counts:
            rows = [((*row, k), left - n) for row, left in rows for k, n in enumerate([0, *counts]) if n <= left]
        self.places: IntArray = np.array([row for row, _ in rows])
        self.free: IntArray = np.array([left for _, left in rows])
        units, speeds, slow, paused = [], [], [], []
        for job, (counts, fast) in enumerate(zip(program.counts, program.speeds, strict=True)):
            place, pause = self.places[:, job], math.ldexp(float(self.pauses_s[job]), -program.power)
            units.append(np.array([0, *counts])[place])
            speeds.append(np.append(0.0, fast)[place])
            slow.append(np.append(0.0, ABOVE / (1 / fast + pause))[place])
            paused.append(pause * speeds[-1])
        self.units: IntArray = np.array(units).T
        self.speeds, self.slow, self.paused = (np.array(each).T for each in (speeds, slow, paused))
        runs = (self.places > 0) @ (1 << np.arange(self.jobs))
        self.of = [np.flatnonzero(runs & ~present == 0) for present in range(1 << self.jobs)]
        self.cost = [
            float(sum(weight for job, weight in enumerate(program.weights.tolist()) if present >> job & 1))
            for present in range(1 << self.jobs)
        ]

    def run(self) -> bool:
        """Search every order that may have a better stream, the one of least bound first."""
        roots: list[_Node] = []
        for order in self._orders():
            root = _Node(
                order,
                (),
                0,
                np.zeros(self.jobs, dtype=bool),
                np.ones(self.jobs),
                self.jobs + self.program.windows - 1 - len(order),
            )
            if self._bounded(root, [each.multipliers for each in reversed(roots[-4:])]):
                roots.append(root)
        roots.sort(key=lambda node: node.bound)
        for root in roots:
            self._prove(root.bound)
            if root.bound >= self._cutoff:
                break
            waiting = [root]
            while waiting:
                if self.programs >= MOST_PROGRAMS:
                    return False
                node = waiting.pop()
                if node.bound < self._cutoff:
                    waiting += reversed(self._below(node))
        self._prove(self._cutoff)
        return True

    @property
    def _cutoff(self) -> float:
        return self.incumbent * (1 - CLOSED)

    def _prove(self, bound: float) -> None:
        self._proven(math.ldexp(min(bound, self.least, self._cutoff), self._unit))

    def _orders(self) -> "list[tuple[_State, ...]]":
        """All orders of events; of jobs that are alike the first completes first, or both at a time."""
        program, complete = self.program, []
        records = [program.instance.jobs[index].model_copy(update={"id": "any"}) for index in program.jobs]
        alike = [(i, j) for i, j in program.pairs if records[i] == records[j]]
        waiting: list[tuple[tuple[_State, ...], int, int]] = [((), 0, (1 << self.jobs) - 1)]
        while waiting:
            order, window, unfinished = waiting.pop()
            if not unfinished:
                complete.append(order)
                continue
            present = [j for j in range(self.jobs) if unfinished >> j & 1 and program.first[j] <= window]
            for size in range(len(present) + 1):
                for group in combinations(present, size):
                    completing = sum(1 << job for job in group)
                    left = unfinished & ~completing
                    if any(left >> i & 1 and not left >> j & 1 for i, j in alike):
                        continue
                    state = _State(window, sum(1 << job for job in present), completing)
                    if size:
                        waiting.append(((*order, state), window, left))
                    if window < program.windows - 1:
                        waiting.append(((*order, state), window + 1, left))
        return complete

    def _below(self, node: _Node) -> list[_Node]:
        """The nodes with one more interval, by ascending bound; a complete stream is offered."""
        if node.at == len(node.order):
            self._offer(node)
            return []
        state = node.order[node.at]
        divisions = self.of[state.present]
        if node.intervals:  # the rules of the module's docstring
            before, held = node.intervals[-1]
            both = (node.order[before].present & state.present) >> np.arange(self.jobs) & 1
            units, had = self.units[divisions], self.units[held]
            keeps = (units < had) & (self.free[divisions, None] + units >= had)
            sooner = (units > had) & (self.free[held] + had >= units)
            divisions = divisions[~((keeps | sooner) & (both == 1)).any(axis=1)]
        below: list[_Node] = []
        completing = state.completing >> np.arange(self.jobs) & 1 == 1
        for division in divisions.tolist():
            places = self.places[division]
            work = node.work
            if node.intervals:
                held = node.intervals[-1][1]
                if node.inside and division == held:
                    continue
                work = work + np.where(node.ran & (places != self.places[held]), self.paused[division], 0.0)
            intervals, ran = (*node.intervals, (node.at, division)), node.ran | (places > 0)
            for spare in (node.spare, node.spare - 1):
                at = node.at + (spare == node.spare)
                if spare < 0 or (at > node.at and (completing & (places == 0)).any()):
                    continue
                child = _Node(node.order, intervals, at, ran, work, spare, node.bound)
                known = [node.multipliers, *(each.multipliers for each in below[-2:])]
                if self._bounded(child, known):
                    below.append(child)
        return sorted(below, key=lambda child: child.bound)

    def _columns(self, node: _Node) -> _Columns:
        """The columns of the intervals, then all divisions of the states that are open."""
        speeds = self.speeds
        if node.intervals:
            same = ~node.ran | (self.places == self.places[node.intervals[-1][1]])
            speeds = np.where(same, speeds, self.slow)
        states = [node.order[at] for at, _ in node.intervals] + list(node.order[node.at :])
        number = len(node.intervals)
        open_ = [self.of[state.present] for state in states[number:]]
        sizes = [1] * number + [len(each) for each in open_]
        matrix = (
            np.concatenate(
                [self.speeds[[division for _, division in node.intervals]], *(speeds[each] for each in open_)]
            )
            if number
            else np.concatenate([speeds[each] for each in open_])
        )
        costs = np.repeat([self.cost[state.present] for state in states], sizes)
        windows = np.repeat([state.window for state in states], sizes)
        return _Columns(matrix.T, costs, np.searchsorted(windows, np.arange(self.program.windows)))

    def _bounded(self, node: _Node, known: "list[FloatArray | None]") -> bool:
        """Whether neither known multipliers nor those of the node's linear program close it; sets its bound."""
        columns = self._columns(node)
        for multipliers in known:
            if multipliers is not None and self._bound(node, columns, multipliers) >= self._cutoff:
                return False
        price = 4 * self.incumbent
        while True:
            self._tick()
            self.programs += 1
            multipliers, lengths, undone = self._program(node, columns, price)
            bound = self._bound(node, columns, multipliers)
            if bound >= self._cutoff:
                return False
            if node.multipliers is None or bound > node.bound:
                node.multipliers, node.bound = multipliers, max(bound, node.bound)
            node.lengths = lengths
            if undone <= _TINY or price >= _LARGEST * self.incumbent:
                return True
            price *= _RAISED

    def _bound(self, node: _Node, columns: _Columns, multipliers: FloatArray) -> float:
        """The bound of multipliers, rounded safely."""
        gains = dot(multipliers, columns.speeds)
        most = gains + ROUNDING * (columns.costs + gains)
        starts = columns.starts.tolist()
        last = slice(starts[-1], None)
        limited = most[last] > columns.costs[last]
        scale = 1.0
        if limited.any():
            scale = float(np.min(columns.costs[last][limited] / most[last][limited])) * (1 - ROUNDING)
        left = columns.costs - scale * most
        parts = [scale * value for value in (multipliers * node.work).tolist()]
        parts += [
            length * float(left[start:end].min())
            for length, (start, end) in zip(self.program.lengths.tolist(), pairwise(starts), strict=True)
        ]
        return math.fsum(parts) - ROUNDING * math.fsum(map(abs, parts))

    def _program(self, node: _Node, columns: _Columns, price: float) -> tuple[FloatArray, FloatArray, float]:
        """Multipliers of the work, seconds of the intervals, and what is undone, by the simplex method on a dense tableau.

        Work and seconds that are lacking cost ``price``. Elementwise arithmetic gives the same on all processors.
        """
        jobs, number = columns.speeds.shape
        rows = jobs + len(self.program.lengths)
        table = np.zeros((rows + 1, number + jobs + 1))
        table[:jobs, :number] = columns.speeds
        table[range(jobs), range(number, number + jobs)] = -1.0
        for row, (start, end) in enumerate(pairwise(columns.starts.tolist()), start=jobs):
            table[row, start:end] = 1.0
        table[:-1, -1] = [*node.work.tolist(), *self.program.lengths.tolist()]
        table[-1, :number] = columns.costs
        for row in range(rows):
            table[-1] -= price * table[row]
        basis = list(range(-rows, 0))
        for _ in range(_MOST_PIVOTS):
            entering = int(np.argmin(table[-1, :-1]))
            if table[-1, entering] >= -_TINY * price:
                break
            column = table[:-1, entering].copy()
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = np.where(column > 1e-11, table[:-1, -1] / column, np.inf)
            leaving = int(np.argmin(ratios))
            if ratios[leaving] == np.inf:
                break
            basis[leaving] = entering
            table[leaving] /= column[leaving]
            pivot = table[leaving].copy()
            table -= np.append(column, table[-1, entering])[:, None] * pivot
            table[leaving] = pivot
        multipliers = np.maximum(table[-1, number : number + jobs], 0.0)
        values = np.zeros(number)
        undone = 0.0
        for row, each in enumerate(basis):
            if 0 <= each < number:
                values[each] = max(0.0, table[row, -1])
            elif each < 0:
                undone = max(undone, float(table[row, -1]))
        return multipliers, values[: len(node.intervals)], undone

    def _offer(self, node: _Node) -> None:
        """Make a stream of a complete node, and keep its cost if it is better."""
        total, stream = _Walk(self, node).follow()
        cost = math.ldexp(float(total), -self._unit)
        if cost < self.incumbent and self._found(stream):
            self.incumbent = cost
        if node.bound < self._cutoff:
            self.least = min(self.least, node.bound)


class _Walk:
    """The stream of a complete node: its intervals one after another, each until its events; times are floats, as fractions."""

    def __init__(self, search: _Search, node: _Node) -> None:
        self.search, self.node, program = search, node, search.program
        self.records = [program.instance.jobs[index] for index in program.jobs]
        self.left = [Fraction(job.work) for job in self.records]
        self.ends = [Fraction(job.arrival_s) for job in self.records]
        self.pause = [Fraction(0)] * len(self.records)
        self.periods: list[list[tuple[Fraction, Fraction, int]]] = [[] for _ in self.records]

    def follow(self) -> tuple[Fraction, Stream]:
        """Weighted flow times in seconds, and the stream."""
        node, program = self.node, self.search.program
        assert node.lengths is not None
        now = program.starts[0]
        for number, (at, division) in enumerate(node.intervals):
            state, units = node.order[at], self.search.units[division].tolist()
            if number + 1 < len(node.intervals) and node.intervals[number + 1][0] == at:
                until = clock(now + Fraction(math.ldexp(float(node.lengths[number]), program.power)))
            else:
                moves_on = at + 1 < len(node.order) and node.order[at + 1].window > state.window
                until = max(now, program.starts[state.window + 1]) if moves_on else now
                for job, held in enumerate(units):
                    if state.completing >> job & 1 and self.left[job]:
                        until = max(until, clock(now + self._needed(job, held, now)))
            for job, held in enumerate(units):
                if held and self.left[job] and until > now:
                    self._serve(job, held, now, until)
            now = until
        total = Fraction(0)
        for job, end in zip(self.records, self.ends, strict=True):
            total += Fraction(job.weight) * (end - Fraction(job.arrival_s))
        return total, Stream(
            {
                job.id: [(float(start), float(end), units) for start, end, units in periods]
                for job, periods in zip(self.records, self.periods, strict=True)
            }
        )

    def _continues(self, job: int, units: int, now: Fraction) -> bool:
        return bool(self.periods[job]) and self.periods[job][-1][1:] == (now, units)

    def _needed(self, job: int, units: int, now: Fraction) -> Fraction:
        """Seconds until a job is done that holds units from now on, with what is left of its pause."""
        if not self._continues(job, units, now):
            self.pause[job] = self.search.pauses_s[job] if self.periods[job] else Fraction(0)
        return self.pause[job] + self.left[job] * Fraction(self.records[job].speed.epoch_time_s(units))

    def _serve(self, job: int, units: int, now: Fraction, until: Fraction) -> None:
        """Let a job hold units until then, or until it is done."""
        needed = self._needed(job, units, now)
        since = self.periods[job].pop()[0] if self._continues(job, units, now) else now
        end = min(until, clock(now + needed))
        self.periods[job].append((since, end, units))
        self.pause[job], pause = max(Fraction(0), self.pause[job] - (end - now)), self.pause[job]
        lacks = needed - (end - now)
        if lacks <= DONE * (end - since):
            self.left[job], self.ends[job] = Fraction(0), now + needed
        elif end - now > pause:
            self.left[job] = lacks / Fraction(self.records[job].speed.epoch_time_s(units))
