"""Messages of simulations: their progress, and errors of policies."""

from dlsched.core.errors import PolicyError
from dlsched.elastic_stream.instance import Instance


def how_far(instance: Instance, passed_s: float, to_come: int, present: int) -> str:
    """How far a simulation has come."""
    jobs = len(instance.jobs)
    days, done = passed_s / 86400, jobs - to_come - present
    return f"{days:,.3g} days simulated, {done:,} of {jobs:,} jobs ended, {present:,} present"


def wrong(policy: object, now_s: float, found: str, allowed: str, *which: object) -> PolicyError:
    """Say what is wrong with an answer of a policy, when, and for which job (its id) if it is for one."""
    where = f"policy {type(policy).__name__} at {now_s!r} s" + "".join(f", job {job!r}" for job in which)
    return PolicyError(where=where, found=found, allowed=allowed)


def restarts_for_ever(policy: object, now_s: float, periods: int) -> PolicyError:
    """Say that no job comes on."""
    found = f"{periods} periods in a row that ended in their pause"
    return wrong(policy, now_s, found, "periods in which jobs come on")
