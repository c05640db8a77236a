"""Brute force over orders of events and divisions of units, for streams without ticks; knows the instance only."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog


class Divisions:
    """All orders of groups of events; in each of them, depth first, all divisions of the units of one interval after another.

    A linear program finds the best lengths. After the given intervals it mixes divisions within each state, without pauses. At
    most ``most`` intervals, also several between two groups; J + W - 1 are enough for J jobs that arrive at W moments.
    """

    def __init__(self, instance, best=math.inf, most=None):
        self.jobs = [job for job in instance.jobs if job.work > 0]
        self.moments = sorted({job.arrival_s for job in self.jobs})
        self.gaps = [float(Fraction(b) - Fraction(a)) for a, b in zip(self.moments, self.moments[1:], strict=False)]
        self.seconds = [
            {n: job.work * job.speed.epoch_time_s(n) for n in job.counts(instance.units) if n <= instance.units}
            for job in self.jobs
        ]
        self.units, self.best, self.programs = instance.units, best, 0
        self.unit = np.mean([min(seconds.values()) for seconds in self.seconds]) if self.jobs else 1.0
        self.most = len(self.jobs) + len(self.gaps) if most is None else most

    def least(self):
        """Return the least weighted sum of flow times, or ``best`` if no stream has less."""
        if not self.jobs:
            self.best = 0.0
        for states in list(self._orders((), 0, frozenset())):
            if self._program(states, ()) < self.best:
                self._extend(states, ())
        return self.best

    def _orders(self, states, window, done):
        """All sequences of states: window, jobs present, jobs that complete at its end."""
        if len(done) == len(self.jobs):
            if states:
                yield states
            return
        present = [j for j, job in enumerate(self.jobs) if j not in done and job.arrival_s <= self.moments[window]]
        for size in range(len(present) + 1):
            for ends in combinations(present, size):
                longer = (*states, (window, present, ends))
                if size:
                    yield from self._orders(longer, window, done | set(ends))
                if window < len(self.gaps):
                    yield from self._orders(longer, window + 1, done | set(ends))

    def _divisions(self, present):
        for counts in product(*([0, *self.seconds[j]] for j in present)):
            if sum(counts) <= self.units:
                yield {j: n for j, n in zip(present, counts, strict=True) if n}

    def _extend(self, states, intervals):
        """``intervals``: (state, division), of the last state perhaps more to come."""
        at = intervals[-1][0] if intervals else 0
        left = self.most - len(intervals)
        for state in (at, at + 1) if intervals else (0,):
            if state == len(states) or left < len(states) - state:
                continue
            for division in self._divisions(states[state][1]):
                longer = (*intervals, (state, division))
                value = self._program(states, longer)
                if value < self.best:
                    self._extend(states, longer)
                    if state == len(states) - 1:
                        self.best = min(self.best, self._program(states, longer, complete=True))

    def _program(self, states, intervals, complete=False):
        """Least weighted flow times of all streams of this order that begin with these intervals, at least."""
        self.programs += 1
        works, columns, costs, windows = np.ones(len(self.jobs)), [], [], []
        ran, before = set(), {}

        def add(state, division):
            window, present, _ = states[state]
            columns.append([1 / self.seconds[j][division[j]] if j in division else 0.0 for j in range(len(self.jobs))])
            costs.append(sum(self.jobs[j].weight for j in present))
            windows.append(window)

        for state, division in intervals:
            add(state, division)
            for j, count in division.items():
                if j in ran and before.get(j) != count:
                    works[j] += self.jobs[j].restart_s / self.seconds[j][count]
            ran |= set(division)
            before = division
        first = intervals[-1][0] if intervals else 0
        for state in range(first, 0 if complete else len(states)):
            for division in self._divisions(states[state][1]):
                add(state, division)
        windows = np.array(windows)
        found = linprog(
            costs,
            A_ub=-np.array(columns).T * self.unit,
            b_ub=-works,
            A_eq=np.array([windows == v for v in range(len(self.gaps))], dtype=float) if self.gaps else None,
            b_eq=np.array(self.gaps) / self.unit if self.gaps else None,
        )
        if found.status == 2:
            return math.inf
        assert found.status == 0, found.message
        return found.fun * self.unit
