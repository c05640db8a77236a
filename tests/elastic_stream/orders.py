"""Brute force over the orders of arrivals and completions of streams without ticks and restarts; knows the instance only."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import linprog


class Orders:
    """Depth first over the events: each next one is the next arrival, or the completion of a job that is present.

    Between two events a linear program divides the time among all divisions of the units. After the given events every job
    that is left needs at least its fastest run, so that orders are left out that cannot be better than ``best``.
    """

    def __init__(self, instance, best=math.inf):
        self.jobs = sorted((job for job in instance.jobs if job.work > 0), key=lambda job: job.arrival_s)
        self.rates = [
            {0: 0.0} | {units: 1 / (job.work * job.speed.epoch_time_s(units)) for units in job.counts(instance.units)}
            for job in self.jobs
        ]
        for rates in self.rates:
            for units in [units for units in rates if units > instance.units]:
                del rates[units]
        self.units, self.best, self.programs = instance.units, best, 0
        self.gaps = [
            float(Fraction(b.arrival_s) - Fraction(a.arrival_s)) for a, b in zip(self.jobs, self.jobs[1:], strict=False)
        ]

    def least(self):
        """Return the least weighted sum of flow times, or ``best`` if no order has less."""
        if self.jobs:
            self._extend((-1,))
        else:
            self.best = 0.0
        return self.best

    def _extend(self, events):
        arrived = events.count(-1)
        present = [job for job in range(arrived) if job not in events]
        value = self._program(events)
        if value >= self.best:
            return
        if arrived == len(self.jobs) and not present:
            self.best = value
            return
        for event in ([-1] if arrived < len(self.jobs) else []) + present:
            self._extend((*events, event))

    def _program(self, events):
        """Least weighted flow times of all streams that begin with these events, at least."""
        self.programs += 1
        number = len(self.jobs)
        columns, costs, gap = [], [], []
        for k in range(1, len(events)):
            arrived = events[:k].count(-1)
            present = [job for job in range(arrived) if job not in events[:k]]
            weight = sum(self.jobs[job].weight for job in present)
            for division in product(*(self.rates[job] for job in present)):
                if sum(division) <= self.units:
                    column = np.zeros(number)
                    for job, units in zip(present, division, strict=True):
                        column[job] = self.rates[job][units]
                    columns.append(column)
                    costs.append(weight)
                    gap.append(arrived - 1)
        for job in range(number):
            if job not in events:
                column = np.zeros(number)
                column[job] = max(self.rates[job].values())
                columns.append(column)
                costs.append(self.jobs[job].weight)
                gap.append(-1)
        matrix, gap = np.array(columns).T, np.array(gap)
        arrived = events.count(-1)
        elapsed = np.array([gap == k for k in range(number - 1)], dtype=float).reshape(number - 1, len(gap))
        equal = elapsed[: arrived - 1]
        # the events of the last window come before the next arrival
        rows, right = [-matrix], [-np.ones(number)]
        if arrived < number:
            rows.append(elapsed[arrived - 1 : arrived])
            right.append(np.array(self.gaps[arrived - 1 : arrived]))
        unit = np.mean([1 / max(rates.values()) for rates in self.rates])
        rows[0] = rows[0] * unit
        found = linprog(
            costs,
            A_ub=np.vstack(rows),
            b_ub=np.concatenate([right[0], *(each / unit for each in right[1:])]),
            A_eq=equal if len(equal) else None,
            b_eq=np.array(self.gaps[: arrived - 1]) / unit if len(equal) else None,
        )
        if found.status == 2:
            return math.inf
        assert found.status == 0, found.message
        return found.fun * unit
