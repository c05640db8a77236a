"""Orders of events of an optimal stream, and the allocations that it may share its time between.

Without restarts only the time that a schedule spends on each allocation in each interval between two events
matters. So for one order of arrivals and ends the least flow time is a linear program.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dlsched.worst.competitive.stream import Speeds

Allocation = tuple[int, ...]
"""Units by job."""


@dataclass(frozen=True)
class Prefix:
    """The first events of an optimal stream.

    Parameters
    ----------
    jobs
        Number of jobs in all.
    events
        -1 for the next arrival, or the job that ends; the first is the arrival of job 0.
    """

    jobs: int
    events: tuple[int, ...] = (-1,)

    @property
    def whole(self) -> bool:
        """Whether all jobs have ended."""
        return len(self.events) == 2 * self.jobs

    @property
    def arrived(self) -> int:
        """Number of jobs that have arrived."""
        return self.events.count(-1)

    @property
    def present(self) -> tuple[int, ...]:
        """Jobs that have arrived and not ended."""
        return tuple(job for job in range(self.arrived) if job not in self.events)

    def longer(self) -> "Iterator[Prefix]":
        """Yield the prefixes of one event more."""
        for event in (*((-1,) if self.arrived < self.jobs else ()), *self.present):
            yield Prefix(self.jobs, (*self.events, event))

    def intervals(self) -> "list[Prefix]":
        """The intervals between its events, each named by the prefix before it."""
        return [Prefix(self.jobs, self.events[: k + 1]) for k in range(len(self.events) - 1)]


def allocations(tables: Sequence[Speeds], present: tuple[int, ...]) -> list[Allocation]:
    """Divisions of all units among the jobs present; units by job, 0 for the others."""
    divided = _divisions(len(tables[0]), len(present))
    return [tuple(dict(zip(present, row, strict=True)).get(job, 0) for job in range(len(tables))) for row in divided]


def speed(table: Speeds, units: int) -> Fraction:
    """Speed on some units, 0 on none."""
    return table[units - 1] if units else Fraction(0)


@cache
def _divisions(units: int, jobs: int) -> list[tuple[int, ...]]:
    if jobs == 0:
        return [()]
    if jobs == 1:
        return [(units,)]
    return [(first, *rest) for first in range(units + 1) for rest in _divisions(units - first, jobs - 1)]
