"""Rules for the jobs of a file that make its queue, shared by all readers.

Jobs that held GPUs and ended are kept, whatever their state. A stated duration takes precedence over end - start, also where
that is below 0, as over a change of clocks. A missing start is end - duration, a missing end start + duration.
"""

import math
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.messages import cut, printable
from dlsched.traces.cells import Damaged
from dlsched.traces.queue import Audit, Queue, QueuedJob, QueueNode

ROUNDED_S: Final = 1.0
"""Largest difference in seconds between duration and end - start that rounding explains."""

SAME_S: Final = 1e-6
"""Largest difference in seconds that floating-point arithmetic explains."""


def completed(job: QueuedJob) -> QueuedJob:
    """Complete start, end and duration of an ended job; values that cannot be derived stay None.

    >>> job = QueuedJob("a", "", "", 0.0, None, 50.0, 30.0, 1)
    >>> completed(job).start_s, completed(job._replace(start_s=5.0)).end_s
    (20.0, 35.0)
    >>> completed(job._replace(start_s=5.0, duration_s=None)).duration_s
    45.0
    """
    start_s, end_s, duration_s = job.start_s, job.end_s, job.duration_s
    if duration_s is not None and duration_s < 0:
        raise Damaged("jobs with a duration below 0, left out", duration_s)
    if duration_s is None and start_s is not None and end_s is not None and end_s < start_s:
        raise Damaged("jobs that end before they start, left out", end_s - start_s)
    # The duration wins over end - start, unless they differ by no more than rounding of floats.
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
    """Complete a job that was left out, without impossible values; None: all of them are."""
    if job.duration_s is not None and job.duration_s < 0:
        job = job._replace(duration_s=None)
    if job.duration_s is None and job.start_s is not None and job.end_s is not None and job.end_s < job.start_s:
        return None
    return completed(job)


def assumption(job: QueuedJob) -> str:
    """What ``completed`` assumes of a job, as a clause of the audit; empty: nothing."""
    if job.duration_s is None:
        return ""
    if job.start_s is None:
        note = "jobs without a start, computed from end and duration"
        return "" if job.end_s is None else note
    if job.end_s is None:
        return "jobs without an end, computed from start and duration"
    if job.end_s < job.start_s:
        return "jobs that end before they start (as when clocks go back), whose stated duration is used"
    if abs(job.end_s - job.start_s - job.duration_s) > max(ROUNDED_S, 1e-6 * job.duration_s):
        return "jobs whose stated duration differs from end - start, and is used"
    return ""


NO_GPU = "jobs without a GPU, left out"

REASONS_SHOWN = 600  # characters of the audit that an error shows


