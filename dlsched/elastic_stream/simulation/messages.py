"""Messages of simulations: their progress, and errors of policies."""

from dlsched.core.errors import PolicyError
from dlsched.elastic_stream.instance import Instance


def how_far(instance: Instance, passed_s: float, to_come: int, present: int) -> str:
    """Describe the progress of a simulation."""
    jobs = len(instance.jobs)
    days, done = passed_s / 86400, jobs - to_come - present
    return f"{days:,.3g} days simulated, {done:,} of {jobs:,} jobs ended, {present:,} present"


def wrong(policy: object, now_s: float, found: str, allowed: str, *which: object) -> PolicyError:
    """Return the error that says what is wrong with a policy's answer, when, and for which job if any."""
    where = f"policy {type(policy).__name__} at {now_s!r} s" + "".join(f", job {job!r}" for job in which)
    return PolicyError(where=where, found=found, allowed=allowed)


def restarts_for_ever(policy: object, now_s: float, periods: int) -> PolicyError:
    """Return the error that says that no job makes progress."""
    found = f"{periods} periods in a row that ended in their pause"
    return wrong(policy, now_s, found, "periods in which jobs come on")
