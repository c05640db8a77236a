"""The jobs of an instance over time, and what policies are told of their lengths: what families made of a queue share."""

from typing import Any, NamedTuple

from dlsched.traces.queue.queue import Queue
from dlsched.traces.queue.selection import Chosen, choose, lasted_s
from dlsched.traces.queue.time_limits import Limits, require_limits, told


class Telling(NamedTuple):
    """Jobs that were chosen of a queue, and their users' limits where policies are told these; None: how long jobs ran."""

    queue: Queue
    chosen: Chosen
    limits: Limits | None

    @property
    def sentences(self) -> list[str]:
        """What the audit says of it."""
        jobs = self.chosen.jobs
        if self.limits is None:
            return ["Policies are told how long every job really ran."]
        return told(self.limits, jobs, map(lasted_s, jobs))

    @property
    def silent(self) -> frozenset[str]:
        """Ids of jobs whose users said nothing, where policies know only that."""
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