@dataclass
class QueueCollector:
    """Collects the jobs from a reader, and makes their queue.

    ``states``: those kept, in the source's words; None: all. ``attempts``: rows with one id are attempts of one job.
    """

    source: str
    path: Path
    audit: Audit
    states: Collection[str] | None = None
    ended_only: bool = True
    attempts: bool = False
    _jobs: list[QueuedJob] = field(default_factory=list)
    _ended: bytearray = field(default_factory=bytearray)
    _places: dict[str, int] = field(default_factory=dict)
    _attempts: list[tuple[QueuedJob, bool]] = field(default_factory=list)
    _repeated: set[QueuedJob] = field(default_factory=set)  # rows of jobs with several attempts, without their lines

    def add(self, job: QueuedJob, *, ended: bool) -> None:
        """Take a job as in the file: ``duration_s`` as stated, else None; ``submit_s`` NaN if not stated."""
        if not job.gpus:
            self.audit.note(NO_GPU, job.line)
            return
        place = self._places.setdefault(job.id, len(self._jobs))
        if place < len(self._jobs):
            # Dumps that were appended to each other repeat rows word for word; anything else is an attempt or another job.
            row = job._replace(line=0)
            if row in self._repeated or row == self._jobs[place]._replace(line=0):
                self.audit.note("duplicate rows of a job, left out", job.line)
                return
            if self.attempts:
                self._repeated |= {row, self._jobs[place]._replace(line=0)}
                self.audit.note("earlier attempts of a job, left out, as its last one counts", job.line)
                earlier = job, ended
                if _begun(self._jobs[place]) <= _begun(job):
                    earlier = self._jobs[place], bool(self._ended[place])
                    self._jobs[place], self._ended[place] = job, ended
                self._attempts.append(earlier)
                return
            self.audit.note("jobs with the id of another job, renamed by a number", job.line, job.id)
            job = job._replace(id=self._free(job.id))
            self._places[job.id] = len(self._jobs)
        self._jobs.append(job)
        self._ended.append(ended)

    def _free(self, name: str) -> str:
        count = 2
        while f"{name} ({count})" in self._places:
            count += 1
        return f"{name} ({count})"

    def queue(self, notes: Collection[str], *, dated: bool, nodes: tuple[QueueNode, ...] = ()) -> Queue:
        """Make the queue; ``notes`` are assumptions for its audit. InputError: no job is left."""
        jobs = tuple(self._settled())
        if not jobs:
            what = "held GPUs and has ended" if self.ended_only else "holds, held or wants GPUs"
            reasons = " ".join(self.audit.sentences())[:REASONS_SHOWN].rstrip(".")
            allowed = f"at least one ({reasons})" if reasons else "at least one"
            raise InputError(where=str(self.path), found=f"no job that {what}", allowed=allowed)
        later = sum(second.submit_s < first.submit_s for first, second in pairwise(jobs))
        latest_s = max(map(_latest, self._jobs))
        # Jobs that were left out held GPUs too, for which the others had to wait.
        kept = {job.id for job in jobs}
        others = tuple(self._others(kept, latest_s))
        still = tuple(
            job._replace(end_s=None, duration_s=None)
            for job, ended in zip(self._jobs, self._ended, strict=True)
            if not ended and job.start_s is not None and job.id not in kept
        )
        audit = [
            f"Jobs read: {len(jobs):,}.",
            *self.audit.sentences(),
            f"Jobs submitted before the one above them: {later:,}; the order is that of the file." if later else "",
            *notes,
        ]
        return Queue(
            self.source,
            str(self.path),
            jobs,
            tuple(filter(None, audit)),
            dated,
            nodes,
            latest_s,
            others,
            still,
            arrays={job.array: job.at_once for job in self._jobs if job.array and job.at_once is not None},
            waiting=sum(
                not ended and job.start_s is None and job.id not in kept
                for job, ended in zip(self._jobs, self._ended, strict=True)
            ),
        )

    def _others(self, kept: Set[str], latest_s: float) -> Iterator[QueuedJob]:
        """Yield left-out jobs and earlier attempts that held GPUs, to the latest time of the file if no end is known."""
        left_out = (pair for pair in zip(self._jobs, self._ended, strict=True) if pair[0].id not in kept)
        for job, ended in (*left_out, *self._earlier()):
            ran = believable(job if ended else job._replace(end_s=None, duration_s=None))
            if ran is None or (ran.start_s is None and ran.duration_s):
                self.audit.note("jobs left out with neither start nor end, assumed to have used no GPUs", job.line)
            elif ran.start_s is not None:
                if ran.end_s is None:
                    self.audit.note(
                        "jobs left out without an end, assumed to hold their GPUs until the latest time in the file",
                        job.line,
                    )
                end_s = latest_s if ran.end_s is None else ran.end_s
                if end_s > ran.start_s:
                    yield ran._replace(end_s=end_s, duration_s=end_s - ran.start_s)

    def _earlier(self) -> Iterator[tuple[QueuedJob, bool]]:
        """Yield earlier attempts; one without end and duration ended when the next began."""
        starts_s: dict[str, list[float]] = {job.id: [] for job, _ in self._attempts}
        for job in self._jobs:
            if job.id in starts_s:
                starts_s[job.id].append(_begun(job))
        stated_end = [ended and (job.end_s, job.duration_s) != (None, None) for job, ended in self._attempts]
        # Records with the same start are one attempt: stated ends first, the last record first, only that one is yielded.
        for index in sorted(range(len(stated_end)), key=lambda index: (stated_end[index], index), reverse=True):
            job, _ = self._attempts[index]
            start_s, known_s = job.start_s, starts_s[job.id]
            if start_s is None or start_s in known_s:
                continue
            if not stated_end[index]:
                job = job._replace(end_s=min(each for each in known_s if each > start_s), duration_s=None)
            known_s.append(start_s)
            yield job, True

    def _settled(self) -> Iterator[QueuedJob]:
        wanted = None if self.states is None else {state.casefold() for state in self.states}
        for job, ended in zip(self._jobs, self._ended, strict=True):
            if wanted is not None and job.state.casefold() not in wanted:
                self.audit.note(
                    f"jobs in state {cut(printable(job.state), 40) or '(none)'}, left out as requested", job.line
                )
                continue
            try:
                settled = self._ended_job(job) if ended else self._open_job(job)
            except Damaged as damage:
                self.audit.note(damage.reason, job.line, damage.found)
                continue
            if settled is not None:
                yield settled

    def _open_job(self, job: QueuedJob) -> QueuedJob | None:
        if self.ended_only:
            self.audit.note("jobs that are still running or waiting, left out", job.line)
            return None
        return self._submitted(job)._replace(end_s=None, duration_s=None)

    def _ended_job(self, job: QueuedJob) -> QueuedJob | None:
        ran = completed(job)
        if not ran.duration_s:
            if ran.duration_s is None and ran.start_s is not None:
                raise Damaged("jobs with a start but neither end nor duration, left out")
            self.audit.note("jobs that ended without running, left out", job.line)
            return None
        if note := assumption(job):
            self.audit.note(note, job.line, None if job.start_s is None or job.end_s is None else job.duration_s)
        return self._submitted(ran)

    def _submitted(self, job: QueuedJob) -> QueuedJob:
        if math.isnan(job.submit_s):
            raise Damaged("jobs without a submission time, left out")
        if job.start_s is not None and job.start_s < job.submit_s:
            self.audit.note("jobs that start before their submission, assumed to be submitted at their start", job.line)
            return job._replace(submit_s=job.start_s)
        return job


def _begun(job: QueuedJob) -> float:
    """The later of its submission and the start of its last attempt; a missing time counts as earliest."""
    return max(_said(job.submit_s), _said(job.start_s))


def _latest(job: QueuedJob) -> float:
    """The latest time that a record implies: a job that runs since its start has done so for its stated duration."""
    ran_s = None if job.start_s is None or job.end_s is not None else job.start_s + max(job.duration_s or 0.0, 0.0)
    return max(_begun(job), _said(job.end_s), _said(ran_s))


def _said(moment_s: float | None) -> float:
    return -math.inf if moment_s is None or math.isnan(moment_s) else moment_s
