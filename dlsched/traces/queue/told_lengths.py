"""Job lengths that policies are told: chosen jobs of a queue, with users' limits if estimates are used."""

from typing import Any, NamedTuple

from dlsched.traces.queue.queue import Queue
from dlsched.traces.queue.selection import Chosen, choose, lasted_s
from dlsched.traces.queue.time_limits import Limits, require_limits, told


class Telling(NamedTuple):
    """Jobs chosen from a queue, and users' limits if policies are told these; None: true running times."""

    queue: Queue
    chosen: Chosen
    limits: Limits | None

    @property
    def sentences(self) -> list[str]:
        """Audit sentences on the lengths."""
        jobs = self.chosen.jobs
        if self.limits is None:
            return ["Policies are told how long every job really ran."]
        return told(self.limits, jobs, map(lasted_s, jobs))

    @property
    def silent(self) -> frozenset[str]:
        """Ids of jobs without a limit, if policies use only limits."""
        return frozenset() if self.limits is None else self.limits.of(self.chosen.jobs)


def choose_and_tell(queue: Queue, *, estimates: bool, **options: Any) -> Telling:
    """Choose jobs, by the options of ``choose``, which raises as it does; with estimates they have limits.

    Raises
    ------
    InputError
        Estimates of a queue without any.
    """
    limits = require_limits(queue) if estimates else None
    queue = limits.queue if limits else queue
    return Telling(queue, choose(queue, **options), limits)
