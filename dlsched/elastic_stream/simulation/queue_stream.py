"""Streams of policies that a loop serves (``queue_loop``, ``gain_loop``, ...) on columns; messages of simulations.

For streams without ticks whose policy is asked at arrivals and ends only. They equal the simulator's, bit for bit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.allocation.cost_table import CostTable
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import PolicyError
from dlsched.core.imports import compiled
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.simulation import gain_loop, knapsack_loop, turns_loop, weighing_loop
from dlsched.elastic_stream.simulation.present_jobs import (
    ATTAINED,
    BARREN,
    FALLING,
    FALLING_APART,
    FASTEST,
    STATIC,
    PresentJob,
    Queued,
)
from dlsched.elastic_stream.simulation.queue_loop import PARTS, Block, serve
from dlsched.elastic_stream.simulation.resizing import Pairs
from dlsched.elastic_stream.simulation.view import Policy, View


def how_far(instance: Instance, passed_s: float, to_come: int, present: int) -> str:
    """Describe the progress of a simulation."""
    jobs = len(instance.jobs)
    days, done = passed_s / 86400, jobs - to_come - present
    return f"{days:,.3g} days simulated, {done:,} of {jobs:,} jobs ended, {present:,} present"


def wrong(policy: object, now_s: float, found: str, allowed: str, *which: object) -> PolicyError:
    """The error for a policy's answer: when, what was found and is allowed, and for which job if any."""
    where = f"policy {type(policy).__name__} at {now_s!r} s" + "".join(f", job {job!r}" for job in which)
    return PolicyError(where=where, found=found, allowed=allowed)


def restarts_for_ever(policy: object, now_s: float, periods: int) -> PolicyError:
    """The error of a simulation in which no job makes progress."""
    found = f"{periods} periods in a row that ended in their pause"
    return wrong(policy, now_s, found, "periods in which jobs come on")


Keep = Callable[[int, float, float, int], None]
"""Function called with every period that ends: position of the job, start and end in seconds, units."""
KeepMany = Callable[[IntArray, FloatArray, FloatArray, IntArray], None]
"""Function called with many periods that ended: the same, each as an array."""

COMPILED_FROM = 50_000
"""Number of jobs from which Numba is used if installed; serving fewer takes less time than importing it."""
_KINDS = 4096  # of speeds remembered at once


_LONGEST = 4096  # useful counts of a law, of which each is a pair


class Rule(NamedTuple):
    """How a policy serves: a kind of key, a job's size, its key if keys are static; if it resizes jobs, to which counts.

    ``measure_s``: seconds for which a job holds a count, before it is resized, 0 for counts that are not measured. ``exactly``:
    the optimum of a cost table, for a policy that takes it where a loop cannot tell which is the one.
    """

    order: int
    size: Callable[[View, int], int]
    key: Callable[[View, int, int], float]
    counts: Callable[[View, int], Sequence[int]] | None = None
    doubles: bool = False
    measure_s: Callable[[View, int, int], float] = lambda view, job, count: 0.0
    exactly: Callable[[CostTable, int, Tick], IntArray | None] | None = None

    def serves(self, instance: Instance) -> bool:
        """Whether a loop serves the stream: not where policies refuse too many pairs of job and count."""
        if self.counts is None or self.doubles or self.order == FASTEST:
            return True
        return all(len(job.useful_counts(instance.units)) <= _LONGEST for job in instance.jobs if job.speed_law)


