"""Valid inequalities of one machine: lower bounds on work-weighted sums of the starts of its jobs.

Job i has work w_i = p_i times its share of the machine, which jobs that run at one time have no more than 1 of in all. The
machine works on a set S at no time before r(S) = min r_i, and at speed 1 at most, so the integral of t over this work is
least when it does all of w(S) from r(S) on: w(S) (r(S) + w(S) / 2); it is sum w_i (s_i + p_i / 2). Rows are written for the
sets that are tight in the best preemptive schedule of one machine (Goemans 1996, IPCO): jobs by w_i, and of the first of
them those it would serve without a pause.
"""

from collections.abc import Iterator, Mapping, Sequence

_ROUNDING = 1e-9  # part of the right side that is left out


def busy_rows(
    releases: Sequence[float], lengths: Sequence[float], shares: Sequence[float]
) -> Iterator[tuple[dict[int, float], float]]:
    """Yield weights by job, and what the weighted sum of the waits (start less release) is at least, where that is above 0.

    Parameters
    ----------
    releases, lengths
        r_i and p_i, shape (J,).
    shares
        Of the machine, while the job runs.

    >>> list(busy_rows([0.0, 0.0], [2.0, 2.0], [1.0, 1.0]))[0][0]
    {0: 0.5, 1: 0.5}
    """
    work = {i: share * length for i, (share, length) in enumerate(zip(shares, lengths, strict=True))}
    by_work = sorted(work, key=work.__getitem__)
    seen = set()
    for count in range(2, len(work) + 1):
        for held in _without_pause(releases, work, by_work[:count]):
            whole = sum(work[i] for i in held)
            if whole == 0 or tuple(held) in seen:
                continue
            seen.add(tuple(held))
            weights = {i: work[i] / whole for i in held}
            first = min(releases[i] for i in held)
            late = sum(weight * (releases[i] - first + lengths[i] / 2) for i, weight in weights.items())
            right = whole / 2 * (1 - _ROUNDING) - late * (1 + _ROUNDING)
            if right > 0:
                yield weights, right


def _without_pause(releases: Sequence[float], work: Mapping[int, float], jobs: Sequence[int]) -> list[list[int]]:
    """Split jobs into those that one machine would serve without a pause, first come, first served."""
    held: list[list[int]] = []
    free_s = 0.0
    for i in sorted(jobs, key=releases.__getitem__):
        if not held or releases[i] > free_s:
            held.append([])
        held[-1].append(i)
        free_s = max(free_s, releases[i]) + work[i]
    return held
