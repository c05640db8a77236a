"""Feasibility test: fits the jobs' smallest sizes to types that can serve them (``algorithms.resource_market``).

Only the numbers of workers by type matter, so this is a transportation problem: job i needs min_i workers,
type g has s_g.
"""

from dlsched.algorithms.resource_market import starved
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.instance import Instance

_NAMED = 5  # ids that a sentence lists


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no placement exists, or None; then one exists."""
    jobs = [instance.jobs[index] for index in starved_jobs(instance)]
    if not jobs:
        return None
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
    return starved(data.rates > 0, data.least, data.stock)


def require_feasible(instance: Instance) -> None:
    """Refuse an infeasible instance, which has no bound.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"the instance is infeasible: {reason}; every bound holds")
