"""What a study costs over solving alone: milliseconds a cell and processor, memory of the leader, the report, and growth.

Cells are small: five methods of ring_allocation on jobs that share 64 GPUs (preset mixed, 8 jobs). Bare: ``dlsched.solve`` on
instances that are there, in one process, on up to 2,000 cells, the least of three turns. A study draws the instances,
solves, checks, verifies, and writes; its milliseconds are those of the wall times the processes, over the cells. Its leader is
a process of its own, whose peak memory is read at its end; the report is written by another. Bars at 100,000 cells: 3 ms
over bare solving, 300 MB, 30 s and 10 MB.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from growth import Point, draw, shown, slope
from measure import Page, measure, present

import dlsched
from dlsched import study

METHODS = ("exact", "doubling", "marginal", "hull", "equal")
JOBS, GPUS = 8, 64
SIZES = (1_000, 3_200, 10_000, 32_000, 100_000)
BARE = 2_000
BARS = {"overhead, ms": 3.0, "leader, MB": 300.0, "report, s": 30.0, "report, MB": 10.0}
LEADER = """
import resource, sys
from dlsched import study
done = study.run(sys.argv[1], sys.argv[2])
print(done.about.ended, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
PLAN = """
format = "dlsched/study/1"
name = "{cells} cells"
instances = [{{family = "ring_allocation", preset = "mixed", jobs = {jobs}, gpus = {gpus}, seeds = "0:{seeds}"}}]
methods = [{methods}]
"""


def bare_ms(cells: int) -> float:
    """Milliseconds a cell of solving alone."""
    instances = [
        dlsched.ring_allocation.generate(preset="mixed", jobs=JOBS, gpus=GPUS, seed=seed)
        for seed in range(min(cells, BARE) // len(METHODS))
    ]

    def solve(turn: int) -> int:
        return sum(dlsched.solve(instance, method=name) is not None for instance in instances for name in METHODS)

    timing = measure({"bare": solve}, 3)["bare"]
    return 1e3 * min(timing.seconds) / (len(instances) * len(METHODS))


def run(cells: int, folder: Path) -> tuple[float, float, float, float]:
    """Seconds of a study, its leader's MB, and seconds and MB of its report."""
    plan, store, page = (folder / f"{cells}.{ending}" for ending in ("toml", "sqlite", "html"))
    methods = ", ".join(f'{{name = "{name}"}}' for name in METHODS)
    text = PLAN.format(cells=cells, jobs=JOBS, gpus=GPUS, seeds=cells // len(METHODS), methods=methods)
    plan.write_text(text, encoding="utf-8")
    begin = time.perf_counter()
    command = [sys.executable, "-c", LEADER, str(plan), str(store)]
    ended, kib = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    taken_s = time.perf_counter() - begin
    assert ended == cells
    with study.open(store) as done:
        assert all(row.ratio is not None for row in done.each_row())
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "dlsched", "study", "report", str(store), "-o", str(page)], check=True, stdout=-3
    )
    return taken_s, kib * 1024 / 1e6, time.perf_counter() - begin, page.stat().st_size / 1e6


def fill(page: Page) -> None:
    """Run studies of growing size."""
    workers, rows, points, reports = os.cpu_count() or 1, [], [], []
    found: dict[str, float] = {}
    for cells in SIZES[:1] if page.quick else SIZES:
        bare = bare_ms(cells)
        with tempfile.TemporaryDirectory() as folder:
            taken_s, leader_mb, report_s, report_mb = run(cells, Path(folder))
        whole = 1e3 * taken_s * workers / cells
        found = dict(zip(BARS, (whole - bare, leader_mb, report_s, report_mb), strict=True))
        every = {"study, s": taken_s, "bare, ms": bare, **found}
        page.raw[f"{cells} cells"] = {name: [value] for name, value in every.items()}
        figures = (f"{value:.2f}" for value in (bare, whole, whole - bare, report_s, report_mb))
        rows.append(f"{cells:,} | {taken_s:.1f} | {' | '.join(figures)} | {leader_mb:.0f}")
        points.append(Point(cells, taken_s))
        reports.append(Point(cells, report_s))
        print(rows[-1], file=sys.stderr)
    page.table("cells | study, s | bare, ms | study, ms | overhead, ms | report, s | report, MB | leader, MB", rows)
    page.add(f"{workers} processes. Slope of the last three sizes: study {shown(slope(points, 3))}, 1 is linear.")
    kept = [
        f"{name}: {value:.3g}, bar {BARS[name]:g}: {'yes' if value <= BARS[name] else 'NO'}"
        for name, value in found.items()
    ]
    page.add("At the largest size: " + "; ".join(kept) + ".")
    picture = page.picture("")
    if picture is not None and len(points) > 1:
        draw({"cells": {"study": points, "report": reports}}, picture, what="seconds", last=3)
        page.add(f"![seconds against cells]({picture.name})")


if __name__ == "__main__":
    present("What a study costs", __doc__, fill)
