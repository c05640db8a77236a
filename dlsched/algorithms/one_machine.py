"""Single-machine scheduling: order of release, preemptive SRPT, and valid inequalities for starts.

*SRPT* always serves the released job with the least remaining work. The machine has speed 1 and serves one job at a time; a
job may be interrupted at no cost. Of jobs with equal remaining work the one released first is served, of these the one that
stands first, so a release interrupts only a job with more of it.

No schedule has a smaller sum of completion times (Schrage 1968). *Proof*, by exchange. Let a schedule do as SRPT until a
moment t; let i be the job which SRPT serves from t to its next release or completion u, so that u - t <= rest_i, and let
the schedule serve another job j at some of this time. Both are released at t and rest_i <= rest_j. In all moments after t
in which it serves i or j, serve first i, for rest_i, then j. No other job changes, the later of the two completions stays,
and the earlier one came when at least min(rest_i, rest_j) = rest_i of these moments had passed, which is when i ends now:
the sum has not grown, and i has all of j's moments before u. Do so with each such j, and fill what is idle before u with
the last moments of i, which only ends sooner. Now the schedule does as SRPT until u. SRPT has at most 2 J releases and
completions, so after all of them the schedule has become SRPT, and its sum has never grown. A job of size 0 ends at its
release in SRPT, which is no later than anywhere.

SRPT is an online algorithm: whom it serves depends on released jobs only. So nothing is lost by not knowing the future.

==================  =============================================================================================
code                mathematics
==================  =============================================================================================
``index``           of a job in the order of releases; all below is by it
``rests[index]``    remaining work, of running jobs when they were interrupted last
``waiting``         released jobs that have never run, a heap of (size, index)
``interrupted``     indices of jobs that were interrupted, a stack: whoever interrupts has less work than all of them
==================  =============================================================================================

Nothing interrupts any more after the last release, so the remaining work is then sorted and added up in NumPy. The loop
before it needs a heap, which NumPy does not have; ``core.imports`` compiles it.

*Valid inequalities* bound work-weighted sums of the starts. Job i starts at s_i, takes p_i, and has the work w_i = p_i times
its share of the machine; the shares of jobs that run at one time add up to at most 1. The machine does not work on a set S
before r(S) = min r_i, and never faster than 1. So the integral of t over this work, sum w_i (s_i + p_i / 2), is least if the
machine does all of w(S) from r(S) on: w(S) (r(S) + w(S) / 2). Rows are written for the sets that are tight in the
best preemptive schedule of one machine (Goemans 1996, IPCO): take the jobs of least w_i, as many as there
may be, and of these each group that the machine would serve without a pause.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush, heapreplace

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.imports import compiled


def in_release_order(releases: FloatArray, sizes: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Jobs in order of release (ties by index), their releases and sizes, copied; all of shape (J,), else ValueError."""
    releases, sizes = np.asarray(releases, dtype=float), np.asarray(sizes, dtype=float)
    if releases.ndim != 1 or releases.shape != sizes.shape:
        raise ValueError(f"releases of shape {releases.shape} and sizes of shape {sizes.shape}")
    if not np.isfinite(releases).all():
        raise ValueError("a release is not finite")
    if not (np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise ValueError("sizes must be finite and >= 0")
    order, ordered = sorted_stably(releases)
    return order, ordered, sizes[order]


def sorted_stably(numbers: FloatArray) -> tuple[IntArray, FloatArray]:
    """``argsort(kind="stable")`` of finite floats, shape (N,), by two sorts that are faster, and the floats in this order."""
    order = np.argsort(numbers)
    ordered = numbers[order]
    rises = ordered[1:] > ordered[:-1]
    if not rises.all():
        # rank * N + index: one sort of integers orders by number, then by index.
        ranks = len(numbers) * np.concatenate(([0], np.cumsum(rises)))
        order = np.sort(ranks + order) - ranks
        ordered = numbers[order]  # zeros of both signs are equal
    return order, ordered


_COMPILED_FROM = 100_000  # jobs; the interpreted loop takes less for fewer than importing Numba takes


def srpt_completions(releases: FloatArray, sizes: FloatArray) -> FloatArray:
    """Completion time of every job, shape (J,), in their order; the sum is the least possible.

    ``releases`` (finite, in any order) and ``sizes`` (work, finite and >= 0) have shape (J,), else ValueError. Exact
    when all sums of the numbers are. Cost: O(J log J). From 100,000 jobs on Numba, if installed, compiles the loop in
    two to four seconds, import included, and keeps the result; a million jobs then take a few times as long as sorting
    them (``benchmarks/srpt.py``).

    >>> srpt_completions(np.array([0.0, 1.0]), np.array([5.0, 1.0]))
    array([6., 2.])
    """
    order, releases, rests = in_release_order(releases, sizes)
    ends = np.full(len(order), np.nan)
    if not len(order):
        return ends
    head = int(np.searchsorted(releases, releases[-1])) + 1  # up to the first job of the last release
    serve = compiled(_serve) if head >= _COMPILED_FROM else None
    if serve is not None:
        serve(releases[:head], rests[:head], ends[:head])
    else:
        rests_list, ends_list = rests[:head].tolist(), ends[:head].tolist()
        _serve(releases[:head].tolist(), rests_list, ends_list)
        rests[:head], ends[:head] = rests_list, ends_list
    # After the last release the rest is served by remaining work: completions are running sums.
    unfinished = np.flatnonzero(np.isnan(ends))
    by_rest, lengths = sorted_stably(rests[unfinished])
    lengths[0] += releases[-1]
    ends[unfinished[by_rest]] = np.cumsum(lengths)
    completions = np.empty(len(order))
    completions[order] = ends
    return completions


def srpt_schedule(releases: FloatArray, sizes: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Job, start and end of every uninterrupted piece, in order of time; three arrays of shape (P,), J <= P <= 2 J.

    Parameters and errors as ``srpt_completions``. The last piece of a job ends at its completion, in the same bits. A
    job of size 0 has one piece of no length, which divides that of the job served then. Cost: O(J log J), interpreted.

    >>> [column.tolist() for column in srpt_schedule(np.array([0.0, 1.0]), np.array([5.0, 1.0]))]
    [[0, 1, 0], [0.0, 1.0, 2.0], [1.0, 2.0, 6.0]]
    """
    order, releases, sizes = in_release_order(releases, sizes)
    indices: list[int] = []
    starts: list[float] = []
    ends: list[float] = []
    released: list[tuple[float, int]] = []  # remaining work and index
    now = -np.inf
    following = np.append(releases, np.inf)[1:].tolist()
    for index, (release, size, until) in enumerate(zip(releases.tolist(), sizes.tolist(), following, strict=True)):
        now = max(now, release)
        heappush(released, (size, index))
        while released and now < until:
            rest, least = released[0]
            if not indices or indices[-1] != least:
                indices.append(least)
                starts.append(now)
                ends.append(now)
            if now + rest > until:
                heapreplace(released, (rest - (until - now), least))
                now = until
            else:
                heappop(released)
                now += rest
            ends[-1] = now
    return order[np.array(indices, dtype=np.int64)], np.array(starts), np.array(ends)


def _serve(releases: list[float], rests: list[float], ends: list[float]) -> None:
    """Serve until the last release; all by index, lists or arrays; ``rests`` and ``ends`` (of who ends) are changed."""
    waiting = [(0.0, 0) for _ in range(0)]  # Numba sees the type
    interrupted = [0 for _ in range(0)]
    running, rest, now = -1, 0.0, 0.0  # -1: nobody; ``rest`` is the running job's remaining work at ``now``
    for index, release in enumerate(releases):
        while running >= 0 and now + rest <= release:
            now += rest
            ends[running] = now
            # The next job: the stack's top or the heap's least, whichever has less work.
            if interrupted and not (waiting and waiting[0] < (rests[interrupted[-1]], interrupted[-1])):
                running = interrupted.pop()
                rest = rests[running]
            elif waiting:
                rest, running = heappop(waiting)
            else:
                running = -1
        size = rests[index]
        if running < 0:
            running, rest = index, size
        else:
            rest -= release - now
            if size < rest:
                rests[running] = rest
                interrupted.append(running)
                running, rest = index, size
            else:
                heappush(waiting, (size, index))
        now = release
    rests[running] = rest


_ROUNDING = 1e-9  # relative amount by which right sides are lowered


def busy_rows(
    releases: Sequence[float], lengths: Sequence[float], shares: Sequence[float]
) -> Iterator[tuple[dict[int, float], float]]:
    """Yield weights by job, and a lower bound > 0 on the weighted sum of the waits (start less release).

    ``shares``: the part of the machine that each job takes while it runs.
    """
    work = {i: share * length for i, (share, length) in enumerate(zip(shares, lengths, strict=True))}
    by_work = sorted(work, key=work.__getitem__)
    seen = set()
    for count in range(2, len(work) + 1):
        for group in _without_pause(releases, work, by_work[:count]):
            whole = sum(work[i] for i in group)
            if whole == 0 or tuple(group) in seen:
                continue
            seen.add(tuple(group))
            # The inequality for starts, divided by w(S) and with releases moved to the right side, rounded down.
            weights = {i: work[i] / whole for i in group}
            first = min(releases[i] for i in group)
            late = sum(weight * (releases[i] - first + lengths[i] / 2) for i, weight in weights.items())
            right = whole / 2 * (1 - _ROUNDING) - late * (1 + _ROUNDING)
            if right > 0:
                yield weights, right


def _without_pause(releases: Sequence[float], work: Mapping[int, float], jobs: Sequence[int]) -> list[list[int]]:
    """Split jobs into those that one machine would serve without a pause, first come, first served."""
    groups: list[list[int]] = []
    free_s = 0.0
    for i in sorted(jobs, key=releases.__getitem__):
        if not groups or releases[i] > free_s:
            groups.append([])
        groups[-1].append(i)
        free_s = max(free_s, releases[i]) + work[i]
    return groups
