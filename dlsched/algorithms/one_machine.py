"""Valid inequalities of one machine: lower bounds on work-weighted sums of the starts of its jobs.

Job i starts at s_i, takes p_i, and has the work w_i = p_i times its share of the machine; the shares of jobs
that run at one time add up to at most 1. The machine does not work on a set S before r(S) = min r_i, and
never faster than 1. So the integral of t over this work, sum w_i (s_i + p_i / 2), is least if the machine
does all of w(S) from r(S) on: w(S) (r(S) + w(S) / 2). Rows are written for the sets that are tight in the
best preemptive schedule of one machine (Goemans 1996, IPCO): take the jobs of least w_i, as many as there
may be, and of these each group that the machine would serve without a pause.
"""

from collections.abc import Iterator, Mapping, Sequence

_ROUNDING = 1e-9  # relative amount by which right sides are lowered


def busy_rows(
    releases: Sequence[float], lengths: Sequence[float], shares: Sequence[float]
) -> Iterator[tuple[dict[int, float], float]]:
    """Yield weights by job, and a lower bound > 0 on the weighted sum of the waits (start less release).

    ``shares``: the part of the machine that each job takes while it runs; all arguments have shape (J,).

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
            # The inequality for starts, divided by w(S) and with releases moved to the right side, rounded down.
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
