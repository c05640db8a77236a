"""Gangs on 10,000 servers, and all at once: the piece ``gangs`` of ``scale.py``."""

import time
from collections.abc import Sequence

from growth import Point, shown, slope

from dlsched import srpt_mapping
from dlsched.srpt_mapping.heuristics import POLICIES

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
