"""Units of several resources and jobs that want them: a market of rising prices, exchanges of one unit, maximum flow.

*Ascending market*: buyers want one unit of several resources each, and bid until they have one they want most. The prices
are those of Demange, Gale and Sotomayor (1986).

===================  =============================================================================
code                 mathematics
===================  =============================================================================
``values``           v_ig, what a unit of resource g is worth to one unit buyer of job i, an integer
``allowed``          whether resource g can serve job i
``sizes``            n_i, unit buyers of job i
``stock``            s_g
``prices, counts``   p_g, of every unit of resource g; how many buyers of job i have one
===================  =============================================================================

Job i demands the resources g that maximise v_ig - p_g. *Multiplicities change nothing*: the buyers of a job have one demand
set, and units of a resource have equal prices at the start; if equal, they are in the same demand sets, so alternating paths
reach all or none of them, and they are raised together.

*Exchanges*: every job says by how much its cost changes when it gives up a unit of one kind and gets one of another; kind G
means none.

*Transportation*: jobs need units of resources which not all of them can use. There is a solution if and only if no set of
jobs needs more than the resources that can serve one of them have (Hall 1935).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import Counts
from dlsched.core.arrays import dot
from dlsched.core.limits import Tick, no_tick

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """Final prices, shape (G,); ``counts``, shape (S, G)."""

    counts: Counts
    prices: tuple[int, ...]


def ascending_market(
    values: Counts,
    allowed: npt.NDArray[np.bool_],
    sizes: Counts | Sequence[int],
    stock: Counts,
    *,
    tick: Tick = no_tick,
) -> Market | None:
    """Raise prices from 0 until every buyer has a unit of its demand set; None when the resources cannot serve all.

    While a buyer has none, take the units that alternating paths reach from it. If one is free, augment; else the
    jobs reached demand nothing but the reached units and have one buyer too many (a set of over-demanded units), so
    raise the prices of these by 1. None is returned when those jobs can use no other unit: Hall's condition fails.

    *Many raises at once*: the jobs reached demand only reached units, all dearer by the same, so the next raise is of
    the same set until one of them demands another resource: after as many as the least difference of surplus. *A path is
    used as often as it can be*: it stays one until its buyers, its free units or what a job gives up run out.

    Optimal: sum x_ig v_ig is the largest of all assignments of n_i units to each job i. In the dual, minimise
    sum_i n_i u_i + sum_g s_g p_g with u_i + p_g >= v_ig and p_g >= 0, take u_i = max_g v_ig - p_g. Complementary
    slackness: x_ig > 0 only in demand sets; p_g > 0 only where all s_g are used, as only fully matched resources are raised
    and what is matched stays matched.

    Least: no clearing prices q are below p anywhere. Otherwise take the first raise above q; let it raise
    the set Z, and let T be the resources of Z with p = q. At prices q, jobs that demanded a resource of T
    demand only resources of T. Jobs that hold units of T are such jobs, and so is the last job before T on a
    path from the unmatched buyer, which has a buyer outside T. So more buyers demand T than T has units.

    Cost: at most sum n_i augmentations (in practice a few for each job and resource) of O(S G^2); ``tick`` is called for each,
    and may raise to stop.
    """
    value: list[list[int]] = values.tolist()
    able = [np.flatnonzero(row).tolist() for row in allowed]
    free: list[int] = stock.tolist()
    prices = [0] * len(free)
    counts = [[0] * len(free) for _ in value]
    for root, size in enumerate(np.asarray(sizes).tolist()):
        wanted = size
        while wanted:
            tick()
            path = _find_path(root, value, able, counts, free, prices)
            if path is None:
                return None
            # The path shifts ``amount`` units along it: each job takes from its pair's resource and gives up one of the
            # next.
            gives = [(job, kind) for (_, job), (kind, _) in pairwise(path)]
            amount = min(wanted, free[path[0][0]], *(counts[job][kind] for job, kind in gives))
            for kind, job in path:
                counts[job][kind] += amount
            for job, kind in gives:
                counts[job][kind] -= amount
            free[path[0][0]] -= amount
            wanted -= amount
    return Market(np.array(counts, dtype=np.int64), tuple(prices))


def _find_path(
    root: int,
    value: list[list[int]],
    able: list[list[int]],
    counts: list[list[int]],
    free: list[int],
    prices: list[int],
) -> list[tuple[int, int]] | None:
    """Raise ``prices`` until a path reaches a free unit, and return it; None: no unit can be reached.

    The path lists pairs (resource, job that takes a unit of it) from the free resource to ``root``; each job gives up a unit of
    the resource in the next pair.
    """
    # Dijkstra-like search: ``short`` of a resource outside is the rise until a reached job demands it too.
    taker, short, wanter = dict[int, int](), dict[int, int](), dict[int, int]()
    gives, fresh = {root: -1}, [root]
    while True:
        for job in fresh:
            most = max((value[job][kind] - prices[kind] for kind in able[job]), default=0)
            for kind in able[job]:
                gap = most - value[job][kind] + prices[kind]
                if kind not in taker and (kind not in short or gap < short[kind]):
                    short[kind], wanter[kind] = gap, job
        if not short:
            return None
        kind = min(short, key=lambda each: (short[each], free[each] == 0, each))
        raises = short.pop(kind)
        for each in taker:
            prices[each] += raises
        short = {each: gap - raises for each, gap in short.items()}
        taker[kind] = wanter[kind]
        if free[kind]:
            break
        fresh = [job for job, row in enumerate(counts) if row[kind] and job not in gives]
        gives.update(dict.fromkeys(fresh, kind))
    path = [(kind, taker[kind])]
    while path[-1][1] != root:
        kind = gives[path[-1][1]]
        path.append((kind, taker[kind]))
    return path


Floats = npt.NDArray[np.float64]


class Exchanges:
    """Changes by job, kind given up and kind received, for ``jobs`` jobs and ``stock`` units of each kind, shape (G,).

    ``_changes[h]`` has a row for each of ``_jobs[h]``, the jobs that have kind h (-1: a row of infinities). ``_least`` and
    ``_second``, shape (G + 1, G + 1), are the two least changes of each pair of kinds, with the jobs that have them.
    """

    def __init__(self, stock: Counts, jobs: int) -> None:
        kinds = len(stock)
        room = [*np.minimum(stock + 1, jobs).tolist(), jobs]  # + 1: an exchange puts one job after the other
        self._changes = [np.full((rows, kinds + 1), np.inf) for rows in room]
        self._jobs = [np.full(rows, -1, dtype=np.int64) for rows in room]
        self._rows_of: list[dict[int, int]] = [{} for _ in range(jobs)]  # of each job, kind to row
        self._free = [list(range(rows))[::-1] for rows in room]
        shape = (kinds + 1, kinds + 1)
        self._least, self._second = np.full(shape, np.inf), np.full(shape, np.inf)
        self._first_job, self._second_job = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
        self._stale: set[int] = set()

    def put(self, job: int, outs: Sequence[int], changes: Floats) -> None:
        """Set the kinds that a job may give up, and its changes by kind received; shape (len(outs), G + 1)."""
        rows = self._rows_of[job]
        for out in set(rows).difference(outs):
            row = rows.pop(out)
            self._changes[out][row], self._jobs[out][row] = np.inf, -1
            self._free[out].append(row)
            self._stale.add(out)
        for out, change in zip(outs, changes, strict=True):
            if out not in rows:
                rows[out] = self._free[out].pop()
                self._jobs[out][rows[out]] = job
            self._changes[out][rows[out]] = change
            self._stale.add(out)

    def best(self, idle: Counts) -> tuple[float, int, int, int, int]:
        """Return the best exchange: its change, the job, the other job (-1: the idle), the kind out, the kind in."""
        for out in self._stale:
            self._settle(out)
        self._stale.clear()
        kinds = len(idle)
        # A job alone: it swaps one of its units for an idle one (or for none).
        alone = self._least.copy()
        alone[:, :kinds][:, idle <= 0] = np.inf
        out, into = map(int, np.unravel_index(int(np.argmin(alone)), alone.shape))
        best = float(alone[out, into]), int(self._first_job[out, into]), -1, out, into
        # Two jobs: where both least changes are of one job, one of them is replaced by the second least.
        same = self._first_job == self._first_job.T
        apart = np.minimum(self._least + self._second.T, self._second + self._least.T)
        together = np.where(same, apart, self._least + self._least.T)
        out, into = map(int, np.unravel_index(int(np.argmin(together)), together.shape))
        if together[out, into] < best[0]:
            job, other = int(self._first_job[out, into]), int(self._first_job[into, out])
            if job == other:
                if self._least[out, into] + self._second[into, out] <= self._second[out, into] + self._least[into, out]:
                    other = int(self._second_job[into, out])
                else:
                    job = int(self._second_job[out, into])
            best = float(together[out, into]), job, other, out, into
        return best

    def _settle(self, out: int) -> None:
        """Compute the two least changes among the jobs that may give up one kind, for each kind that they may receive."""
        changes, jobs = self._changes[out], self._jobs[out]
        every = np.arange(changes.shape[1])
        first = np.argmin(changes, axis=0)
        self._least[out], self._first_job[out] = changes[first, every], jobs[first]
        if len(changes) > 1:
            changes[first, every] = np.inf
            second = np.argmin(changes, axis=0)
            self._second[out], self._second_job[out] = changes[second, every], jobs[second]
            changes[first, every] = self._least[out]


Allowed = npt.NDArray[np.bool_]


def transport(allowed: Allowed, needed: Counts, stock: Counts) -> Counts:
    """Return the units of each resource that each job gets, shape (S, G), if all can get what they need."""
    jobs, kinds = allowed.shape
    _, flow, _ = _flow(allowed, needed, stock)
    counts: Counts = np.maximum(flow[:jobs, jobs : jobs + kinds].toarray(), 0).astype(np.int64)
    return counts


def starved(allowed: Allowed, needed: Counts, stock: Counts) -> list[int]:
    """Positions of jobs that need more than the resources which can serve them have; empty when all can be served."""
    jobs, kinds = allowed.shape
    short = np.flatnonzero(needed > dot(allowed, stock))
    if len(short):  # these need too much even alone; the flow has 32-bit numbers
        return [int(short[0])]
    network, flow, value = _flow(allowed, needed, stock)
    if value == int(needed.sum()):
        return []
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    # A minimum cut: the jobs that the source's side of the residual network cannot serve.
    residual = csr_array(network - flow)
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, jobs + kinds, return_predecessors=False)
    return sorted(int(node) for node in reached if node < jobs)


def _flow(allowed: Allowed, needed: Counts, stock: Counts) -> tuple["csr_array", "csr_array", int]:
    """Return the network (jobs, resources, source, sink), its maximum flow and the flow's value."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    jobs, kinds = allowed.shape
    source, sink = jobs + kinds, jobs + kinds + 1
    job, kind = np.nonzero(allowed)
    tails = np.concatenate((np.full(jobs, source), jobs + np.arange(kinds), job))
    heads = np.concatenate((np.arange(jobs), np.full(kinds, sink), jobs + kind))
    capacities = np.concatenate((needed, stock, np.minimum(needed[job], stock[kind]))).astype(np.int32)
    network = csr_array((capacities, (tails.astype(np.int32), heads.astype(np.int32))), shape=(sink + 1, sink + 1))
    maximum = maximum_flow(network, source, sink)
    return network, maximum.flow, int(maximum.flow_value)
