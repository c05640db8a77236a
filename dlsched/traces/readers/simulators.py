"""Job traces of the simulators Gavel and Tiresias as queues; they do not record when jobs ran."""

from collections.abc import Collection
from pathlib import Path

from dlsched.core.errors import UsageError
from dlsched.traces.gang_traces import read_tiresias
from dlsched.traces.gavel import GPU_TYPES, measured, read_gavel
from dlsched.traces.queue import Queue, QueuedJob, Request


def gavel_queue(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_type: str | None = None
) -> Queue:
    """Read a ``.trace`` file of Gavel; a job takes its steps at the published speed of its type on ``gpu_type`` (None: V100).

    ``ended_only`` changes nothing, as jobs have a length and no end.

    Raises
    ------
    UsageError
        States, of which the trace has none; another type of GPU.
    ValueError, OSError
        As ``import_gavel``.
    """
    del ended_only
    _stateless(states, "gavel")
    gpu_type = GPU_TYPES[0] if gpu_type is None else gpu_type
    if gpu_type not in GPU_TYPES:
        raise UsageError(where="gpu_type", found=repr(gpu_type), allowed=", ".join(GPU_TYPES))
    requests, audit = read_gavel(path, gpu_type)
    audit = [
        *audit,
        f"Lengths are total_steps at Gavel's speeds on {gpu_type}, on the largest count measured up to scale_factor.",
        "The trace has no users; a group is a job type and a number of GPUs.",
    ]
    return _queue("gavel", path, requests, [measured(each, gpu_type)[1] for each in requests], audit)


def tiresias_queue(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``tiresias_60_jobs.csv`` of Tiresias.

    ``ended_only`` changes nothing, as jobs have a length and no end.

    Raises
    ------
    UsageError
        States, of which the trace has none.
    ValueError, OSError
        As ``import_tiresias``.
    """
    del ended_only
    _stateless(states, "tiresias")
    requests, audit = read_tiresias(path)
    audit = [*audit, "The trace has no users; a group is a model of the trace and a number of GPUs."]
    return _queue("tiresias", path, requests, [each.size for each in requests], audit)


def _stateless(states: Collection[str] | None, source: str) -> None:
    if states is not None:
        raise UsageError(
            where="states", found=repr(",".join(states)), allowed=f"none, as jobs of {source} have no state"
        )


def _queue(source: str, path: Path, requests: list[Request], lengths_s: list[float], audit: list[str]) -> Queue:
    jobs = tuple(
        QueuedJob(
            f"job-{place}",
            "",
            f"{request.job_type} on {request.gpus}",
            request.arrival_s,
            None,
            None,
            length_s,
            request.gpus,
            line=place,
        )
        for place, (request, length_s) in enumerate(zip(requests, lengths_s, strict=True), 1)
    )
    return Queue(source, str(path), jobs, tuple(audit), dated=False)
