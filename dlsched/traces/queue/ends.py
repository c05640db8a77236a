"""Start, end and duration of jobs from what their source states: one rule for kept and left-out jobs.

A stated duration takes precedence over end - start. A missing start is end - duration, a missing end start +
duration.
"""

import math
from typing import Final

from dlsched.traces.queue.cells import Damaged
from dlsched.traces.queue.queue import QueuedJob

ROUNDED_S: Final = 1.0
"""Largest difference in seconds between duration and end - start that rounding explains."""

SAME_S: Final = 1e-6
"""Largest difference in seconds that floating-point arithmetic explains."""


def held(job: QueuedJob) -> QueuedJob:
    """Complete start, end and duration of an ended job; values that cannot be derived stay None.

    >>> job = QueuedJob("a", "", "", 0.0, None, 50.0, 30.0, 1)
    >>> held(job).start_s, held(job._replace(start_s=5.0)).end_s, held(job._replace(start_s=5.0, duration_s=None)).duration_s
    (20.0, 35.0, 45.0)

    Raises
    ------
    Damaged
        A duration below 0, or an end before the start.
    """
    start_s, end_s, duration_s = job.start_s, job.end_s, job.duration_s
    if duration_s is not None and duration_s < 0:
        raise Damaged("jobs with a duration below 0, left out", duration_s)
    if start_s is not None and end_s is not None and end_s < start_s:
        raise Damaged("jobs that end before they start, left out", end_s - start_s)
    if duration_s is None:
        if start_s is not None and end_s is not None:
            duration_s = end_s - start_s
    elif start_s is None:
        start_s = None if end_s is None else end_s - duration_s
    elif end_s is None or abs(end_s - start_s - duration_s) > max(SAME_S, 4 * math.ulp(end_s)):
        end_s = start_s + duration_s
    if (start_s, end_s, duration_s) == (job.start_s, job.end_s, job.duration_s):
        return job
    return job._replace(start_s=start_s, end_s=end_s, duration_s=duration_s)


def believable(job: QueuedJob) -> QueuedJob | None:
    """Complete them, dropping impossible values: a duration below 0, or an end before the start.

    None: all values are impossible.
    """
    if job.duration_s is not None and job.duration_s < 0:
        job = job._replace(duration_s=None)
    if job.start_s is not None and job.end_s is not None and job.end_s < job.start_s:
        return None if job.duration_s is None else held(job._replace(end_s=None))
    return held(job)


def assumption(job: QueuedJob) -> str:
    """Return what `held` assumes of a job, as a clause of the audit; empty: nothing."""
    if job.duration_s is None:
        return ""
    if job.start_s is None:
        said = "jobs that do not say when they started, which is taken from end and duration"
        return "" if job.end_s is None else said
    if job.end_s is None:
        return "jobs that do not say when they ended, which is taken from start and duration"
    if abs(job.end_s - job.start_s - job.duration_s) > max(ROUNDED_S, 1e-6 * job.duration_s):
        return "jobs whose stated duration is not end - start, which is believed"
    return ""
