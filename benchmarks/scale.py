"""How far each family goes: sizes up to a million, and exponents of growth; ``docs/scale.md`` has the figures.

``python benchmarks/scale.py PIECE --sizes 10000,100000`` measures one piece and prints its tables. Seconds are of the processor.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from growth import Point, shown, slope

from dlsched import elastic_stream, matching_placement, srpt_mapping
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


PIECES: dict[str, Callable[[Sequence[int], Sequence[str]], None]] = {
    "gangs": gangs,
    "placement": placement,
    "streams": streams,
}

if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("piece", choices=PIECES)
    options.add_argument("--sizes", default="10000,100000")
    options.add_argument("--methods", default="", help="only these, with commas between them")
    chosen = options.parse_args()
    PIECES[chosen.piece](list(map(int, chosen.sizes.split(","))), [each for each in chosen.methods.split(",") if each])
