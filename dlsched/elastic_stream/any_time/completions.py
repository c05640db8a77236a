r"""Exact search over the order in which jobs complete, for streams without ticks; restarts are left out.

*Program.* A window w lasts from one arrival to the next, l_w seconds; the last one is open. A state (w, U) has the jobs U that
have not completed, those still to arrive among them. Its configurations are whole units n_j of the jobs present, sum n_j <= C.
As jobs change units at any time and at no cost, only the seconds x matter that a stream spends on each configuration of each
state. Job j does s_j = f_j(n_j) / work_j of its work a second, and a state costs the weights of its jobs present a second.

===========  ==================================================================================  ==========
row          what                                                                                multiplier
===========  ==================================================================================  ==========
``work``     sum s_j x >= 1                                                                      u_j
``pair``     work of i while j is unfinished and of j while i is, in parts of the jobs, >= 1      beta_ij
``later``    part of window v in which j is unfinished >= part of its work done after v          gamma_jv
``window``   seconds of window w = l_w, for all but the last                                     g_w
===========  ==================================================================================  ==========

*Branching.* Where the states of a solution can be put in order of time such that no job returns, it is a stream: in this order,
no job completes later than it leaves the states. Else i returns, so that a state with i and without j meets one with j and
without i in a window (branch: i completes first, or j), or a state of a later window has a job that an earlier one lacks
(branch: it completes by the start of the later window, or not before). A branch takes states away, nothing else.

*Bound.* That of ``certificates.completion_orders``, which also says why every stream keeps the rows, in floats. The largest gain
of a state is a knapsack; configurations with a negative reduced cost enter the program (column generation).

*Restarts* are left out: then the bound holds, and a stream without a pause that attains it is best. Of two jobs of equal speeds
one may be taken to complete first: the lemma of ``certificates.completion_orders``.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count, pairwise
from typing import NamedTuple

import numpy as np

from dlsched.certificates.kinds import BranchData
from dlsched.core.arrays import BoolArray, FloatArray, IntArray, dot
from dlsched.core.limits import Tick
from dlsched.elastic_stream.any_time.walk import Walk
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.lp import linear_program

MOST_JOBS = 10
"""Jobs with work up to which orders of completion are searched."""
MOST_PROGRAMS = 10_000
"""Linear programs after which the search gives up."""
_MOST_CELLS = 50_000_000  # of the knapsacks of all states
_CLOSED = 1e-10  # relative difference from the incumbent at which a node is closed
_ADDED = 64  # most configurations that enter at a time
_NEAR = 0.3  # part of the gap up to which reduced costs pass a configuration on to the next nodes
RAISED = 16.0  # factor by which the cost of undone work rises
LARGEST = 2.0**40  # its largest multiple of the incumbent
ABOVE = 1 + 2.0**-49  # speeds are rounded up
ROUNDING = 2.0**-44  # of sums of some hundred terms
TINY = 1e-12  # relative size of seconds that count as none

Found = Callable[[Stream], object]
Proven = Callable[[float], object]
Branch = tuple[str, int, int]


def refusal(instance: Instance) -> str | None:
    """Why the search does not take an instance without ticks, or None."""
    jobs = [job for job in instance.jobs if job.work]
    if len(jobs) > MOST_JOBS:
        return f"{len(jobs)} jobs, and without ticks at most {MOST_JOBS} are searched"
    counts = sum(len(job.useful_counts(instance.units)) for job in jobs)
    if (2 ** (len(jobs) + 1) - 2) * counts * instance.units > _MOST_CELLS:
        return f"{counts} counts of {len(jobs)} jobs on {instance.units} units are too many to search without ticks"
    return None


def search_completions(instance: Instance, total_s: float, found: Found, proven: Proven, tick: Tick) -> "Ended":
    """Search for the best stream, until all branches are closed or ``MOST_PROGRAMS`` are solved; ``refusal`` must be None.

    ``total_s``: weighted flow times of a stream that is known. ``found`` gets streams, some better than it, and returns whether
    they are; ``proven`` gets lower bounds on the weighted flow times, ascending; ``tick`` is called before every linear program.
    Numbers are double precision, with bounds rounded safely. SolverError: HiGHS fails.
    """
    return _Search(Program(instance), total_s, found, proven, tick).run()


class Ended(NamedTuple):
    """Whether the search closed all branches, and the tree of a ``CompletionsCertificate``, of the last bound."""

    closed: bool
    tree: tuple[BranchData, ...]


@dataclass(slots=True, eq=False)
class _Node:
    """States that are left, a bound and its multipliers, seconds by column, the columns to begin with below; the branches."""

    states: BoolArray
    bound: float
    multipliers: FloatArray
    seconds: dict[int, float]
    columns: list[int]
    below: "tuple[Branch, _Node, _Node] | None" = None


class Program:
    """The states of an instance, the columns (configurations of states) met so far, and the rows of the linear program."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.jobs = [index for index, job in enumerate(instance.jobs) if job.work]
        records = [instance.jobs[index] for index in self.jobs]
        moments = sorted({job.arrival_s for job in records})
        self.first = [moments.index(job.arrival_s) for job in records]  # window in which each job arrives
        self.windows = len(moments)
        self.starts = [Fraction(moment) for moment in moments]
        # Seconds and weights are counted in powers of two near those of the jobs.
        self.counts = [list(job.useful_times_s(instance.units)) for job in records]
        seconds = [
            [job.work * job.speed.epoch_time_s(units) for units in at]
            for job, at in zip(records, self.counts, strict=True)
        ]
        self.power = math.frexp(max(least[-1] for least in seconds))[1]
        self.weight = math.frexp(max(job.weight for job in records))[1]
        self.weights = np.ldexp(np.array([job.weight for job in records]), -self.weight)
        self.speeds = [ABOVE / np.ldexp(np.array(each), -self.power) for each in seconds]
        self.lengths = np.array([math.ldexp(float(b - a), -self.power) for a, b in pairwise(self.starts)])
        self._make_states()
        self.pairs = list(combinations(range(len(records)), 2))
        self.later = [(j, v) for j in range(len(records)) for v in range(self.first[j], self.windows - 1)]
        # at least so much: works, pairs, later
        self.right = np.array([1.0] * (len(records) + len(self.pairs)) + [0.0] * len(self.later))
        self.index: dict[tuple[int, tuple[int, ...]], int] = {}
        self.columns: list[FloatArray] = []
        self.of_column: list[tuple[int, tuple[int, ...]]] = []

    def _make_states(self) -> None:
        """The states by window: who has not completed, who is present, and the cost a second."""
        jobs = np.arange(len(self.jobs))
        first = np.array(self.first)
        window, members = [], []
        for number in range(self.windows):
            future = sum(1 << job for job in jobs.tolist() if first[job] > number)
            kept = [mask for mask in range(1 << len(jobs)) if mask & future == future]
            window += [number] * len(kept)
            members += kept
        self.window: IntArray = np.array(window, dtype=np.int64)
        self.members: IntArray = np.array(members, dtype=np.int64)
        self.unfinished: BoolArray = (self.members[:, None] >> jobs & 1).astype(bool)
        self.present: BoolArray = self.unfinished & (first <= self.window[:, None])
        self.cost: FloatArray = dot(self.present.astype(float), self.weights)

    def root(self) -> BoolArray:
        """All states but those in which a job completes before another that can go first, or sooner than alone on all units."""
        left = np.ones(len(self.window), dtype=bool)
        records = [self.instance.jobs[index] for index in self.jobs]
        times = [job.useful_times_s(self.instance.units) for job in records]
        for i, j in ((i, j) for pair in self.pairs for i, j in (pair, pair[::-1])):
            a, b = records[i], records[j]
            first = (a.arrival_s, a.work, -a.weight), (b.arrival_s, b.work, -b.weight)
            if (
                times[i] == times[j]
                and all(x <= y for x, y in zip(*first, strict=True))
                and (i < j or first[0] != first[1])
            ):
                left &= self.kept(("pair", i, j))
        for j, record in enumerate(records):
            soonest = Fraction(record.arrival_s) + Fraction(record.work) * Fraction(list(times[j].values())[-1])
            for w in range(self.first[j] + 1, self.windows):
                if self.starts[w] <= soonest:
                    left &= self.kept(("after", j, w))
        return left

    def kept(self, branch: Branch) -> BoolArray:
        """States of a branch: ``pair``: the first job completes no later; ``by``, ``after``: by the start of a window, or not."""
        kind, job, other = branch
        if kind == "pair":
            return ~(self.unfinished[:, job] & ~self.unfinished[:, other])
        if kind == "by":
            return ~(self.unfinished[:, job] & (self.window >= other))
        return self.unfinished[:, job] | (self.window >= other)

    def column(self, state: int, configuration: tuple[int, ...]) -> int:
        """Number of the column of a state and, for each job, the place of its units in its counts from 1 on, or 0."""
        key = state, configuration
        if key not in self.index:
            speed = [float(self.speeds[j][k - 1]) if k else 0.0 for j, k in enumerate(configuration)]
            unfinished, present, window = self.unfinished[state], self.present[state], self.window[state]
            pairs = [speed[i] * unfinished[j] + speed[j] * unfinished[i] for i, j in self.pairs]
            later = [
                float(present[j] / self.lengths[v]) if window == v else -speed[j] * (window > v) for j, v in self.later
            ]
            self.index[key] = len(self.columns)
            self.columns.append(np.array([*speed, *pairs, *later, *(window == np.arange(self.windows - 1))]))
            self.of_column.append(key)
        return self.index[key]

    def priced(self, multipliers: FloatArray, states: IntArray) -> tuple[float, FloatArray, FloatArray, list[IntArray]]:
        """A lower bound from multipliers of the rows, and these as they prove it, scaled down where some state asks for it.

        Then reduced costs of states a second, and choices of their knapsacks by job.
        """
        number, many, multipliers = len(self.jobs), len(self.pairs), np.maximum(multipliers, 0.0)
        work, pair, later = np.split(multipliers, [number, number + many])
        beta, gamma = np.zeros((number, number)), np.zeros((self.windows, number))
        for (i, j), value in zip(self.pairs, pair.tolist(), strict=True):
            beta[i, j] = beta[j, i] = value
        for (j, v), value in zip(self.later, later.tolist(), strict=True):
            gamma[v, j] = value
        before = np.cumsum(gamma, axis=0) - gamma
        window, present = self.window[states], self.present[states]
        worth = np.where(present, work + dot(self.unfinished[states].astype(float), beta) - before[window], 0.0)
        gained, choices = self._knapsacks(worth)
        gained = gained + (present * gamma[window]).sum(axis=1) / np.append(self.lengths, 1.0)[window]
        cost, last = self.cost[states], window == self.windows - 1
        # What rounding may hide of each reduced cost: a part of the sums of all sizes that enter it.
        fastest = np.array([speeds[-1] for speeds in self.speeds])
        sizes = (present * (fastest * (work + beta.sum(axis=1) + gamma.sum(axis=0)))).sum(axis=1)
        error = ROUNDING * (sizes + cost + gained)
        most = gained + error
        limited = last & (most > 0)
        scale = float(min(1.0, np.min(cost[limited] / most[limited], initial=1.0))) * (1 - ROUNDING)
        parts = [
            float(np.min((cost - scale * most)[window == w])) * length for w, length in enumerate(self.lengths.tolist())
        ]
        parts += [scale * value for value in (*work.tolist(), *pair.tolist())]
        bound = math.fsum(parts) - ROUNDING * math.fsum(map(abs, parts))
        return bound, scale * multipliers, cost - gained, choices

    def _knapsacks(self, worth: FloatArray) -> tuple[FloatArray, list[IntArray]]:
        """Largest worth of a configuration of every state, shape (S,), and by job the choice at every number of units."""
        units = self.instance.units
        best = np.zeros((len(worth), units + 1))
        choices = []
        for job, (counts, speeds) in enumerate(zip(self.counts, self.speeds, strict=True)):
            without, choice = best, np.zeros(best.shape, dtype=np.int64)
            best = without.copy()
            for place, (held, speed) in enumerate(zip(counts, speeds.tolist(), strict=True), start=1):
                value = without[:, : units + 1 - held] + (worth[:, job] * speed)[:, None]
                better = value > best[:, held:]
                best[:, held:] = np.where(better, value, best[:, held:])
                choice[:, held:] = np.where(better, place, choice[:, held:])
            choices.append(choice)
        return best[:, -1], choices

    def configuration(self, choices: Sequence[IntArray], row: int) -> tuple[int, ...]:
        """The configuration that the knapsack of one state chose."""
        left, places = self.instance.units, [0] * len(self.jobs)
        for job in reversed(range(len(self.jobs))):
            places[job] = place = int(choices[job][row, left])
            left -= self.counts[job][place - 1] if place else 0
        return tuple(places)


