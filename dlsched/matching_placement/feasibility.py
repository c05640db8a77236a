"""Whether any placement exists: the jobs' smallest sizes, fitted to the types that can serve them.

Only the numbers of workers by type matter, so it is a transportation problem: jobs that need min_i workers, types that
have s_g. It has a solution if and only if no set of jobs needs more than the types that can serve one of them have
(Hall 1935); a maximum flow finds either the solution or such a set.
"""

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
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    jobs, kinds = instance.jobs, list(instance.types)
    every = len(instance.workers)
    for place, job in enumerate(jobs):  # alone too large; the flow has 32-bit numbers
        if job.min_workers > sum(len(instance.types[kind]) for kind in kinds if kind in job.samples_per_s):
            return [place]
    source, sink = len(jobs) + len(kinds), len(jobs) + len(kinds) + 1
    edges = [(source, place, job.min_workers) for place, job in enumerate(jobs)]
    edges += [(len(jobs) + place, sink, len(instance.types[kind])) for place, kind in enumerate(kinds)]
    edges += [
        (place, len(jobs) + other, every)
        for place, job in enumerate(jobs)
        for other, kind in enumerate(kinds)
        if kind in job.samples_per_s
    ]
    tails, heads, capacities = (np.array(part, dtype=np.int32) for part in zip(*edges, strict=True))
    network = csr_array((capacities, (tails, heads)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(network, source, sink)
    if flow.flow_value == sum(job.min_workers for job in jobs):
        return []
    residual = csr_array(network - flow.flow)
    residual.eliminate_zeros()
    reached = breadth_first_order(residual, source, return_predecessors=False)
    return sorted(int(node) for node in reached if node < len(jobs))
