"""The heuristics of async_sgd: plain functions from an instance to an allocation.

None means that there are fewer nodes than jobs, which proves infeasibility, or for ``fixed`` that its counts do not fit.
Ties go to the job that stands first. ``tick`` is called now and then; it may raise to stop.
"""

from collections.abc import Mapping
from operator import index

import numpy as np

from dlsched.allocation.counts import ids
from dlsched.allocation.heuristics import equal_share, increase_greedily, require_count
from dlsched.async_sgd.checker import batches_per_s, infeasible
from dlsched.async_sgd.costs import Levels, Step, cost_table, levels
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.family import Guarantee
from dlsched.core.limits import Tick, no_tick
from dlsched.core.ranges import LARGEST_COUNT

_SOON = 64  # nodes of a job whose throughput is computed at once
_AT_ONCE = 2**20  # steps of the recursion, of all jobs together
_ROUNDING = 1e-12  # of an efficiency
_LEAST_TURN = 2.0**-60  # below that of any count


def marginal(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Give node after node to the job whose time falls most by it: marginal gain, optimal here.

    1. Every job gets one node.
    2. Take the job with the largest time_j(n) - time_j(n + 1) that may have one more; stop when nodes or gains run out.
    3. Give it one; go to 2.

    Guarantee: optimal (Fox 1966). *Proof.* time_j = batches_j / X_j is convex (``queueing.throughput``), so a job's savings fall
    from step to step. A feasible allocation takes from every job its first steps, at most N - J of them, and saves
    their sum: never more than the N - J largest savings of all. Marginal gain takes just these, in falling order: when it
    takes a job's k-th step, the earlier ones, no smaller, are taken already.

    Cost: O(N log J). Source: Fox, Management Science 13 (1966). Lin et al. 2018: abstract only; the heuristic is our reading.
    """
    if infeasible(instance) is not None:
        return None
    table = cost_table(instance, tick=tick)
    chosen = increase_greedily(table, instance.nodes)
    assert chosen is not None
    return timed(instance, table.counts_by_id(ids(instance), chosen), tick)


def knee(instance: Instance, *, theta: float = 0.5, tick: Tick = no_tick) -> Allocation | None:
    """Give every job the most nodes at an efficiency e(n) = X(n) / (n X(1)) of at least ``theta``.

    Where these do not fit together, nodes go round in turn to the jobs that are below theirs, in file order. Nodes that
    would be used less efficiently stay idle. Efficiency falls with n, as X is concave.

    Guarantee: none. Cost: O(N log N). Source: Lin et al. 2018, abstract only; the rule is our reading.

    UsageError: ``theta`` is not in (0, 1].
    """
    if not 0 < theta <= 1:
        raise UsageError(where="theta", found=theta, allowed="a number in (0, 1]")
    if infeasible(instance) is not None:
        return None

    def turn(step: Step) -> FloatArray:
        """The earlier a step's turn comes, the more; nothing beyond the knee."""
        efficient = step.after >= theta * (1 - _ROUNDING) * step.nodes * step.single
        return np.where(efficient, 1.0 / step.nodes, 0.0)

    parts = levels(instance, turn, least=_LEAST_TURN, tick=tick)
    steps = Levels(*map(np.concatenate, zip(*parts, strict=True)))
    # steps in order of their turns, as many as there are nodes to spare
    worth = np.flatnonzero(steps.gains >= _LEAST_TURN)  # the first level has NaN
    first = worth[np.argsort(-steps.gains[worth], kind="stable")][: instance.nodes - len(instance.index)]
    return _allocated(instance, 1 + np.bincount(steps.jobs[first], minlength=len(instance.index)), tick)


def proportional(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Share the nodes in proportion to the seconds that the jobs would take on one node.

    Every job gets one; of the others floor(share), at most up to its ``max_nodes``; the rest is shared again in the
    same way among those that may have more, in the end one each to the largest shares. Jobs without work get no more.

    Guarantee: none. Cost: O(J^2) at worst, a few passes as a rule. Source: a baseline of ours.
    """
    if infeasible(instance) is not None:
        return None
    # scaled to at most 1, so that sums do not overflow
    times = np.array([job.batches * job.cycle_s for job in instance.jobs])
    times /= max(1.0, float(times.max()))
    nodes = np.ones(len(times), dtype=np.int64)
    room = instance.most_fitting - 1
    remaining = instance.nodes - len(times)
    while remaining and (open_ := np.flatnonzero((room > 0) & (times > 0))).size:
        shares = remaining * (times[open_] / times[open_].sum())
        more = np.minimum(np.floor(shares), room[open_]).astype(np.int64)
        if not more.any():
            more[np.argsort(-shares, kind="stable")[:remaining]] = 1
        more[int(np.argmax(more))] -= max(0, int(more.sum()) - remaining)  # of rounding
        nodes[open_] += more
        room[open_] -= more
        remaining -= int(more.sum())
    return _allocated(instance, nodes, tick)


def fixed(instance: Instance, *, nodes_per_job: int = 8, tick: Tick = no_tick) -> Allocation | None:
    """Give every job ``nodes_per_job`` nodes, or its ``max_nodes`` if these are fewer; None if they do not fit together.

    Guarantee: none. Cost: O(J). UsageError: ``nodes_per_job`` < 1.
    """
    require_count(nodes_per_job, "nodes_per_job")
    nodes = np.minimum(instance.most_nodes, min(index(nodes_per_job), LARGEST_COUNT))
    return _allocated(instance, nodes, tick) if sum(nodes.tolist()) <= instance.nodes else None


def equal(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Give every job floor(N / J) nodes, or its ``max_nodes`` if these are fewer. Guarantee: none. Cost: O(J)."""
    return fixed(instance, nodes_per_job=equal_share(instance), tick=tick)


def soon(instance: Instance) -> Allocation | None:
    """Give equal shares, as far as these are soon timed: the answer of a stopped method. Guarantee: none."""
    share = min(instance.nodes // len(instance.index), _SOON, _AT_ONCE // len(instance.index))
    return fixed(instance, nodes_per_job=max(1, share))


def timed(instance: Instance, counts: Mapping[str, int], tick: Tick) -> Allocation:
    """The allocation; its throughputs, which the checker needs, are computed here where a limit can stop that."""
    if tick is not no_tick:
        tick()
        for name in [name for name, count in counts.items() if count > _SOON]:
            tick()
            batches_per_s(instance.job(instance.index[name]), min(counts[name], instance.nodes), tick=tick)
    return Allocation(counts)


def _allocated(instance: Instance, nodes: IntArray, tick: Tick) -> Allocation:
    """The allocation of some counts by position, timed."""
    return timed(instance, dict(zip(ids(instance), nodes.tolist(), strict=True)), tick)


MARGINAL = Guarantee[Instance]("optimal (Fox 1966)", lambda instance: True, lambda instance, optimum: optimum)
