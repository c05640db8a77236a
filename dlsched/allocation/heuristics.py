"""Heuristics that ignore costs: the same count for all jobs, as far as it is allowed."""

from bisect import bisect_right

from dlsched.allocation.counts import Counted
from dlsched.core.errors import UsageError


def same_counts(instance: Counted, most: int, name: str = "count") -> dict[str, int] | None:
    """Choose every job's largest allowed count <= ``most``, else its smallest; None if they do not fit together.

    Cost: O(J log W). ``UsageError``: ``most`` < 1; the message names it ``name``.
    """
    if most < 1:
        raise UsageError(where=name, found=most, allowed="an integer >= 1")
    given = {}
    for index, job in enumerate(instance.jobs):
        counts = instance.counts(index)
        given[job.id] = counts[max(0, bisect_right(counts, most) - 1)]
    return given if sum(given.values()) <= instance.capacity else None


def equal_share(instance: Counted) -> int:
    """floor(C / J), at least 1."""
    return max(1, instance.capacity // len(instance.jobs))
