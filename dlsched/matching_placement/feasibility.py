"""Whether any placement exists: the jobs' smallest sizes, fitted to the types that can serve them.

Only the numbers of workers by type matter, so it is a transportation problem: jobs that need min_i workers, types that
have s_g. It has a solution if and only if no set of jobs needs more than the types that can serve one of them have
(Hall 1935); a maximum flow finds either the solution or such a set.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.instance import Instance

_NAMED = 5  # ids that a sentence lists


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no placement exists, or None; then one exists."""
    starved = starved_jobs(instance)
    if not starved:
        return None
    jobs = [instance.jobs[place] for place in starved]
    needed = sum(job.min_workers for job in jobs)
    able = [kind for kind in instance.types if any(kind in job.samples_per_s for job in jobs)]
    had = sum(len(instance.types[kind]) for kind in able)
    if len(jobs) == len(instance.jobs):
        who = "all jobs together need" if len(jobs) > 1 else f"job {jobs[0].id} needs"
    else:
        names = ", ".join(job.id for job in jobs[:_NAMED]) + (", ..." if len(jobs) > _NAMED else "")
        who = f"jobs {names} together need" if len(jobs) > 1 else f"job {names} needs"
    return f"{who} at least {needed} workers, there are {had} that can serve {'them' if len(jobs) > 1 else 'it'}"


def starved_jobs(instance: Instance) -> list[int]:
    """Positions of jobs that need more workers than the types that can serve them have; empty when all can be served."""
    data = arrays(instance)
    short = np.flatnonzero(data.least > data.most)
    if len(short):  # alone too large; the flow has 32-bit numbers
        return [int(short[0])]
    network, flow = _flow(data.rates > 0, data.least, data.stock)
    if flow.flow_value == int(data.least.sum()):
        return []
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    residual = csr_array(network - flow.flow)
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, data.jobs + data.types, return_predecessors=False)
    return sorted(int(node) for node in reached if node < data.jobs)


def some_counts(allowed: npt.NDArray[np.bool_], least: npt.NDArray[np.int64], stock: npt.NDArray[np.int64]) -> Any:
    """Return how many workers of each type each job gets, ``least`` of them in all, shape (S, G); of a feasible instance."""
    jobs, kinds = allowed.shape
    _, flow = _flow(allowed, least, stock)
    return np.maximum(flow.flow[:jobs, jobs : jobs + kinds].toarray(), 0).astype(np.int64)


def _flow(
    allowed: npt.NDArray[np.bool_], least: npt.NDArray[np.int64], stock: npt.NDArray[np.int64]
) -> tuple[Any, Any]:
    """Network of nodes jobs, types, source, sink, and its maximum flow; no job needs more than can serve it."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    jobs, kinds = allowed.shape
    source, sink = jobs + kinds, jobs + kinds + 1
    job, kind = np.nonzero(allowed)
    tails = np.concatenate((np.full(jobs, source), jobs + np.arange(kinds), job))
    heads = np.concatenate((np.arange(jobs), np.full(kinds, sink), jobs + kind))
    capacities = np.concatenate((least, stock, np.minimum(least[job], stock[kind]))).astype(np.int32)
    network = csr_array((capacities, (tails.astype(np.int32), heads.astype(np.int32))), shape=(sink + 1, sink + 1))
    return network, maximum_flow(network, source, sink)
