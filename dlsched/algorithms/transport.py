"""Jobs that need units of resources which not all of them can use: a transportation problem, by maximum flow.

It has a solution if and only if no set of jobs needs more than the resources that can serve one of them have (Hall 1935); a
maximum flow finds either the solution or such a set.
"""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import Counts
from dlsched.core.arrays import dot

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    found = maximum_flow(network, source, sink)
    return network, found.flow, int(found.flow_value)