class Searching:
    """What a search keeps: the incumbent's cost in the program's units, and programs solved."""

    def __init__(self, program: Program, total_s: float, found: Found, proven: Proven, tick: Tick) -> None:
        self.program, self._found, self._proven, self._tick = program, found, proven, tick
        self._unit = program.power + program.weight
        self.incumbent = math.ldexp(total_s, -self._unit)
        self.programs = 0
        self._proved = 0.0

    @property
    def _cutoff(self) -> float:
        return self.incumbent * (1 - _CLOSED)

    def _prove(self, bound: float) -> None:
        # rounding may give a part less than the whole had
        self._proved = min(max(bound, self._proved), self.incumbent)
        self._proven(math.ldexp(self._proved, self._unit))

    def _keep(self, total: Fraction, stream: Stream) -> None:
        """Keep the cost of a stream, weighted seconds, if it is better."""
        cost = math.ldexp(float(total), -self._unit)
        if cost < self.incumbent and self._found(stream):
            self.incumbent = cost


class _Search(Searching):
    """Best-first search over branches."""

    def run(self) -> Ended:
        """Branch until every node is closed, or too many programs are solved."""
        number = count()
        least = math.inf  # bound of all closed nodes
        root = self._solve(self.program.root())
        waiting = [(root.bound, next(number), root)]
        while waiting and self.programs < MOST_PROGRAMS:
            bound, _, node = heapq.heappop(waiting)
            if bound >= self._cutoff:
                least, waiting = min(least, bound), []
                break
            self._prove(bound)
            branches = self._branches(node)
            if branches is None:  # a stream without pauses attains the bound, up to rounding
                least, waiting = min(least, bound), []
                break
            one, two = [self._solve(node.states & self.program.kept(branch), node) for branch in branches]
            node.below = branches[0], one, two
            for below in (one, two):
                if below.bound < self._cutoff:
                    heapq.heappush(waiting, (below.bound, next(number), below))
                else:
                    least = min(least, below.bound)
        least = min([least, *(node.bound for _, _, node in waiting)])
        self._prove(least)
        return Ended(not waiting, tuple(self._tree(root, least)))

    def _tree(self, root: _Node, bound: float) -> Iterator[BranchData]:
        """The tree that proves a bound, in preorder, with multipliers in seconds of the mean flow time."""
        program = self.program
        records = [program.instance.jobs[index] for index in program.jobs]
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node.below is None or node.bound >= bound:
                used = np.ldexp(node.multipliers, self._unit) / program.instance.total_weight
                yield {"multipliers": tuple(used.tolist())}
                continue
            (kind, job, other), one, two = node.below
            waiting += [two, one]
            if kind == "pair":
                yield {"first": records[job].id, "then": records[other].id}
            else:
                yield {"first": records[job].id, "by_s": float(program.starts[other])}

    def _solve(self, states: BoolArray, above: _Node | None = None) -> _Node:
        """Solve the program of a node by column generation, until its bound closes it or no configuration is missing."""
        program = self.program
        node, columns = _Node(states, 0.0, np.zeros(0), {}, []), list[int]()
        if above is not None:
            node.bound, node.multipliers, columns = above.bound, above.multipliers, above.columns
        rows = np.flatnonzero(states)
        jobs, covered = len(program.jobs), len(program.right)
        if len(np.unique(program.window[rows])) < program.windows:
            node.bound = math.inf
            return node
        wait = [
            program.column(int(rows[program.window[rows] == w][-1]), (0,) * jobs) for w in range(program.windows - 1)
        ]
        active = dict.fromkeys([*(each for each in columns if states[program.of_column[each][0]]), *wait])
        undone = np.zeros((jobs, len(program.right) + program.windows - 1))
        for job in range(jobs):
            undone[job, job] = 1.0
            undone[job, [jobs + at for at, pair in enumerate(program.pairs) if job in pair]] = 1.0
        price = 2 * self.incumbent
        while True:
            self._tick()
            self.programs += 1
            numbers = list(active)
            matrix = np.array([*(program.columns[each] for each in numbers), *undone]).T
            costs = np.array([program.cost[program.of_column[each][0]] for each in numbers] + [price] * jobs)
            answer = linear_program(
                costs,
                a_ub=-matrix[:covered],
                b_ub=-program.right,
                a_eq=matrix[covered:],
                b_eq=program.lengths,
                vertex=True,
                isolated=False,
            )
            value, multipliers, reduced, choices = program.priced(-answer.upper, rows)
            if value > node.bound:
                node.bound, node.multipliers = value, multipliers
            if node.bound >= self._cutoff:
                return node
            # Configurations whose reduced cost is below what their window brings enter, those that lack most first.
            brings = np.append(answer.equal, 0.0)[program.window[rows]]
            lacks = brings - reduced
            entering = [
                program.column(int(rows[row]), program.configuration(choices, row))
                for row in np.argsort(-lacks, kind="stable")[:_ADDED].tolist()
                if lacks[row] > TINY * self.incumbent
            ]
            if any(each not in active for each in entering) and value < answer.objective * (1 - TINY):
                active |= dict.fromkeys(entering)
                continue
            if answer.x[-jobs:].max() > TINY and price < LARGEST * self.incumbent:
                price *= RAISED
                continue
            break
        left = costs - dot(matrix.T, np.concatenate([-answer.upper, answer.equal]))
        near = _NEAR * (self.incumbent - node.bound)
        node.columns = [each for each, over in zip(numbers, left.tolist(), strict=False) if over <= near]
        least = TINY * float(answer.x.sum())
        node.seconds = {each: value for each, value in zip(numbers, answer.x.tolist(), strict=False) if value > least}
        self._keep(*_follow(program, node.seconds))
        return node

    def _branches(self, node: _Node) -> tuple[Branch, Branch] | None:
        """The two branches that part the states most; None if they have an order in which no job returns."""
        program = self.program
        seconds: dict[int, float] = {}
        for column, value in node.seconds.items():
            state = program.of_column[column][0]
            seconds[state] = seconds.get(state, 0.0) + value
        parted: dict[Branch, float] = {}
        for first, second in combinations(sorted(seconds), 2):  # ascending by window
            window, following = int(program.window[first]), int(program.window[second])
            both = min(seconds[first], seconds[second])
            gone = np.flatnonzero(program.unfinished[second] & ~program.unfinished[first]).tolist()
            if window == following:
                kept = np.flatnonzero(program.unfinished[first] & ~program.unfinished[second]).tolist()
                found = [
                    (("pair", min(i, j), max(i, j)), min(program.weights[i], program.weights[j]))
                    for i in gone
                    for j in kept
                ]
            else:
                found = [(("by", j, w), program.weights[j]) for j in gone for w in range(window + 1, following + 1)]
            for branch, weight in found:
                parted[branch] = parted.get(branch, 0.0) + both * float(weight)
        if not parted:
            return None
        kind, job, other = best = max(parted, key=lambda branch: (parted[branch], branch))
        return best, (kind, other, job) if kind == "pair" else ("after", job, other)


