"""What does validation cost? Reading 50 MB of ring_allocation against ``json.load`` of the same file, in one run.

Protocol: two files, every job with the counts 1 .. 64, and every job with its own random set of 64 counts up to 4096.
Each repetition reads with ``json.load`` and then with ``dlsched.read`` (which parses, refuses repeated keys, validates
and freezes); the garbage collector is as Python leaves it. Medians of the repetitions; the ratio is that of medians,
with the least and the largest ratio of single repetitions. The bar: below 3.

    python benchmarks/reading.py            # five repetitions; writes benchmarks/results/reading.md
    python benchmarks/reading.py --quick    # 5 MB, three repetitions
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from table import machine, markdown

import dlsched

COUNTS = 64
LARGEST = 4096
BAR = 3.0


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


def seconds(call: Callable[[], object]) -> float:
    """Time one call; what it returned is freed off the clock."""
    begin = time.perf_counter()
    answer = call()
    taken = time.perf_counter() - begin
    del answer
    return taken


def parse(path: Path) -> object:
    """Read by ``json.load`` alone."""
    with path.open(encoding="utf-8") as stream:
        return json.load(stream)


def measure(what: str, path: Path, jobs: int, repetitions: int) -> list[str]:
    """Alternate the two ways of reading; one row."""
    pairs = [(seconds(lambda: parse(path)), seconds(lambda: dlsched.read(path))) for _ in range(repetitions)]
    plain, validated = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [ours / theirs for theirs, ours in pairs]
    size = path.stat().st_size / 1e6
    row = [what, f"{size:.1f}", f"{jobs:,}", f"{plain:.2f}", f"{validated:.2f}", f"{validated / plain:.2f}"]
    return [*row, f"{min(ratios):.2f} .. {max(ratios):.2f}", "yes" if validated / plain < BAR else "NO"]


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, same_counts in (("counts 1 .. 64", True), ("each job its own 64 counts", False)):
            path = Path(folder, "instance.json")
            jobs = write_instance(path, 5 if quick else 50, same_counts=same_counts)
            rows.append(measure(what, path, jobs, 3 if quick else 5))
    columns = ["instance", "MB", "jobs", "json.load, s", "dlsched.read, s", "ratio", "single ratios", f"< {BAR:g}"]
    page = f"# Reading an instance\n\n`python benchmarks/reading.py`, {machine()}.\n\n{markdown(columns, rows)}"
    print(page, end="")
    if not quick:
        Path(__file__).parent.joinpath("results", "reading.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
