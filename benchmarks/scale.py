"""How far each family goes: sizes up to a million, and exponents of growth; ``docs/scale.md`` has the figures.

``python benchmarks/scale.py PIECE --sizes 10000,100000`` measures one piece and prints its tables. Seconds are of the processor.
"""

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from growth import Point, shown, slope

import dlsched
from dlsched import elastic_stream, matching_placement, ring_allocation, srpt_mapping
from dlsched.core.limits import Limits
from dlsched.elastic_stream import Policy
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS, Doubling, Exploratory, Myopic, Priced, Weighted
from dlsched.elastic_stream.simulation import queue_stream
from dlsched.srpt_mapping.heuristics import POLICIES

UNITS = 20_000
LIMIT_S = 180.0
PLAN_LIMIT_S = 900.0
OTHERS = {"doubling": Doubling, "weighted": Weighted, "priced": Priced, "myopic": Myopic, "exploratory": Exploratory}


def policy(name: str) -> Policy:
    """A fresh policy by its name."""
    if name in OTHERS:
        return OTHERS[name]()
    order, sizing = name.split("-")
    return SIZINGS[sizing](order)


def served_s(instance: elastic_stream.Instance, name: str) -> tuple[float, float]:
    """Seconds of one policy's run without keeping periods, up to the limit; the share of the stream that it came to."""
    begin, came = time.process_time(), 0

    def tick() -> None:
        if time.process_time() - begin > LIMIT_S:
            raise TimeoutError

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        nonlocal came
        came = max(came, job)

    try:
        elastic_stream.run(instance, policy(name), keep, tick=tick)
    except TimeoutError:
        return time.process_time() - begin, came / len(instance.jobs)
    return time.process_time() - begin, 1.0


