"""Queues and traces for the tests of what is made of them."""

from pathlib import Path
from typing import Any

from dlsched.traces.queue import Queue, QueuedJob


def job(
    name: str, submit_s: float, start_s: float | None, duration_s: float | None, gpus: int, **more: Any
) -> QueuedJob:
    """A job that ended as it should have; ``start_s`` None: nothing is said of when it ran."""
    end_s = None if start_s is None or duration_s is None else start_s + duration_s
    return QueuedJob(name, "", "", submit_s, start_s, end_s, duration_s, gpus)._replace(**more)


def queue(*jobs: QueuedJob, **more: Any) -> Queue:
    """A queue as ``csv`` reads it, in seconds unless ``dated``."""
    return Queue("csv", "folder/jobs.csv", jobs, ("Read.",), **{"dated": False} | more)


def philly_file(tmp_path: Path, *rows: str) -> str:
    """Rows of a day, ``time,duration,gpus`` with or without a virtual cluster; rows of all five cells as they are."""
    path = tmp_path / "philly_jobs.csv"
    lines = ["timestamp,duration,num_gpus,gpu_time,cluster"]
    for row in rows:
        at, duration, gpus, *rest = row.split(",")
        own = f"2017-10-01 {at},{duration},{gpus},{float(duration) * int(gpus)},{(rest or ['vc'])[0]}"
        lines.append(row if len(rest) == 2 else own)
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def gavel_file(tmp_path: Path, *rows: tuple[object, ...]) -> str:
    """Rows of job type, steps, arrival and scale."""
    path = tmp_path / "some.trace"
    lines = ["\t".join(map(str, (kind, "run", "-n", 1, steps, at, scale))) for kind, steps, at, scale in rows]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def tiresias_file(tmp_path: Path, *rows: str) -> str:
    """Rows without number and interval: ``gpus,submit time,iterations,model,duration``."""
    path = tmp_path / "tiresias_60_jobs.csv"
    header = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    path.write_text(header + "".join(f"{index},{row},30\n" for index, row in enumerate(rows)))
    return str(path)
