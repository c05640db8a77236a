"""The job traces of Gavel as streams of malleable jobs, at the speeds that Gavel published."""

import functools
import re
from pathlib import Path
from typing import NamedTuple

from dlsched.cluster.published import published_speeds
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.instance import Instance
from dlsched.traces.queue import Request, Work, arriving, seconds_window, stream
from dlsched.traces.rows import counted, integer, number, rounded, tab_rows

COLUMNS = ("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time", "scale_factor")
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


class JobType(NamedTuple):
    """Steps of an epoch of a job type, and its seconds per epoch by count of GPUs."""

    epoch_steps: float
    epoch_time_s: dict[int, float]


def import_gavel(
    path: str,
    *,
    gpus: int | None = None,
    gpu_type: str | None = None,
    restart_s: float | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> tuple[Instance, list[str]]:
    """Read a ``.trace`` file of Gavel as an instance of elastic_stream, with its audit.

    A job takes ``total_steps`` divided by the steps per second of its type, all GPUs together. It may run on
    the counts at which its type was measured on ``gpu_type`` (None: V100).

    Raises
    ------
    UsageError, InputError, ValueError, OSError
        As ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    gpu_type = GPU_TYPES[0] if gpu_type is None else gpu_type
    if gpu_type not in GPU_TYPES:
        raise UsageError(where="gpu_type", found=repr(gpu_type), allowed=", ".join(GPU_TYPES))
    window = seconds_window(from_, to)
    file = Path(path)
    requests, audit = read_gavel(file, gpu_type)
    kept, said = arriving(file, requests, window)
    works = [_work(request, gpu_type) for request in kept]
    audit += [*said, *_assumed(kept, gpu_type)]
    head = (
        f"{file.name} of stanford-futuredata/gavel (MIT), speeds of its gavel_simulation_throughputs.json on {gpu_type}"
    )
    return stream("gavel", head, kept, works, window, gpus, restart_s, audit)


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


def read_gavel(path: Path, gpu_type: str) -> tuple[list[Request], list[str]]:
    """Read the jobs in the order of the file, and say what the rows were; errors as ``import_gavel``."""
    requests = []
    seen: set[tuple[str, ...]] = set()
    for line, row in tab_rows(path, COLUMNS):
        where = f"{path}, line {line}"
        steps, gpus = integer(row, "total_steps", where, digits=15), integer(row, "scale_factor", where)
        arrival_s = number(row, "arrival_time", where)
        if row["job_type"] not in job_types(gpu_type):
            raise ValueError(
                f"{where}: job_type must be one that Gavel measured on {gpu_type}, found {row['job_type']!r}"
            )
        seen.add(tuple(row.values()))
        requests.append(Request(arrival_s, gpus, steps, row["job_type"]))
    audit = counted(len(requests), len(requests), len(seen))
    return requests, [*audit, "Commands and data folders are left out; steps are counted on all GPUs together."]


def _work(request: Request, gpu_type: str) -> Work:
    """Return epochs and times of the job, and its GPU-seconds on the largest measured count up to its request."""
    epoch_steps, times = job_types(gpu_type)[request.job_type]
    gpus, seconds = measured(request, gpu_type)
    return Work(request.size / epoch_steps, times, gpus * seconds)


def measured(request: Request, gpu_type: str) -> tuple[int, float]:
    """Return the largest measured count of the job's type up to its request, and the job's seconds on that count."""
    epoch_steps, times = job_types(gpu_type)[request.job_type]
    gpus = max(count for count in times if count <= request.gpus)
    return gpus, request.size / epoch_steps * times[gpus]


def _assumed(kept: list[Request], gpu_type: str) -> list[str]:
    """Say for how many jobs the speeds differ from what the trace asks for, or from what one expects."""
    tables = job_types(gpu_type)
    missing = sum(request.gpus not in tables[request.job_type].epoch_time_s for request in kept)
    single = sum(len(tables[request.job_type].epoch_time_s) == 1 for request in kept)
    times = [list(tables[request.job_type].epoch_time_s.values()) for request in kept]
    uneven = sum(each != sorted(each, reverse=True) for each in times)
    inverted = sum(bool(re.match("Recommendation", request.job_type)) for request in kept)
    audit = [
        "A job may run on every count at which its type was measured, whatever its scale_factor.",
        f"Jobs whose type was not measured at their scale_factor: {missing:,}; they run on the counts it has."
        if missing
        else "",
        f"Jobs of types measured on 1 GPU only: {single:,}; an epoch is {EPOCH_STEPS:,} steps by our definition."
        if single
        else "",
        f"Jobs of types slower on some larger count, kept as published: {uneven:,}." if uneven else "",
        f"Jobs of Recommendation: {inverted:,}; this file has it slower on V100 than on P100, Gavel's physical cluster "
        "faster."
        if inverted
        else "",
    ]
    return [sentence for sentence in audit if sentence]
