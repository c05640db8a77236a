"""Job traces that simulators use: Philly as AdaptDL has it, Gavel and Tiresias; they do not record when jobs ran.

The readers here are strict: a malformed row is a `ValueError` that names its line. Each returns the jobs in the order of the
file, and the audit.
"""

import functools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dlsched.cluster.published import published_speeds
from dlsched.core.errors import InputError, UsageError
from dlsched.traces.cells import rounded
from dlsched.traces.queue import Queue, QueuedJob, Window, counted, date_text, seconds_text, seconds_window
from dlsched.traces.readers.text_tables import csv_rows, integer, real_number, tab_rows

PHILLY_SOURCE = "petuum/adaptdl, branch osdi21-artifact (Apache-2.0), from msr-fiddle/philly-traces (CC-BY 4.0)"
PHILLY_COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")

GAVEL_COLUMNS = (
    *("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time", "scale_factor"),
)
GPU_TYPES = ("V100", "P100", "K80")

# job types with a speed on one GPU only: steps per second on V100, P100 and K80 (None: published for several counts),
# from gavel_simulation_throughputs.json of stanford-futuredata/gavel (MIT), to 6 digits
SINGLE_GPU_STEPS_PER_S: dict[str, tuple[float | None, float | None, float | None]] = {
    "A3C": (7.17577, 5.68135, 3.43877),
    "CycleGAN": (4.42609, 2.40267, 0.504771),
    "Recommendation (batch size 512)": (23.3176, 48.8824, 32.8593),
    "Recommendation (batch size 1024)": (13.2826, 30.7444, 20.0500),
    "Recommendation (batch size 2048)": (7.46963, 16.5966, 10.4412),
    "Recommendation (batch size 4096)": (3.90605, 8.89666, 5.30025),
    "Recommendation (batch size 8192)": (2.84151, 5.54844, 2.69878),
    "ResNet-50 (batch size 128)": (None, None, 0.347224),  # does not fit on several K80s
}
EPOCH_STEPS = 1000  # steps of an epoch of a job type without a published table

TIRESIAS_COLUMNS = ("num_gpu", "submit_time", "iterations", "model_name", "duration")
TIRESIAS_MODELS = {
    "alexnet": "VGG-16",
    "vgg11": "VGG-16",
    "vgg16": "VGG-16",
    "vgg19": "VGG-16",
    "googlenet": "ResNet-50",
    "inception3": "ResNet-50",
    "inception4": "ResNet-152",
    "resnet50": "ResNet-50",
    "resnet101": "ResNet-152",
    "resnet152": "ResNet-152",
}
"""The nearest published model of each model of the trace."""

Jobs = tuple[list[QueuedJob], list[str]]
"""Jobs in the order of the file, and the audit."""


class _Rows:
    """The jobs of a file, and how many of its rows are kept as jobs, and different."""

    def __init__(self) -> None:
        self.jobs: list[QueuedJob] = []
        self.read, self.seen = 0, set[tuple[str, ...]]()

    def add(
        self,
        row: Sequence[str],
        submit_s: float,
        gpus: int,
        duration_s: float,
        group: str,
        *,
        user: str = "",
        steps: int | None = None,
    ) -> None:
        """Keep the job of a row, if it has a length."""
        self.read += 1
        self.seen.add(tuple(row))
        if duration_s > 0:
            place = len(self.jobs) + 1
            job = QueuedJob(
                f"job-{place}", user, group, submit_s, None, None, duration_s, gpus, line=place, steps=steps
            )
            self.jobs.append(job)

    def sentences(self) -> list[str]:
        """Sentences of the audit."""
        return [
            f"Rows read: {self.read:,}.",
            *counted("Rows with a duration of 0 s or less, left out", self.read - len(self.jobs)),
            *counted("Rows equal to an earlier row, kept as jobs of their own", self.read - len(self.seen)),
        ]


