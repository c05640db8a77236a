"""Messages of simulations: their progress, and errors of policies."""

from collections.abc import ItemsView, Mapping

from dlsched.core.errors import PolicyError
from dlsched.core.messages import shown
from dlsched.elastic_stream.instance import Instance


def how_far(instance: Instance, passed_s: float, to_come: int, present: int) -> str:
    """Describe the progress of a simulation."""
    jobs = len(instance.jobs)
    days, done = passed_s / 86400, jobs - to_come - present
    return f"{days:,.3g} days simulated, {done:,} of {jobs:,} jobs ended, {present:,} present"


def wrong(policy: object, now_s: float, found: str, allowed: str, *which: object) -> PolicyError:
    """The error for a policy's answer: when, what was found and is allowed, and for which job if any."""
    where = f"policy {type(policy).__name__} at {now_s!r} s" + "".join(f", job {job!r}" for job in which)
    return PolicyError(where=where, found=found, allowed=allowed)


def items_of(policy: object, now_s: float, answer: Mapping[int, int]) -> ItemsView[int, int]:
    """The items of a policy's answer; PolicyError: it is no mapping."""
    try:
        return answer.items()
    except AttributeError:
        found, allowed = f"a {type(answer).__name__} from decide", "units by job, such as {job: 1}, or {}"
        raise wrong(policy, now_s, found, allowed) from None


def wrong_key(policy: object, now_s: float, instance: Instance, job: object, units: object) -> PolicyError:
    """The error for a key of a policy's answer that names no present job."""
    if type(job) is int and 0 <= job < len(instance.jobs):
        return wrong(policy, now_s, f"{units!r} units", "jobs that are present", instance.jobs[job].id)
    return wrong(policy, now_s, f"the key {shown(job)}", "positions of jobs, as `for job in view` gives")


def restarts_for_ever(policy: object, now_s: float, periods: int) -> PolicyError:
    """The error of a simulation in which no job makes progress."""
    found = f"{periods} periods in a row that ended in their pause"
    return wrong(policy, now_s, found, "periods in which jobs come on")
