"""What reading and validating large files of ring_allocation costs, against ``json.load`` of the same file.

Three files: 50 MB of jobs with the counts 1 .. 64 each, 50 MB of jobs with their own random sets of 64 counts up to 4096, and
the 1.45 million pairs of ``benchmarks/knapsack.py``: 10,000 jobs with 1 .. n counts, n drawn from 34 .. 256. ``dlsched.read``
parses, refuses repeated keys, validates and freezes. Both must hold the same jobs and times. Five turns. The bar: at most 2.
"""

import json
import math
import tempfile
from pathlib import Path

import numpy as np
from knapsack import long_instance
from measure import Page, present

import dlsched

COUNTS = 64
LARGEST = 4096
BAR = 2.0


def write_instance(path: Path, megabytes: float, *, same_counts: bool) -> int:
    """Write jobs until the file has that size, and return their number."""
    generator = np.random.default_rng(0)
    jobs = 0
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{"format": "dlsched/ring_allocation/1", "name": "large", "gpus": 1000000, "jobs": [\n')
        while stream.tell() < megabytes * 1e6:
            counts = range(1, COUNTS + 1)
            if not same_counts:
                counts = np.sort(generator.choice(LARGEST, COUNTS, replace=False) + 1).tolist()
            times = (1000.0 / np.arange(1, COUNTS + 1) + generator.random(COUNTS)).round(4).tolist()
            job = {"id": f"j{jobs}", "epochs": 100.0, "epoch_time_s": dict(zip(map(str, counts), times, strict=True))}
            stream.write(("" if jobs == 0 else ",\n") + json.dumps(job))
            jobs += 1
        stream.write("\n]}\n")
    return jobs


def content(document: object) -> object:
    """Number of jobs, sum of all counts and sum of all times, of parsed JSON or of an instance."""
    if isinstance(document, dict):
        tables = [job["epoch_time_s"] for job in document["jobs"]]
    else:
        tables = [job.epoch_time_s for job in document.jobs]  # type: ignore[attr-defined]
    return (
        len(tables),
        sum(int(count) for table in tables for count in table),
        math.fsum(time for table in tables for time in table.values()),
    )


def row(page: Page, what: str, path: Path, jobs: int) -> str:
    """One file, as a row."""
    ways = {
        "json.load": lambda _: json.loads(path.read_text(encoding="utf-8")),
        "dlsched.read": lambda _: dlsched.read(path),
    }
    plain, validated = page.measure(what, ways, 5, keep=content, same=lambda ours, theirs: ours == theirs).values()
    ratio = validated.over(plain)
    holds = "yes" if ratio.value <= BAR else "NO"
    size = path.stat().st_size / 1e6
    return f"{what} | {size:.1f} | {jobs:,} | {plain.median:.2f} | {validated.median:.2f} | {ratio:.2f} | {holds}"


def fill(page: Page) -> None:
    """Measure all files."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "instance.json")
        for what, same_counts in (("counts 1 .. 64", True), ("each job its own 64 counts", False)):
            jobs = write_instance(path, 1 if page.quick else 50, same_counts=same_counts)
            rows.append(row(page, what, path, jobs))
        jobs = 300 if page.quick else 10_000
        dlsched.write(long_instance(jobs), path)
        rows.append(row(page, "1 .. 34-256 counts", path, jobs))
    page.table(f"instance | MB | jobs | json.load, s | dlsched.read, s | ratio | at most {BAR:g}", rows)


if __name__ == "__main__":
    present("Reading an instance", __doc__, fill)