def read_philly_jobs(path: Path) -> Jobs:
    """Read the jobs of ``philly_jobs.csv``; their user is the virtual cluster, their group that and their GPUs."""
    rows, clusters, unequal = _Rows(), set[str](), 0
    for line, row in csv_rows(path, PHILLY_COLUMNS):
        where = f"{path}, line {line}"
        try:
            arrival_s = _date(row["timestamp"])
        except ValueError:
            found = row["timestamp"]
            raise ValueError(f"{where}: timestamp must be a date and time without zone, found {found!r}") from None
        gpus, duration_s = integer(row, "num_gpus", where), real_number(row, "duration", where)
        unequal += not math.isclose(real_number(row, "gpu_time", where), duration_s * gpus, rel_tol=1e-6)
        clusters.add(row["cluster"])
        user = row["cluster"].strip()
        cells = [row[column] for column in PHILLY_COLUMNS]
        rows.add(cells, arrival_s, gpus, duration_s, f"{user}-{gpus}" if user else "", user=user)
    merged = len(clusters) if len(clusters) > 1 else 0
    return rows.jobs, [
        *rows.sentences(),
        *counted("Rows whose gpu_time is not duration x num_gpus, which are believed", unequal),
        *counted("Virtual clusters merged into one cluster, quotas unknown", merged),
        "The trace has no status: jobs that failed or were killed count as done after their duration.",
        "The timestamps have no time zone and are used as they are, daylight saving included.",
    ]


class JobType(NamedTuple):
    """Steps of an epoch of a job type of Gavel, and its seconds per epoch by count of GPUs."""

    epoch_steps: float
    epoch_time_s: dict[int, float]

    def largest(self, gpus: int) -> int:
        """The largest measured count up to ``gpus``."""
        return max(count for count in self.epoch_time_s if count <= gpus)


@functools.cache
def job_types(gpu_type: str) -> dict[str, JobType]:
    """Return every job type of Gavel that runs on that type of GPU."""
    types = {}
    for name, steps_per_s in SINGLE_GPU_STEPS_PER_S.items():
        rate = steps_per_s[GPU_TYPES.index(gpu_type)]
        if rate is not None:
            types[name] = JobType(EPOCH_STEPS, {1: rounded(EPOCH_STEPS / rate)})
    for speed in published_speeds():
        if speed.gpu == gpu_type:
            times = dict(zip(speed.counts, speed.epoch_time_s, strict=True))
            name = f"{speed.model} (batch size {speed.batch_samples})"
            types[name] = JobType(speed.epoch_samples / speed.batch_samples, times)
    return types


def word_of(job: QueuedJob) -> str:
    """The job type of Gavel or the model of Tiresias, of which and the GPUs the group is made."""
    return job.group.rpartition(" on ")[0]


def require_gpu_type(gpu_type: str | None) -> str:
    """The type of GPUs on which jobs of Gavel run, V100 for None; another than Gavel's is a `UsageError`."""
    gpu_type = GPU_TYPES[0] if gpu_type is None else gpu_type
    if gpu_type not in GPU_TYPES:
        raise UsageError(where="gpu_type", found=repr(gpu_type), allowed=", ".join(GPU_TYPES))
    return gpu_type


def read_gavel_jobs(path: Path, gpu_type: str) -> Jobs:
    """Read the jobs of a ``.trace`` file; they last their steps at the speed of the largest count measured up to theirs."""
    rows = _Rows()
    for line, row in tab_rows(path, GAVEL_COLUMNS):
        where = f"{path}, line {line}"
        steps, gpus = integer(row, "total_steps", where, digits=15), integer(row, "scale_factor", where)
        arrival_s = real_number(row, "arrival_time", where)
        kind = job_types(gpu_type).get(row["job_type"])
        if kind is None:
            raise ValueError(
                f"{where}: job_type must be one that Gavel measured on {gpu_type}, found {row['job_type']!r}"
            )
        # Seconds on the largest measured count up to the one asked for.
        seconds = steps / kind.epoch_steps * kind.epoch_time_s[kind.largest(gpus)]
        rows.add([*row.values()], arrival_s, gpus, seconds, f"{row['job_type']} on {gpus}", steps=steps)
    words = "Commands and data folders are left out; steps are counted on all GPUs together."
    return rows.jobs, [*rows.sentences(), words]


