"""Ascending market: buyers want one unit of several resources each, and bid until they have one they want most.

The prices are those of Demange, Gale and Sotomayor (1986).

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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import Counts
from dlsched.core.budget import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """Final prices, shape (G,); ``counts``, shape (S, G); ``rounds``: how often prices rose by 1."""

    counts: Counts
    prices: tuple[int, ...]
    rounds: int


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
    held = [[0] * len(free) for _ in value]
    rounds = 0
    for root, size in enumerate(np.asarray(sizes).tolist()):
        wanted = size
        while wanted:
            tick()
            found = _find_path(root, value, able, held, free, prices)
            # The path shifts ``amount`` units along it: each job takes from its pair's resource and gives up one of the
            # next.
            if found is None:
                return None
            path, raises = found
            rounds += raises
            gives = [(job, kind) for (_, job), (kind, _) in pairwise(path)]
            amount = min(wanted, free[path[0][0]], *(held[job][kind] for job, kind in gives))
            for kind, job in path:
                held[job][kind] += amount
            for job, kind in gives:
                held[job][kind] -= amount
            free[path[0][0]] -= amount
            wanted -= amount
    return Market(np.array(held, dtype=np.int64), tuple(prices), rounds)


def _find_path(
    root: int, value: list[list[int]], able: list[list[int]], held: list[list[int]], free: list[int], prices: list[int]
) -> tuple[list[tuple[int, int]], int] | None:
    """Raise ``prices`` until a path reaches a free unit; return the path, and by how much the prices rose.

    The path lists pairs (resource, job that takes a unit of it) from the free resource to ``root``; each job
    gives up a unit of the resource in the next pair. ``short`` is how far the prices must rise until a
    resource outside enters the demand set of a reached job.
    """
    # Dijkstra-like search: ``short`` of a resource outside is the rise until a reached job demands it too.
    taker, short, wanter = dict[int, int](), dict[int, int](), dict[int, int]()
    gives, fresh, rise = {root: -1}, [root], 0
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
        rise += raises
        for each in taker:
            prices[each] += raises
        short = {each: gap - raises for each, gap in short.items()}
        taker[kind] = wanter[kind]
        if free[kind]:
            break
        fresh = [job for job, row in enumerate(held) if row[kind] and job not in gives]
        gives.update(dict.fromkeys(fresh, kind))
    path = [(kind, taker[kind])]
    while path[-1][1] != root:
        kind = gives[path[-1][1]]
        path.append((kind, taker[kind]))
    return path, rise
