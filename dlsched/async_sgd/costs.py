"""Cost table of an instance: each job's seconds on the counts of nodes that an optimal allocation may need.

The more nodes a job has, the less it saves by one more (1 / X is convex, see ``queueing.throughput``). So gains are looked at
level by level: all jobs with 2 nodes, all with 3, ... The N - J steps of largest gain are the first steps of every job: when
N - J gains of at least p have been seen, no step of less than p is needed, and a job whose last step gained less is done. The
search evaluates about N log J steps, whatever ``max_nodes`` allows, and a block of some thousand more. The table also holds each
job's first step too many, so that the linear relaxation has a price at which no step beyond the table pays.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.instance import Instance
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.queueing.network import Networks
from dlsched.queueing.throughput import Recursion, iterate

LARGEST_TABLE = 2**24  # pairs of job and count; a table of this size takes two gigabytes

_BLOCK = 4096  # steps that are looked at together
_TOGETHER = 2**16  # jobs of a group
_FEW = 8  # networks for which a plain loop is faster than arrays


class Step(NamedTuple):
    """Some jobs that go from n - 1 to n nodes for some n; arrays that broadcast to the shape (counts, jobs)."""

    nodes: IntArray  # n
    batches: FloatArray
    single: FloatArray  # X(1)
    before: FloatArray  # X(n - 1)
    after: FloatArray  # X(n)


class Levels(NamedTuple):
    """Steps of jobs to counts, ascending for every job; all of shape (steps,). The first, to one node, gains NaN."""

    jobs: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    throughputs: FloatArray
    gains: FloatArray


def levels(
    instance: Instance, gain: Callable[[Step], FloatArray], *, least: float, tick: Tick = no_tick
) -> list[Levels]:
    """Walk through the counts while their gains may be among the N - J largest, and at least ``least``.

    The last step of every job, which falls below, is among those returned, in parts. ``gain``: what steps are worth.

    UsageError: more than ``LARGEST_TABLE`` steps.
    """
    networks, most, batches = instance.networks, instance.most_fitting, instance.batches
    spare = instance.nodes - len(most)
    waits = (networks.demands > 0).any(axis=0)
    if min(spare, sum((most[~waits & (batches > 0)] - 1).tolist())) > LARGEST_TABLE:
        raise _too_many()  # where nobody waits every further node saves something
    groups = [
        _Group(np.arange(start, min(start + _TOGETHER, len(most)), dtype=np.int32), networks, most, batches)
        for start in range(0, len(most), _TOGETHER)
    ]
    parts = [
        Levels(each.jobs, np.ones_like(each.jobs), each.single[0], np.full(len(each.jobs), np.nan)) for each in groups
    ]
    largest = _Largest(max(0, spare), least)
    steps, done = len(most), 1
    # Every round evaluates a block of further counts of the jobs whose last gain may still be among the largest.
    while groups := [each for each in groups if each.keep(largest.price, done)]:
        jobs, farthest = sum(len(each.jobs) for each in groups), max(int(each.most.max()) for each in groups)
        count = min(max(1, _BLOCK // jobs), farthest - done)
        found = [each.following(gain, largest.price, done, count) for each in groups]
        steps += sum(len(each.jobs) for each in found)
        if steps > LARGEST_TABLE:
            raise _too_many()
        parts += found
        largest.add(np.concatenate([each.gains for each in found]))
        done += count
        tick()
    return parts


def _too_many() -> UsageError:
    return UsageError(found=f"more than {LARGEST_TABLE} pairs of job and count", allowed="as many", limit="max_nodes")


class _Group:
    """Jobs whose steps are evaluated together, so few that their arrays stay in the cache."""

    def __init__(self, jobs: npt.NDArray[np.int32], networks: Networks, most: IntArray, batches: FloatArray) -> None:
        which = slice(jobs[0], jobs[-1] + 1)
        self.jobs, self.most, self._batches = jobs, most[which], batches[which]
        self._rates = _Rates(networks.keep(which))
        self.single = self._before = self._rates.following(1)
        self._gains = np.full(len(jobs), np.inf)  # of the last step, if the job came to it

    def keep(self, price: float, done: int) -> bool:
        """Go on with the jobs that have further counts than ``done`` and whose last gain is at least the price, if any."""
        more = (self._gains >= price) & (self.most > done)
        if not more.all():
            self._rates.keep(more)
            self.jobs, self.most, self._batches = self.jobs[more], self.most[more], self._batches[more]
            self.single, self._before, self._gains = self.single[:, more], self._before[:, more], self._gains[more]
        return len(self.jobs) > 0

    def following(self, gain: Callable[[Step], FloatArray], price: float, done: int, count: int) -> Levels:
        """Return the steps to the next ``count`` counts after ``done`` that are reached."""
        after = self._rates.following(count)
        nodes = np.arange(done + 1, done + count + 1)[:, np.newaxis]
        before = np.concatenate((self._before, after[:-1]))
        gains = gain(Step(nodes, self._batches, self.single, before, after))
        # A count is reached only by way of all smaller ones, each worth at least the price.
        reached = self.most >= nodes
        reached[1:] &= np.logical_and.accumulate(gains[:-1] >= price)
        self._before, self._gains = after[-1:], np.where(reached[-1], gains[-1], -np.inf)
        level, job = np.nonzero(reached)
        return Levels(self.jobs[job], nodes[level, 0].astype(np.int32), after[reached], gains[reached])


class _Rates:
    """Throughputs of networks as customers are added: by arrays for many networks, one by one for few."""

    def __init__(self, networks: Networks) -> None:
        self._recursion = Recursion(networks)
        self._single: list[Iterator[float]] = []
        self._alone()

    def following(self, count: int) -> FloatArray:
        """Return X for the next ``count`` customers, shape (count, networks)."""
        if self._single:
            return np.array([list(islice(values, count)) for values in self._single]).T
        return np.array([self._recursion.step() for _ in range(count)])

    def keep(self, which: BoolArray) -> None:
        """Go on with some of the networks only."""
        self._recursion.keep(which)
        if self._single:
            self._single = [values for values, kept in zip(self._single, which.tolist(), strict=True) if kept]
        else:
            self._alone()

    def _alone(self) -> None:
        """Go on one by one where few are left."""
        if len(self.networks) <= _FEW:
            done = self._recursion.customers
            each = [self.networks[index] for index in range(len(self.networks))]
            self._single = [islice(iterate(network), done, None) for network in each]

    @property
    def networks(self) -> Networks:
        """Networks that go on."""
        return self._recursion.networks


class _Largest:
    """The largest gains seen, as many as there are nodes to spare; ``price`` is at most the least of them."""

    def __init__(self, spare: int, least: float) -> None:
        self.price = least
        self._spare = spare
        self._seen: list[FloatArray] = []
        self._held = 0

    def add(self, gains: FloatArray) -> None:
        """Take further gains."""
        self._seen.append(gains[gains >= self.price])
        self._held += len(self._seen[-1])
        if self._spare and self._held > self._spare + self._spare // 4:
            # Only the N - J largest matter; the least of them is a lower bound on the final price.
            seen = np.concatenate(self._seen)
            kept = np.partition(seen, len(seen) - self._spare)[-self._spare :]
            self.price = float(kept.min())
            self._seen, self._held = [kept], self._spare


_LEAST_S = float(np.finfo(np.float64).tiny)  # least saving of a step that is worth a node


def cost_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate every count that some optimal allocation may need, up to the step that saves nothing; O(N log J) steps."""
    parts, jobs = levels(instance, _saving, least=_LEAST_S, tick=tick), len(instance.index)
    lengths = np.zeros(jobs, dtype=np.int64)
    for part in parts:
        lengths[part.jobs] = part.counts  # a job's steps come by rising count; the last one stays
    # the table goes job by job
    starts = np.concatenate(([0], np.cumsum(lengths)))
    counts, times_s = np.arange(1, starts[-1] + 1), np.empty(starts[-1])
    counts -= np.repeat(starts[:-1], lengths)
    for part in parts:
        times_s[starts[part.jobs] + part.counts - 1] = instance.batches[part.jobs] / part.throughputs
    return CostTable(starts, counts, times_s)


def complete_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate every allowed count that fits beside one node for every other job, useful or not."""

    def cost(job: int, counts: IntArray) -> FloatArray:
        throughputs = np.fromiter(islice(iterate(instance.networks[job]), len(counts)), dtype=np.float64)
        times_s: FloatArray = instance.batches[job] / throughputs
        return times_s

    counts = [range(1, instance.most(job) + 1) for job in range(len(instance.jobs))]
    return CostTable.from_counts(counts, cost, tick=tick)


def _saving(step: Step) -> FloatArray:
    """Seconds that a step saves."""
    return step.batches / step.before - step.batches / step.after
