"""Exact lower bounds on the sum of completion times, from the seconds that every job needs."""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dlsched.certificates.exact import at_most

_BELOW = 64  # mean busy times are rounded down to this many binary digits below the unit of time


def srpt_value(
    releases: Sequence[float | Fraction], sizes: Sequence[float], lengths: Sequence[float] | None = None
) -> Fraction:
    """Exact sum of SRPT's completion times on one machine of speed 1; ``lengths`` may raise it.

    At no time has any schedule on that machine ended more jobs than SRPT (Schrage 1968: take the first
    moment at which a schedule runs a job although a released one has less left; exchanging the remaining
    service of these two delays no other job, and the sooner of the two ends sooner). So the schedule's k-th
    end is no sooner than SRPT's, and SRPT's k-th end does not fall when a size grows. No job ends sooner
    after its release than its entry of ``lengths``, in seconds; so the k-th end is also no sooner than the
    k-th smallest release plus length, and the sum takes the later of both. All numbers are multiples of one
    power of two, so the simulation is in integers. ValueError: a size or length that is negative or not finite.
    """
    if not all(math.isfinite(size) and size >= 0 for size in (*sizes, *(lengths or ()))):
        raise ValueError("sizes must be numbers >= 0")
    unit = max((number.as_integer_ratio()[1] for number in (*releases, *sizes, *(lengths or ()))), default=1)
    jobs = sorted((_times(release, unit), _times(size, unit)) for release, size in zip(releases, sizes, strict=True))
    remaining: list[int] = []  # a heap: what is left of the released jobs
    ends: list[int] = []
    now = 0
    # Shortest remaining time first, from one release to the next
    for index, (release, size) in enumerate(jobs):
        now = max(now, release)
        heapq.heappush(remaining, size)
        until = jobs[index + 1][0] if index + 1 < len(jobs) else None
        while remaining and (until is None or now < until):
            least = heapq.heappop(remaining)
            if until is not None and now + least > until:
                heapq.heappush(remaining, least - (until - now))
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


def busy_value(
    releases: Sequence[float | Fraction], sizes: Sequence[float], weights: Sequence[float | Fraction]
) -> Fraction:
    """Lower bound on the weighted sum of completion times on one machine; rounding takes at most 2^-64 of it.

    The machine serves a job of release r, size p and weight omega at rates x(t); the rates of all jobs add
    up to at most 1. The job's mean busy time is M = int x(t) t dt / p, and it ends no sooner than M + p / 2:
    its service is no later than if it all came last, at rate 1. A job of size 0 has M = r. The sum of omega
    M is least if the machine always serves the job with the largest omega / p among those that are released
    and not done. Proof: let the ratios be rho_1 > ... > rho_K, rho_K+1 = 0, and A_k(t) the service until t
    of all jobs of ratio rho_k or more. Then sum omega M = sum over k of (rho_k - rho_k+1) int (A_k(infinity)
    - A_k(t)) dt, and this rule makes every A_k(t) as large as possible, since it serves one of these jobs
    whenever one is there. So the bound also holds if many jobs are served at a time. Smaller sizes are
    valid: a job without its last service ends no later. Jobs of weight 0 do not count.

    Source: Goemans, Queyranne, Schulz, Skutella, Wang, Single machine scheduling with release dates, SIAM J. Discrete Math. 2002.
    ValueError: a size that is negative or not finite.
    """
    if not all(math.isfinite(size) and size >= 0 for size in sizes):
        raise ValueError("sizes must be numbers >= 0")
    part = max((number.as_integer_ratio()[1] for number in weights), default=1)
    shares = [_times(weight, part) for weight in weights]
    unit = max((number.as_integer_ratio()[1] for number in (*releases, *sizes)), default=1)
    # with so many digits, different ratios p / omega give different whole numbers
    digits = 2 * max(shares, default=1).bit_length()
    jobs = sorted(
        (_times(release, unit), (_times(size, unit) << digits) // share, _times(size, unit), share)
        for release, size, share in zip(releases, sizes, shares, strict=True)
        if share
    )
    there: list[tuple[int, int, int]] = []  # a heap: ratio, number of the job, size left
    twice = [0] * len(jobs)  # 2 int x(t) t dt
    now = 0
    # Serve the largest weight per size among the released jobs, from one release to the next
    for number, (release, ratio, size, _) in enumerate(jobs):
        now = max(now, release)
        heapq.heappush(there, (ratio, number, size))
        until = jobs[number + 1][0] if number + 1 < len(jobs) else None
        while there and (until is None or now < until):
            ratio, job, remaining = heapq.heappop(there)
            end = now + remaining if until is None else min(now + remaining, until)
            twice[job] += end * end - now * now
            if end - now < remaining:
                heapq.heappush(there, (ratio, job, remaining - (end - now)))
            now = end
    total = 0  # sum of omega (2 M + p)
    for double, (release, _, size, share) in zip(twice, jobs, strict=True):
        total += share * ((double << _BELOW) // size + (size << _BELOW) if size else release << _BELOW + 1)
    return Fraction(total, unit * part << _BELOW + 1)


def _times(number: float | Fraction, unit: int) -> int:
    numerator, denominator = number.as_integer_ratio()
    return numerator * (unit // denominator)


def claimed(names: Sequence[str], claims: Mapping[str, float], most: Callable[[int], Fraction]) -> list[float]:
    """Return the claims in the order of ``names`` (0 for none).

    ValueError: a job that does not exist, or a claim that is negative, not a number or more than ``most`` allows the job.
    """
    index = {name: job for job, name in enumerate(names)}
    for name, claim in claims.items():
        if name not in index:
            raise ValueError(f"there is no job {name!r}")
        needed = most(index[name])
        if not 0 <= claim < math.inf or not at_most(claim, needed):
            raise ValueError(f"{claim!r} s is claimed of job {name!r}, it needs {float(needed)!r} s")
    return [claims.get(name, 0.0) for name in names]
