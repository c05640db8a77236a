"""``whatif`` on a recorded log: the piece ``whatif`` of ``scale.py``."""

import csv
import resource
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from growth import Point, shown, slope

import dlsched
from dlsched.traces import read_queue

GPUS = 8_000
POLICIES = "fifo", "fifo-backfill", "shortest-first", "shortest-backfill", "easy"
COLUMNS = "arrival=submit,gpus=gpus,duration=run_s,user=user"


def write_log(path: Path, rows: int) -> None:
    """A log drawn from a seed: jobs on 1 to 16 GPUs, a minute to two hours, a load of .8 on ``GPUS``, 500 users."""
    generator = np.random.default_rng(0)
    gpus = generator.choice([1, 2, 4, 8, 16], p=[0.4, 0.25, 0.15, 0.12, 0.08], size=rows)
    run_s = np.round(np.exp(generator.uniform(np.log(60), np.log(7_200), rows)), 3)
    submit_s = np.round(np.cumsum(generator.exponential(float(gpus @ run_s) / rows / (0.8 * GPUS), rows)), 3)
    users = generator.integers(500, size=rows)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["submit", "gpus", "run_s", "user"])
        table.writerows(zip(submit_s.tolist(), gpus.tolist(), run_s.tolist(), map("u{}".format, users), strict=True))


def spent_s() -> float:
    """Processor seconds of this process and of the workers that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def whatif(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Reading the log, then policies and the bound, on the cluster of today, with one worker: seconds and peak memory."""
    points = []
    for size in sizes:
        with TemporaryDirectory() as folder:
            write_log(Path(folder, "log.csv"), size)
            begin = spent_s()
            queue = read_queue("csv", str(Path(folder, "log.csv")), columns=COLUMNS)
            read_s = spent_s() - begin
            answer = dlsched.whatif(queue, gpus=GPUS, policies=methods or POLICIES, workers=1, time_limit=600)
            points.append(Point(size, spent_s() - begin))
        leader, worker = (
            resource.getrusage(who).ru_maxrss / 1e6 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        cells = f"{size:,} rows | read {read_s:.1f} s | in all {points[-1].seconds:.1f} s"
        print(f"{cells} | leader {leader:.2f} GB | worker {worker:.2f} GB", flush=True)
        print(answer.sentences[0], flush=True)
    print(f"slope {shown(slope(points, len(points)))}")
