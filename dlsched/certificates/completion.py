"""What the seconds that jobs need prove of the sum of their completion times, in exact arithmetic."""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction


def srpt_value(
    releases: Sequence[float | Fraction], sizes: Sequence[float], lengths: Sequence[float] | None = None
) -> Fraction:
    """Sum of the completion times of preemptive SRPT on one machine of speed 1, exactly; or more, with lengths.

    No schedule of the jobs on that machine has ended more of them at any time (Schrage 1968: in the first moment in which
    a schedule runs a job with more left than another one that is released, exchanging their remaining service ends none
    later but those two, and of them the sooner one sooner), so its k-th end is no sooner than SRPT's, nor does that fall
    when a size grows. With ``lengths``, seconds that no job undercuts from its release on, the k-th end is also no sooner
    than the k-th smallest release plus length: the sum takes the later of both. All numbers are multiples of one power of
    two, so the simulation is in integers.

    Raises
    ------
    ValueError
        A size or length that is negative or not finite.
    """
    if not all(math.isfinite(size) and size >= 0 for size in (*sizes, *(lengths or ()))):
        raise ValueError("sizes must be numbers >= 0")
    unit = max((number.as_integer_ratio()[1] for number in (*releases, *sizes, *(lengths or ()))), default=1)
    jobs = sorted((_times(release, unit), _times(size, unit)) for release, size in zip(releases, sizes, strict=True))
    left: list[int] = []  # of the jobs that are released, a heap
    ends: list[int] = []
    now = 0
    for index, (release, size) in enumerate(jobs):
        now = max(now, release)
        heapq.heappush(left, size)
        until = jobs[index + 1][0] if index + 1 < len(jobs) else None
        while left and (until is None or now < until):
            least = heapq.heappop(left)
            if until is not None and now + least > until:
                heapq.heappush(left, least - (until - now))
                now = until
            else:
                now += least
                ends.append(now)
    if lengths is not None:
        soonest = (
            _times(release, unit) + _times(length, unit) for release, length in zip(releases, lengths, strict=True)
        )
        ends = list(map(max, ends, sorted(soonest)))
    return Fraction(sum(ends), unit)


def _times(number: float | Fraction, unit: int) -> int:
    numerator, denominator = number.as_integer_ratio()
    return numerator * (unit // denominator)


def claimed(names: Sequence[str], claims: Mapping[str, float], most: Callable[[int], Fraction]) -> list[float]:
    """Claims in the order of the jobs' names, 0 where there is none, each held against the most that job may claim.

    Raises
    ------
    ValueError
        A job that does not exist, or a claim that is negative, not a number or too large.
    """
    index = {name: job for job, name in enumerate(names)}
    for name, claim in claims.items():
        if name not in index:
            raise ValueError(f"there is no job {name!r}")
        needed = most(index[name])
        if not claim >= 0 or claim > needed:
            raise ValueError(f"{claim!r} s is claimed of job {name!r}, it needs {float(needed)!r} s")
    return [claims.get(name, 0.0) for name in names]
