"""The initial workers: the cheapest way to give every job its smallest number of them, as an assignment problem."""

import numpy as np

from dlsched.algorithms.resource_market import transport
from dlsched.matching_placement.arrays import Arrays, Counts

LARGEST = 1_000_000
"""Largest matrix of the assignment, seats by workers; it takes half a second, during which no tick is
called."""


def initial(arrays: Arrays) -> Counts:
    """Return min_i workers for every job, shape (S, G), of a feasible instance.

    Minimises sum_ig T_i Pi_i / (min_i^2 rho_ig) c_ig with sum_g c_ig = min_i and sum_i c_ig <= s_g. A job's
    term is its compute time on one type, and an upper bound of it on several types (the harmonic mean is
    below the mean); it is divided by J_i(equal share) if the objective is made of such ratios. Each of a
    job's min_i seats is assigned a worker. Beyond ``LARGEST`` pairs of seat and worker, jobs take their
    fastest free workers instead, those with the most samples first; if that leaves some jobs short, the
    result is ``smallest``.

    Cost: that of an assignment of n = sum_i min_i seats, O(n^2 K) at worst.
    """
    from scipy.optimize import linear_sum_assignment

    seats, held = int(arrays.least.sum()), np.minimum(arrays.stock, int(arrays.least.sum()))
    if seats * int(held.sum()) > LARGEST:
        counts = take_fastest(arrays, arrays.least, np.argsort(-arrays.work, kind="stable"))
        return counts if (counts.sum(axis=1) == arrays.least).all() else smallest(arrays)
    kinds = np.repeat(np.arange(arrays.types), held)
    jobs = np.repeat(np.arange(arrays.jobs), arrays.least)
    work = arrays.work / arrays.costs.equal
    with np.errstate(divide="ignore"):
        cost = work[:, None] / (arrays.rates * arrays.least.astype(np.float64)[:, None] ** 2)
    seat, worker = linear_sum_assignment((cost / cost[arrays.rates > 0].max())[jobs][:, kinds])
    counts = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    np.add.at(counts, (jobs[seat], kinds[worker]), 1)
    return counts


def take_fastest(arrays: Arrays, wanted: Counts, order: Counts) -> Counts:
    """Let jobs take, one after the other, up to ``wanted`` free workers, those that are fastest for them; shape (S, G)."""
    left = arrays.stock.copy()
    counts = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    for job in order.tolist():
        fast = np.argsort(-arrays.rates[job], kind="stable")
        fast = fast[arrays.rates[job, fast] > 0]
        upto = np.minimum(np.cumsum(left[fast]), wanted[job])
        counts[job, fast] = np.diff(upto, prepend=0)
        left -= counts[job]
    return counts


def smallest(arrays: Arrays) -> Counts:
    """Return min_i workers for every job, whichever can serve it, shape (S, G), of a feasible instance; soon found."""
    return transport(arrays.rates > 0, arrays.least, arrays.stock)
