"""``whatif`` on a recorded log: the piece ``whatif`` of ``scale.py``."""

import csv
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np
import psutil
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


@contextmanager
def peak_of_all() -> Iterator[list[float]]:
    """Twice a second, the resident memory of this process and all that it started: the largest sum so far, in GB."""
    peak, ended, this = [0.0], Event(), psutil.Process()

    def sample() -> None:
        while not ended.wait(0.5):
            with suppress(psutil.NoSuchProcess):
                rooms = [each.memory_info().rss for each in (this, *this.children(recursive=True))]
                peak[0] = max(peak[0], sum(rooms) / 1e9)

    thread = Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def whatif(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Reading the log, then policies and the bound, on the cluster of today, with two workers: time and peak memory."""
    points = []
    for size in sizes:
        with TemporaryDirectory() as folder, peak_of_all() as peak:
            write_log(Path(folder, "log.csv"), size)
            begin_s = time.perf_counter()
            queue = read_queue("csv", str(Path(folder, "log.csv")), columns=COLUMNS)
            answer = dlsched.whatif(queue, gpus=GPUS, policies=methods or POLICIES, workers=2, time_limit=600)
            points.append(Point(size, time.perf_counter() - begin_s))
        print(f"{size:,} rows | {points[-1].seconds:.1f} s by the clock | peak of all {peak[0]:.2f} GB", flush=True)
        print(answer.sentences[0], flush=True)
    print(f"slope {shown(slope(points, len(points)))}")
