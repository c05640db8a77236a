"""Windows of Philly by their number of jobs."""

from datetime import date, timedelta
from pathlib import Path

from dlsched.elastic_stream import Instance
from dlsched.traces import import_philly

TRACE = Path(__file__).parents[3] / "shared" / "data" / "philly_jobs.csv"


def window(*, day: str, jobs: int, gpus: int) -> Instance:
    """The first jobs that arrive from a day on, which may grow to 8 GPUs."""
    found, _ = import_philly(
        str(TRACE), gpus=gpus, max_gpus=8, from_=day, to=str(date.fromisoformat(day) + timedelta(days=3))
    )
    kept = sorted(found.jobs, key=lambda job: job.arrival_s)[:jobs]
    return Instance(
        name=f"philly-{day}-{jobs}x{gpus}", units=gpus, jobs=[job.model_dump(exclude_none=True) for job in kept]
    )