def read_tiresias_jobs(path: Path) -> Jobs:
    """Read the jobs of ``tiresias_60_jobs.csv``; their steps are iterations."""
    rows = _Rows()
    for line, row in csv_rows(path, TIRESIAS_COLUMNS):
        where = f"{path}, line {line}"
        gpus, iterations = integer(row, "num_gpu", where), integer(row, "iterations", where, digits=15)
        submit_s, duration_s = real_number(row, "submit_time", where), real_number(row, "duration", where)
        if row["model_name"] not in TIRESIAS_MODELS:
            allowed = ", ".join(TIRESIAS_MODELS)
            raise ValueError(f"{where}: model_name must be one of {allowed}, found {row['model_name']!r}")
        rows.add([*row.values()], submit_s, gpus, duration_s, f"{row['model_name']} on {gpus}", steps=iterations)
    return rows.jobs, rows.sentences()


def arriving(path: Path, jobs: Sequence[QueuedJob], window: Window) -> Jobs:
    """Keep the jobs of the window in order of arrival, and say what was dropped and repaired; InputError if none is left."""
    unsorted = sum(later.submit_s < earlier.submit_s for earlier, later in pairwise(jobs))
    kept = sorted((job for job in jobs if window.holds(job.submit_s)), key=lambda job: job.submit_s)
    if not kept:
        raise InputError(where=str(path), found="no job that runs and arrives in the window", allowed="at least one")
    return kept, [
        *counted("Rows earlier than the row above them", unsorted, "; the jobs were sorted by arrival."),
        *counted("Jobs that arrive outside the window, left out", len(jobs) - len(kept)),
    ]


def gavel_queue(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_type: str | None = None
) -> Queue:
    """Read a ``.trace`` file of Gavel; a job takes its steps at the published speed of its type on ``gpu_type`` (None: V100)."""
    # Jobs have a length and no end, so that all of them have ended.
    del ended_only
    _require_no_states(states, "gavel")
    gpu_type = require_gpu_type(gpu_type)
    jobs, audit = read_gavel_jobs(path, gpu_type)
    audit = [
        *audit,
        f"Lengths are total_steps at Gavel's speeds on {gpu_type}, on the largest count measured up to scale_factor.",
        "The trace has no users; a group is a job type and a number of GPUs.",
    ]
    return Queue("gavel", str(path), tuple(jobs), tuple(audit), dated=False)


def tiresias_queue(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``tiresias_60_jobs.csv`` of Tiresias; ``states`` and ``ended_only`` as ``gavel_queue``."""
    del ended_only
    _require_no_states(states, "tiresias")
    jobs, audit = read_tiresias_jobs(path)
    audit = [*audit, "The trace has no users; a group is a model of the trace and a number of GPUs."]
    return Queue("tiresias", str(path), tuple(jobs), tuple(audit), dated=False)


def _require_no_states(states: Collection[str] | None, source: str) -> None:
    if states is not None:
        raise UsageError(
            where="states", found=repr(",".join(states)), allowed=f"none, as jobs of {source} have no state"
        )


def philly_window(from_: str | None, to: str | None) -> Window:
    """Read a window of dates or times; errors as ``Window.read``."""
    return Window.read(from_, to, _date, "a date or time such as 2017-10-09 or 2017-10-09T07:00:00, no time zone")


def _date(text: str) -> float:
    """Seconds of a date and time without a time zone."""
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is not None:
        raise ValueError("a time zone")
    return moment.replace(tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of a kind of trace: arrivals of its jobs, a window read in its format of times, and a moment written in it."""

    arrivals: Callable[[Path], list[float]]
    window: Callable[[str | None, str | None], Window]
    moment: Callable[[float], str]


def _gavel_arrivals(path: Path) -> list[float]:
    """Arrivals alone: whether a job type was measured depends on the type of GPU, which no window needs."""
    rows = tab_rows(path, GAVEL_COLUMNS)
    return [real_number(row, "arrival_time", f"{path}, line {line}") for line, row in rows]


PHILLY = Clock(lambda path: [job.submit_s for job in read_philly_jobs(path)[0]], philly_window, date_text)
GAVEL = Clock(_gavel_arrivals, seconds_window, seconds_text)
TIRESIAS = Clock(lambda path: [job.submit_s for job in read_tiresias_jobs(path)[0]], seconds_window, seconds_text)
