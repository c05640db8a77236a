r"""Bounds for malleable jobs that change units at any time and at no cost, by branches over who completes when, in whole numbers.

Minimise sum_j omega_j (C_j - r_j); a job is present from r_j to C_j, holds n of its counts at any time or none, all jobs at most
G units, and does 1 / L_j(n) of its work a second on n. Window w lasts from one release to the next, l_w seconds, the last one for
ever. A state (w, U) has the jobs U that have not completed, those still to arrive among them; it costs their weights a second,
of those present.

*Multipliers.* For all u_j, beta_ij, gamma_jv >= 0 the sum is at least

    sum u + sum beta + sum_w min over U of (l_w (cost - gain) - sum over the present j of U of gamma_jw),
    gain = max over counts n_j that fit of sum_j theta_j / L_j(n_j),
    theta_j = u_j + sum over i of U, i != j, of beta_ij - sum over v < w of gamma_jv,

if in the last window, which has no gamma, no gain exceeds its cost. For every job does all its work (u); of two jobs, what is
done of either while the other is unfinished adds up to all of one, at least (beta); and as much of window v as the part of j's
work that is done later, j is unfinished (gamma). Multipliers that break the condition are scaled down until they keep it.

*Branches.* Of two jobs one completes first, or both at a time; a job completes by a release, or not before. Each takes states
away. So the least of the leaves' bounds holds, if every node has both branches. These branches need no other one:

- a job completes no sooner than alone on its fastest count;
- of jobs i and j of the same counts, L_i = rho L_j, rho <= 1, r_i <= r_j and omega_i >= omega_j (the first in order where all
  are equal): i completes first. If j does, the two have equally much left at some time, in seconds on any count, and exchange
  their units from then on. This costs no more, and takes away pairs that are out of an order that all these pairs agree with.

*Arithmetic.* Numbers are whole multiples of common units; 1 / L_j(n) is rounded up by less than 2^-64 of itself.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise, permutations, product
from typing import NamedTuple, TypeAlias

from dlsched.certificates.time_prices import common_unit, scaled

MOST_CELLS = 1_000_000_000
"""Nodes x states x counts x units: a tree of the search of that size takes seconds to verify, a hostile one minutes."""
_MOST_JOBS = 12
_BITS = 64

State: TypeAlias = tuple[int, int]  # window, unfinished jobs as bits


class MalleableJob(NamedTuple):
    """r_j; omega_j; L_j(n) by count, each less than those of smaller counts."""

    release: Fraction
    weight: Fraction
    seconds: Mapping[int, Fraction]


class Pair(NamedTuple):
    """One job completes no later than another."""

    first: int
    other: int

    def keeps(self, state: State) -> bool:
        """Whether a state is one of this branch."""
        return not state[1] >> self.first & 1 or bool(state[1] >> self.other & 1)


class Moment(NamedTuple):
    """A job completes by the start of a window, or no sooner."""

    job: int
    window: int
    by: bool

    def keeps(self, state: State) -> bool:
        """Whether a state is one of this branch."""
        window, unfinished = state
        if self.by:
            return window < self.window or not unfinished >> self.job & 1
        return window >= self.window or bool(unfinished >> self.job & 1)


Branch: TypeAlias = Pair | Moment


class Leaf(NamedTuple):
    """Multipliers: u by job; beta by pair (0, 1), (0, 2), ...; gamma by job, then by window from its first to the last but one.

    Without any all are 0.
    """

    multipliers: Sequence[float]


def too_many(jobs: int, counts: int, units: int, nodes: int) -> str | None:
    """Why a tree of so many nodes is not verified, or None; ``counts`` are those of all jobs together."""
    if jobs <= _MOST_JOBS and nodes * (2 << jobs) * counts * units <= MOST_CELLS:
        return None
    return f"{nodes:,} branches of {jobs} jobs with {counts:,} counts on {units:,} units are too many to verify"


def order_value(
    jobs: Sequence[MalleableJob], units: int, total_weight: Fraction, tree: Sequence[Branch | Leaf]
) -> Fraction:
    """Return the bound that a tree proves on sum_j omega_j (C_j - r_j) over ``total_weight``, the unit of its multipliers.

    ``tree``: nodes in preorder; a branch is followed by its own tree, then by that of the other one. Ask ``too_many`` first.
    ValueError: a tree that ends before all of its branches do, or goes on; multipliers that are no numbers >= 0, or too many.
    """
    program = _Program(jobs, units, total_weight)
    waiting, bounds = [program.states], list[Fraction]()
    for node in tree:
        if not waiting:
            raise ValueError("the tree of branches goes on after its last leaf")
        states = waiting.pop()
        if isinstance(node, Leaf):
            bounds += program.values(states, node.multipliers)
        else:
            other = Pair(node.other, node.first) if isinstance(node, Pair) else node._replace(by=not node.by)
            waiting += [[state for state in states if branch.keeps(state)] for branch in (other, node)]
    if waiting or not bounds:
        raise ValueError("the tree of branches ends before its last leaf")
    return min(bounds)


class _Program:
    """The states that every tree begins with, and what they cost and gain in whole units."""

    def __init__(self, jobs: Sequence[MalleableJob], units: int, total_weight: Fraction) -> None:
        self.jobs, self.units, self.total_weight = jobs, units, total_weight
        starts = sorted({job.release for job in jobs})
        self.first = [starts.index(job.release) for job in jobs]
        self.last = len(starts) - 1
        lengths = [end - start for start, end in pairwise(starts)]
        self.second = math.lcm(*(length.denominator for length in lengths))
        self.lengths = [int(length * self.second) for length in lengths]
        # So many bits behind the point that the slowest speed has more than _BITS.
        slowest = max(seconds for job in jobs for seconds in job.seconds.values())
        self.bits = _BITS + int(slowest).bit_length()
        self.speeds = [
            [(count, math.ceil(2**self.bits / seconds)) for count, seconds in job.seconds.items()] for job in jobs
        ]
        kept: list[Branch] = [Pair(i, j) for i, j in permutations(range(len(jobs)), 2) if self._goes_first(i, j)]
        for number, job in enumerate(jobs):
            soonest = job.release + min(job.seconds.values())
            kept += [
                Moment(number, w, by=False) for w in range(self.first[number] + 1, len(starts)) if starts[w] <= soonest
            ]
        coming = [sum(1 << job for job, first in enumerate(self.first) if first > w) for w in range(len(starts))]
        self.states = [
            state
            for state in product(range(len(starts)), range(1 << len(jobs)))
            if state[1] & coming[state[0]] == coming[state[0]] and all(branch.keeps(state) for branch in kept)
        ]

    def _goes_first(self, i: int, j: int) -> bool:
        """Whether job i may be taken to complete no later than j: the lemma of the module's docstring."""
        one, two = self.jobs[i], self.jobs[j]
        if one.seconds.keys() != two.seconds.keys():
            return False
        ratios = {seconds / two.seconds[count] for count, seconds in one.seconds.items()}
        if len(ratios) > 1 or max(ratios) > 1 or one.release > two.release or one.weight < two.weight:
            return False
        return i < j or max(ratios) < 1 or one.release < two.release or one.weight > two.weight

    def values(self, states: Sequence[State], multipliers: Sequence[float]) -> list[Fraction]:
        """The bound of a leaf, in units of its multipliers; nothing where a window has no state, as it has no schedule."""
        if len({window for window, _ in states}) <= self.last:
            return []
        jobs = range(len(self.jobs))
        pairs = list(combinations(jobs, 2))
        later = [(job, window) for job in jobs for window in range(self.first[job], self.last)]
        number = len(jobs) + len(pairs) + len(later)
        if not all(0 <= each < math.inf for each in multipliers) or len(multipliers) not in (0, number):
            raise ValueError(f"a leaf must have {number} multipliers, numbers >= 0")
        # Money is counted in the finest unit of multipliers and weights.
        dear = common_unit(multipliers)
        unit = math.lcm(*(job.weight.denominator for job in self.jobs), self.total_weight.denominator)
        total = int(self.total_weight * unit)
        weights = [int(job.weight * unit) * dear << self.bits for job in self.jobs]
        worth = [each * total for each in scaled(multipliers, dear) or [0] * number]
        beta = [[0] * len(jobs) for _ in jobs]
        for (i, j), value in zip(pairs, worth[len(jobs) :], strict=False):
            beta[i][j] = beta[j][i] = value
        gamma = [[0] * (self.last + 1) for _ in jobs]
        for (job, window), value in zip(later, worth[len(jobs) + len(pairs) :], strict=True):
            gamma[job][window] = value
        before = [list(accumulate(row, initial=0)) for row in gamma]
        # cost, gain and gammas of every state
        figures: list[list[tuple[int, int, int]]] = [[] for _ in range(self.last + 1)]
        for window, unfinished in states:
            members = [job for job in jobs if unfinished >> job & 1]
            present = [job for job in members if self.first[job] <= window]
            thetas = {job: worth[job] + sum(beta[job][i] for i in members) - before[job][window] for job in present}
            cost, paid = sum(weights[job] for job in present), sum(gamma[job][window] for job in present)
            figures[window].append((cost, self._gain(thetas), paid))
        scale = min((Fraction(cost, gain) for cost, gain, _ in figures[-1] if gain > cost), default=Fraction(1))
        down, whole, second = scale.numerator, scale.denominator, self.second << self.bits
        value = down * second * sum(worth[: len(jobs) + len(pairs)])
        for length, row in zip(self.lengths, figures, strict=False):
            value += min(length * (whole * cost - down * gain) - down * second * paid for cost, gain, paid in row)
        return [Fraction(value, whole * second * dear * total)]

    def _gain(self, thetas: Mapping[int, int]) -> int:
        """The largest gain of counts that fit: a knapsack."""
        best = [0] * (self.units + 1)
        for job, theta in thetas.items():
            if theta <= 0:
                continue
            without = best.copy()
            for count, speed in self.speeds[job]:
                gain = speed * theta
                for held in range(count, self.units + 1):
                    best[held] = max(best[held], without[held - count] + gain)
        return best[-1]