def streams(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Policies on streams of 20,000 units at a load of .8, then the plan in hindsight with its bound."""
    queue_stream.COMPILED_FROM = 1
    names = [f"{order}-{sizing}" for sizing in SIZINGS for order in ORDERS] + list(OTHERS)
    names = [name for name in names if not methods or name in methods]
    instances = {size: elastic_stream.generate(jobs=size, gpus=UNITS, seed=0) for size in sizes}
    print(" | ".join(["policy", *(f"{size:,}" for size in sizes), "slope"]))
    for name in names:
        served_s(elastic_stream.generate(jobs=100, gpus=8, seed=0), name)  # compiles
        points, cells = [], []
        for size in sizes:
            seconds, part = served_s(instances[size], name)
            points.append(Point(size, seconds, part == 1))
            cells.append(f"{seconds:.1f}" if part == 1 else f"{part:.0%} in {LIMIT_S:g}")
            if part < 1:
                break
        print(" | ".join([name, *cells, shown(slope(points, len(points)))]), flush=True)
    if methods and "plan" not in methods:
        return
    for size in sizes:
        begin = time.process_time()
        result = elastic_stream.solve(instances[size], method="plan", limits=Limits(time_s=PLAN_LIMIT_S))
        assert result.objective is not None and result.bound is not None
        peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        gap, seconds = result.objective / result.bound - 1, time.process_time() - begin
        print(f"plan | {size:,} | {seconds:.0f} s | gap {gap:.2%} | {peak_gb:.1f} GB | {result.status}", flush=True)


def placement(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Two workers of 20 types a job, by ``exact``: drawn, solved and verified; then 1,000 workers of 100 types."""
    del methods
    curves: dict[str, list[Point]] = {"generate": [], "solve": [], "verify": []}
    print("jobs | workers | types | generate | solve | verify | gap | peak GB | status")
    for jobs, gpus, types, limit_s in [*((size, 2 * size, 20, 600.0) for size in sizes), (333, 1000, 100, 120.0)]:
        clock = [time.process_time()]
        instance = matching_placement.generate(preset="many-types", jobs=jobs, gpus=gpus, types=types)
        clock.append(time.process_time())
        result = matching_placement.solve(instance, limits=Limits(time_s=limit_s))
        clock.append(time.process_time())
        assert result.certificate is not None
        assert result.gap is not None
        assert matching_placement.FAMILY.verify(instance, result.certificate) >= result.certificate.value
        clock.append(time.process_time())
        seconds = [after - before for before, after in pairwise(clock)]
        if types == 20:
            for curve, each in zip(curves.values(), seconds, strict=True):
                curve.append(Point(jobs, each))
        peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = " | ".join(f"{each:.1f}" for each in seconds)
        row = f"{jobs:,} | {gpus:,} | {types} | {times} | {result.gap:.2%} | {peak_gb:.1f} | {result.status}"
        print(row, flush=True)
    print("slopes:", ", ".join(f"{name} {shown(slope(points, len(points)))}" for name, points in curves.items()))


SERVERS = 10_000  # of 8 GPUs
GANGS = "fifo", "fifo-backfill", "shortest-first", "work-compact", "work-patient", "a-srpt", "easy"


def gangs(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Policies on 10,000 servers at a load of .8; then all jobs at once on a server for every four, beside the bound."""
    print(" | ".join(["policy", *(f"{size:,}" for size in sizes), "slope"]))
    instances = {size: srpt_mapping.generate(jobs=size, gpus=8 * SERVERS, seed=0) for size in sizes}
    for name in [name for name in GANGS if not methods or name in methods]:
        points = []
        for size, instance in instances.items():
            begin = time.process_time()
            POLICIES[name](instance)
            points.append(Point(size, time.process_time() - begin))
        cells = [f"{point.seconds:.1f}" for point in points]
        print(" | ".join([name, *cells, shown(slope(points, len(points)))]), flush=True)
    if methods and "snapshot" not in methods:
        return
    # at such a load all jobs come within a billionth of the time that they need
    for size in sizes:
        instance = srpt_mapping.generate(jobs=size, gpus=2 * size, load=1e9, seed=0)
        begin = time.process_time()
        schedule = POLICIES["work-compact"](instance)
        gap = srpt_mapping.objective(instance, schedule) / srpt_mapping.combined(instance).value - 1
        print(f"snapshot | {size // 4:,} servers | {time.process_time() - begin:.0f} s | gap {gap:.2%}", flush=True)


DRAW = "import sys, numpy; numpy.random.default_rng(0).random(int(sys.argv[1]))"
JSON = """
import json, os, sys
with open(sys.argv[1]) as instance, open(sys.argv[2]) as result, open(os.devnull, "w") as nothing:
    json.load(instance)
    json.dump(json.load(result), nothing)
"""
NUMBERS = {"ring_allocation": 65, "async_sgd": 9}
"""Numbers that a job of the preset mixed has."""


def spent(*command: str) -> tuple[float, float]:
    """Seconds of the processor and peak memory in GB of a command."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def files(sizes: Sequence[int], families: Sequence[str]) -> None:
    """From nothing to a file of an instance, and from that to a file of its proven result, beside NumPy and json alone."""
    print("family | jobs | generate | of NumPy | solve | of json | peak GB | of the file")
    for family in families or NUMBERS:
        points: dict[str, list[Point]] = {"generate": [], "solve": []}
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                instance, result = f"{folder}/i.json", f"{folder}/r.json"
                draw, _ = spent(sys.executable, "-c", DRAW, str(size * NUMBERS[family]))
                drawn, _ = spent(
                    "dlsched", "generate", family, "--preset", "mixed", "--jobs", str(size), "-o", instance
                )
                solved, peak = spent("dlsched", "solve", instance, "-o", result)
                alone, _ = spent(sys.executable, "-c", JSON, instance, result)
                assert dlsched.read_result(result).status == "optimal"
                points["generate"].append(Point(size, drawn))
                points["solve"].append(Point(size, solved))
                ratio = f"{drawn:.1f} s | {drawn / draw:.0f} | {solved:.1f} s | {solved / alone:.1f}"
                share = peak * 2**30 / os.path.getsize(instance)
                print(f"{family} | {size:,} | {ratio} | {peak:.2f} | {share:.1f}", flush=True)
        print(" | ".join(f"{what}: {shown(slope(found, len(found)))}" for what, found in points.items()), flush=True)


def spent_s() -> float:
    """Seconds of the processor of this process, asked of a worker too."""
    return time.process_time()


def blocks(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """The bound of ring_allocation in one process, then from blocks on 2 workers that run already; ``methods``: presets."""
    from distributed import Client, LocalCluster

    from dlsched.processes.dask_blocks import Blocks
    from dlsched.ring_allocation.blocks import RingBlock

    plain, asked = Blocks.ask, dict[str, tuple[float, int]]()

    def ask(self: "Blocks[RingBlock]", question: Callable[..., object], *arguments: object) -> list[object]:
        begin, name = time.perf_counter(), question.__name__
        answers = plain(self, question, *arguments)
        seconds, size = asked.get(name, (0.0, 0))
        asked[name] = seconds + time.perf_counter() - begin, size + len(pickle.dumps(answers, 5))
        return answers

    Blocks.ask = ask  # type: ignore[method-assign,assignment]
    print(
        "preset | jobs | MB sent | one process: clock, processor | 2 workers: clock, leader, each worker | ratio of clocks"
    )
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster:
        address = cluster.scheduler_address
        with Client(address) as client:
            dlsched.bound(ring_allocation.generate(jobs=50_000, seed=0), engine="dask", scheduler=address)  # imports
            for preset in methods or ("mixed", "concave"):
                for size in sizes:
                    instance = ring_allocation.generate(preset=preset, jobs=size, seed=1)
                    none = np.empty(0, dtype=np.int64)
                    first = pickle.dumps(RingBlock(instance, 0, none, none), 5)
                    sent_mb = len(first) / 1e6 * max(1.0, size / 2**13)
                    times: list[tuple[float, float, list[float]]] = []
                    certificates = []
                    for where in ({}, {"engine": "dask", "scheduler": address}):
                        for name in ("arrays", "minimum_gpus"):  # made anew, as of a file that was just read
                            instance.__dict__.pop(name, None)
                        asked.clear()
                        before = client.run(spent_s)
                        begin, own = time.perf_counter(), time.process_time()
                        certificates.append(dlsched.bound(instance, **where).certificate)  # type: ignore[arg-type]
                        clock, own = time.perf_counter() - begin, time.process_time() - own
                        after = client.run(spent_s)
                        times.append((clock, own, [after[each] - before[each] for each in after]))
                    assert certificates[0] == certificates[1]
                    (alone_s, alone_cpu_s, _), (clock_s, own_s, workers_s) = times
                    each = ", ".join(f"{seconds:.1f}" for seconds in workers_s)
                    print(f"{preset} | {size:,} | {sent_mb:.1f} | {alone_s:.1f}, {alone_cpu_s:.1f} | ", end="")
                    print(
                        f"{clock_s:.1f}, {own_s:.1f}, ({each}) | {clock_s / alone_s:.2f}; load {os.getloadavg()[0]:.1f}"
                    )
                    print("; ".join(f"{name} {s:.2f} s, {size} B" for name, (s, size) in asked.items()), flush=True)


PIECES: dict[str, Callable[[Sequence[int], Sequence[str]], None]] = {
    "blocks": blocks,
    "files": files,
    "gangs": gangs,
    "placement": placement,
    "streams": streams,
}

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("piece", choices=PIECES)
    options.add_argument("--sizes", default="10000,100000")
    options.add_argument(
        "--only",
        "--methods",
        dest="methods",
        default="",
        help="only these (methods, families or presets), a comma between",
    )
    chosen = options.parse_args()
    PIECES[chosen.piece](list(map(int, chosen.sizes.split(","))), [each for each in chosen.methods.split(",") if each])