def _follow(program: Program, seconds: dict[int, float]) -> tuple[Fraction, Stream]:
    """Weighted flow times, and the stream that spends seconds on columns; states of fewer jobs come later in their window.

    A job that has more work than planned is served longer.
    """
    walk = Walk(program.instance, program.jobs)

    def place(column: int) -> tuple[int, int, int, tuple[int, ...]]:
        state, configuration = program.of_column[column]
        return int(program.window[state]), -int(program.unfinished[state].sum()), state, configuration

    def finish(job: int) -> None:
        division = [0] * len(program.jobs)
        division[job] = program.counts[job][-1]
        walk.serve(division, walk.needed(job, division[job]))

    order = sorted(seconds, key=place)
    for at, column in enumerate(order):
        state, configuration = program.of_column[column]
        walk.now = max(walk.now, program.starts[program.window[state]])
        division = [counts[k - 1] if k else 0 for counts, k in zip(program.counts, configuration, strict=True)]
        walk.serve(division, Fraction(math.ldexp(seconds[column], program.power)))
        # Who leaves here with a hair of work left is served alone until it is done.
        coming = {job for later in order[at + 1 :] for job, place in enumerate(program.of_column[later][1]) if place}
        for job, left in enumerate(walk.remaining):
            if left > 0 and job not in coming and program.first[job] <= program.window[state]:
                finish(job)
    for job in sorted(range(len(program.jobs)), key=lambda job: walk.needed(job, program.counts[job][-1])):
        if walk.remaining[job] > 0:
            walk.now = max(walk.now, program.starts[program.first[job]])
            finish(job)
    return walk.finished()
