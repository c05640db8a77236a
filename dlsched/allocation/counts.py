"""Rules of allocations: one allowed count for every job, within one capacity.

``capacity``   sum_j w_j <= C
``choice``     w_j in W_j, one count for every job
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Protocol, TypeVar

from dlsched.core.errors import UsageError
from dlsched.core.files import Where, read_object, read_whole
from dlsched.core.messages import shown
from dlsched.core.result import FrozenMapping, Violation

_LARGEST = 2**1000  # a larger excess has no float


class CountedJob(Protocol):
    """The part of a job that this room needs."""

    @property
    def id(self) -> str:
        """Its name."""


class Counted(Protocol):
    """An instance whose jobs get one count each."""

    @property
    def jobs(self) -> Sequence[CountedJob]:
        """The jobs, 1 .. J."""

    @property
    def capacity(self) -> int:
        """Units that they share, C."""

    @property
    def index(self) -> Mapping[str, int]:
        """Position of every job by its id."""

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of the job at that position, W_j, ascending."""


CountedT = TypeVar("CountedT", bound=Counted)


def ids(instance: Counted) -> list[str]:
    """Names of the jobs in their order."""
    return list(instance.index)


def is_whole(count: object) -> bool:
    """Whether it is a Python integer, and not a bool."""
    return isinstance(count, int) and not isinstance(count, bool)


def is_allowed(count: int, allowed: Sequence[int]) -> bool:
    """Whether the count is among the allowed ones, which ascend; by bisection."""
    if isinstance(allowed, range):
        return count in allowed
    index = bisect_left(allowed, count)
    return index < len(allowed) and allowed[index] == count


def plain_counts(counts: Mapping[str, int]) -> FrozenMapping[str, int]:
    """Return an immutable copy with NumPy integers as Python integers; other values stay as they are."""
    if set(map(type, counts.values())) == {int}:
        return FrozenMapping(counts)
    return FrozenMapping(
        {job: int(n) if isinstance(n, Integral) and not isinstance(n, bool) else n for job, n in counts.items()}
    )


def read_counts(
    data: object, field: str, read: Callable[[Mapping[str, object], str, Where], int] = read_whole
) -> dict[str, int]:
    """Read the ``solution`` of a result file, ``{field: {job: integer}}``; the checker decides whether it is feasible."""
    counts = read_object(data, {field}, ("solution",)).get(field)
    entries = read_object(counts, set(counts) if isinstance(counts, dict) else set(), ("solution", field))
    return {job: read(entries, job, ("solution", field)) for job in entries}


def broken_choices(instance: Counted, counts: Mapping[str, int], unit: str) -> list[Violation]:
    """Return the broken rules ``choice``; ``unit`` is the name of the units, in the plural."""
    violations = []
    for index, job in enumerate(instance.jobs):
        count = counts.get(job.id)
        if count is None:
            violations.append(Violation("choice", job.id, message="the job has no count"))
        elif not is_whole(count) or not is_allowed(count, instance.counts(index)):
            violations.append(Violation("choice", job.id, message=f"{shown(count)} {unit} is no allowed count"))
    others = (name for name in counts if name not in instance.index)
    return [*violations, *(Violation("choice", name, message="there is no such job") for name in others)]


def broken_rules(instance: Counted, counts: Mapping[str, int], unit: str) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    violations = broken_choices(instance, counts, unit)
    used = sum(count for count in counts.values() if is_whole(count))
    if used > instance.capacity:
        message = f"{shown(used)} {unit} are given, the cluster has {instance.capacity}"
        violations.append(Violation("capacity", amount=float(min(used - instance.capacity, _LARGEST)), message=message))
    return violations


def require_choices(instance: Counted, counts: Mapping[str, int], unit: str) -> None:
    """Refuse counts that have no objective: ``UsageError`` if a job has no count, or one that it does not allow."""
    broken = broken_choices(instance, counts, unit)
    if broken:
        raise UsageError(f"no objective: {broken[0]}")