class QueueStream:
    """The simulation of a stream whose policy has such a rule, with the interface that ``simulator.run`` uses."""

    def __init__(self, instance: Instance, policy: Policy, rule: Rule, keep_many: KeepMany, tick: Tick) -> None:
        self._instance, self._policy, self._rule, self._keep_many, self._tick = instance, policy, rule, keep_many, tick
        self._passed_s, self._came, self._present = 0.0, 0, 0
        self.events = 0

    def progress(self) -> str:
        """Describe the progress in words."""
        to_come = len(self._instance.jobs) - self._came
        return how_far(self._instance, self._passed_s, to_come, self._present)

    def play(self, step: Callable[[str], None]) -> None:
        """Serve all jobs."""
        jobs, tick = self._instance.jobs, self._tick
        tick()
        order = self._rule.order
        if order == FALLING and (self._instance.weighted or self._rule.counts is not None):
            order = FALLING_APART
        arriving = sorted(range(len(jobs)), key=[job.arrival_s for job in jobs].__getitem__)
        first_s = jobs[arriving[0]].arrival_s
        plain: Callable[..., Iterator[tuple[Block, float, int, int, int]]] = serve
        parts: tuple[Callable[..., object], ...] = PARTS
        if order == FASTEST:
            plain, parts = weighing_loop.weigh, weighing_loop.PARTS
        elif self._rule.exactly is not None:
            plain, parts = knapsack_loop.optimise, knapsack_loop.PARTS
        elif self._rule.counts is not None:
            plain, parts = gain_loop.divide, gain_loop.PARTS
        elif order == ATTAINED:
            plain, parts = turns_loop.take_turns, turns_loop.PARTS
        columns, last = columns_of(self._instance, self._rule)
        loop = compiled(plain, *parts) if len(jobs) >= COMPILED_FROM else None
        if loop is None:
            turns = plain(list(map(Queued, *columns)), arriving, order, self._instance.units, last)
        else:
            fast = last if isinstance(last, int) else tuple(map(np.array, last))
            turns = loop(records(columns), np.array(arriving), order, self._instance.units, fast)
        del columns, arriving, last
        for ended, now, self._came, self._present, barren in turns:
            self._passed_s = now - first_s
            if barren == knapsack_loop.ASKING:
                self._answer(*ended)
                continue
            self._keep_many(*ended)
            if barren > BARREN:
                raise restarts_for_ever(self._policy, now, barren)
            if self._present or self._came < len(jobs):
                tick()
                step(self.progress())
        self.events = 2 * len(jobs)

    def _answer(self, starts: IntArray, costs: FloatArray, _: FloatArray, counts: IntArray) -> None:
        """Replace the first pair of every admitted job by the one that the policy chooses."""
        self._tick()
        assert self._rule.exactly is not None
        chosen = self._rule.exactly(CostTable(starts.copy(), counts, costs), self._instance.units, self._tick)
        assert chosen is not None
        starts[:-1] = chosen


def columns_of(instance: Instance, rule: Rule) -> tuple[list[Sequence[float]], int | Pairs]:
    """Columns of ``Queued`` with the data of all jobs; the number of different sizes, or the pairs of jobs that are resized."""
    jobs, run = instance.jobs, PresentJob(0, 0.0, 0.0, {}, 0.0)
    view = View(instance, dict.fromkeys(range(len(jobs)), run), False, no_tick)
    works = [job.work for job in jobs]
    sizes, times, keys, firsts, numbers = [], [], [], [], {0: 0}
    pairs: tuple[list[int], list[float], list[int], list[float]] = (
        [0],
        [0.0],
        [-1],
        [0.0],
    )  # never empty: Numba needs types
    # by speeds: size, its time, all times, first pair
    alike: dict[object, tuple[int, float, dict[int, float], int]] = {}
    for index, (job, work) in enumerate(zip(jobs, works, strict=True)):
        size, time_s, key, first = 0, 0.0, 0.0, 0
        if work:
            kind = job.epoch_time_s or (job.speed_law, job.max_gpus)
            if kind not in alike:
                if len(alike) >= _KINDS:
                    alike.clear()
                run.times = {}
                size = rule.size(view, index)
                alike[kind] = size, job.speed.epoch_time_s(size), run.times, len(pairs[0])
                if rule.counts is not None:
                    counts = rule.counts(view, index)
                    _add_pairs(pairs[2], counts, rule.doubles)
                    pairs[0].extend((*counts, 0))
                    pairs[1].extend((*(view.epoch_time_s(index, count) for count in counts), 0.0))
                    pairs[3].extend((*(rule.measure_s(view, index, count) for count in counts), 0.0))
            size, time_s, run.times, first = alike[kind]
            if rule.order in (STATIC, FASTEST):
                key = rule.key(view, index, size)
        sizes.append(size)
        times.append(time_s)
        keys.append(key)
        firsts.append(first)
    arrivals = [job.arrival_s for job in jobs]
    hidden = [job.epochs - work for job, work in zip(jobs, works, strict=True)]
    kinds = firsts if rule.counts else [numbers.setdefault(size, len(numbers)) for size in sizes]
    restarts, weights = [job.restart_s for job in jobs], [job.weight for job in jobs]
    return [
        arrivals,
        works,
        hidden,
        sizes,
        kinds,
        times,
        restarts,
        weights,
        keys,
        works,
    ], pairs if rule.counts else len(numbers)


def _add_pairs(following: list[int], counts: Sequence[int], doubles: bool) -> None:
    """Append where the steps of a job's counts lead."""
    place = {count: index for index, count in enumerate(counts, len(following))}
    nexts = (*(2 * count for count in counts), 0) if doubles else (*counts[1:], 0, 0)
    following.extend(place.get(count, -1) for count in nexts)


def records(columns: Sequence[Sequence[float]]) -> NDArray[np.void]:
    """The columns as an array of records."""
    names = fields(Queued)
    table = np.zeros(len(columns[0]), dtype=[(field.name, field.type) for field in names])
    for field, column in zip(names, columns, strict=False):
        table[field.name] = column
    return table
