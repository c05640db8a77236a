"""Arrivals of traces: jobs that arrive in a window, the size of their cluster, and the stream of these jobs.

Times are seconds on the trace's clock; in instances they are relative to the start of the window, or to the
first arrival if no start is given.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dlsched.core.errors import InputError, UsageError
from dlsched.elastic_stream.instance import Instance
from dlsched.traces.sentences import Sentence, figure

GPUS_OF_A_SERVER = 8  # the default cluster has a multiple of 8 GPUs


class Request(NamedTuple):
    """A job as in its trace: arrival, GPUs that its user asked for, size (seconds or steps), and words."""

    arrival_s: float
    gpus: int
    size: float
    job_type: str = ""
    virtual_cluster: str = ""
    iterations: int | None = None


class Work(NamedTuple):
    """A job as in its instance: epochs, seconds per epoch by count, GPU-seconds on the requested GPUs."""

    epochs: float
    epoch_time_s: dict[int, float]
    gpu_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """The arrivals that are kept: from ``start_s`` on and before ``end_s``; None: no limit."""

    start_s: float | None
    end_s: float | None

    @classmethod
    def read(cls, from_: str | None, to: str | None, clock: Callable[[str], float], allowed: str) -> "Window":
        """Read both ends in the trace's format of times, which ``allowed`` describes.

        Raises
        ------
        UsageError
            An end that ``clock`` refuses with a `ValueError`, or an end that is not after the start.
        """
        ends: list[float | None] = []
        for name, text in (("from", from_), ("to", to)):
            try:
                ends.append(None if text is None else clock(text))
            except ValueError:
                raise UsageError(where=name, found=repr(text), allowed=allowed) from None
        start_s, end_s = ends
        if start_s is not None and end_s is not None and start_s >= end_s:
            raise UsageError(where="to", found=repr(to), allowed=f"a time after from, {from_!r}")
        return cls(start_s, end_s)

    def holds(self, time_s: float) -> bool:
        """Whether a job that arrives at that time is kept."""
        return (self.start_s is None or self.start_s <= time_s) and (self.end_s is None or time_s < self.end_s)

    def span(self, kept: Sequence[Request]) -> tuple[float, float]:
        """Start and end of the window; missing ends are the first and last of the sorted arrivals."""
        start_s = kept[0].arrival_s if self.start_s is None else self.start_s
        return start_s, kept[-1].arrival_s if self.end_s is None else self.end_s


def date_text(time_s: float) -> str:
    """Write seconds since 1970 as a date of UTC without a zone.

    >>> date_text(90.0)
    '1970-01-01T00:01:30'
    """
    return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat()


def seconds_text(time_s: float) -> str:
    """Write seconds, whole ones as integers.

    >>> seconds_text(90.0), seconds_text(0.5)
    ('90', '0.5')
    """
    return repr(int(time_s)) if time_s == int(time_s) else repr(time_s)


def seconds_window(from_: str | None, to: str | None) -> Window:
    """Read a window of a trace whose times are numbers; errors as ``Window.read``."""

    def clock(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("no finite number")
        return value

    return Window.read(from_, to, clock, "a number of seconds")


def arriving(path: Path, requests: Sequence[Request], window: Window) -> tuple[list[Request], list[str]]:
    """Keep the jobs of the window in order of arrival, and say what was dropped and repaired.

    Raises
    ------
    InputError
        No job is left.
    """
    unsorted = sum(later.arrival_s < earlier.arrival_s for earlier, later in pairwise(requests))
    kept = sorted(
        (request for request in requests if window.holds(request.arrival_s)), key=lambda request: request.arrival_s
    )
    if not kept:
        raise InputError(where=str(path), found="no job that runs and arrives in the window", allowed="at least one")
    dropped = len(requests) - len(kept)
    audit = [
        f"Rows earlier than the row above them: {unsorted:,}; the jobs were sorted by arrival." if unsorted else "",
        f"Jobs that arrive outside the window, left out: {dropped:,}." if dropped else "",
    ]
    return kept, [sentence for sentence in audit if sentence]


def stream(
    source: str,
    head: str,
    kept: Sequence[Request],
    works: Sequence[Work],
    window: Window,
    gpus: int | None,
    restart_s: float | None,
    audit: list[str],
) -> tuple[Instance, list[str]]:
    """Make the instance of the jobs that were kept, on ``gpus`` GPUs (None: their average demand), and end its audit."""
    start_s, end_s = window.span(kept)
    least = [min(work.epoch_time_s) for work in works]
    units, said = cluster_gpus(kept, [work.gpu_s for work in works], least, end_s - start_s, gpus, "stream")
    audit = [*audit, *said]
    if restart_s is None:
        audit.append("A restart is taken to cost 0 s: the trace does not say.")
    jobs = [
        {
            "id": f"j{index}",
            "arrival_s": round(request.arrival_s - start_s, 6),
            "epochs": work.epochs,
            "epoch_time_s": work.epoch_time_s,
            "restart_s": restart_s or 0.0,
        }
        for index, (request, work) in enumerate(zip(kept, works, strict=True))
    ]
    text = f"imported from {head}. Audit: {' '.join(audit)}"
    return Instance(name=f"{source}-{len(jobs)}x{units}", source=text, units=units, jobs=jobs), audit


def cluster_gpus(
    kept: Sequence[Request], gpu_s: Sequence[float], least: Sequence[int], seconds: float, gpus: int | None, answer: str
) -> tuple[int, list[Sentence]]:
    """Choose the size of the cluster: the given one, or the average demand, at most the sum of all requests.

    Parameters
    ----------
    kept
        The jobs.
    gpu_s, least
        GPU-seconds of every job, and the least GPUs that it can run on.
    seconds
        Length of the period of arrivals.
    gpus
        The given size; None: none.
    answer
        Name of the answer that does not exist if some job does not fit.
    """
    together = sum(request.gpus for request in kept)
    demand = math.fsum(gpu_s) / seconds if seconds > 0 else math.inf
    if demand < together:
        words = "The jobs ask for ", figure(demand, ",.1f"), " GPUs on average over "
    else:
        words = "All jobs together ask for ", figure(together), " GPUs, no more than on average over "
    audit = [Sentence(*words, figure(seconds, ",.0f"), " s of arrivals.")]
    if gpus is None:
        needed = max(min(demand, together), max(least))
        gpus = GPUS_OF_A_SERVER * math.ceil(needed / GPUS_OF_A_SERVER)
        cause = ("as some job needs ", figure(needed)) if needed == max(least) else ("that",)
        rounded = f", rounded up to a multiple of {GPUS_OF_A_SERVER}."
        audit.append(Sentence("The cluster is given ", figure(gpus), " GPUs: ", *cause, rounded))
    if gpus < min(demand, together):
        share = (figure(100 * demand / gpus, ",.0f"), " %") if seconds > 0 else ("more than all",)
        grows = " GPUs while they arrive; over 100 % the queue grows, and flow times depend on how long that lasts."
        audit.append(Sentence("Warning: the jobs ask for ", *share, " of the ", figure(gpus), grows, warns=True))
    unfit = sum(count > gpus for count in least)
    if unfit:
        large = f"Jobs that need more GPUs than the cluster has, so that no {answer} exists: "
        audit.append(Sentence(large, figure(unfit), "."))
    return gpus, audit
