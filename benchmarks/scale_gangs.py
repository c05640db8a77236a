"""Gangs on 10,000 servers, and all at once: the piece ``gangs`` of ``scale.py``."""

import resource
import time
from collections.abc import Sequence

from growth import Point, shown, slope

from dlsched import srpt_mapping
from dlsched.cluster import job_graph
from dlsched.srpt_mapping.certificate import verify
from dlsched.srpt_mapping.heuristics import POLICIES

SERVERS = 10_000  # of 8 GPUs
GANGS = "fifo", "fifo-backfill", "shortest-first", "work-compact", "work-patient", "a-srpt", "easy"


def gangs(sizes: Sequence[int], methods: Sequence[str]) -> None:
    """Policies on 10,000 servers at a load of .8; then all jobs at once on a server for every four, beside the bound."""
    names = [name for name in GANGS if not methods or name in methods]
    instances = {size: srpt_mapping.generate(jobs=size, gpus=8 * SERVERS, seed=0) for size in sizes if names}
    print(" | ".join(["policy", *(f"{size:,}" for size in sizes), "slope"]))
    for name in names:
        points = []
        for size, instance in instances.items():
            begin = time.process_time()
            POLICIES[name](instance)
            points.append(Point(size, time.process_time() - begin))
        cells = [f"{point.seconds:.1f}" for point in points]
        print(" | ".join([name, *cells, shown(slope(points, len(points)))]), flush=True)
    if methods and "snapshot" not in methods:
        return
    # all at once: the jobs of a file, released at 0
    for size in sizes:
        drawn = srpt_mapping.generate(jobs=size, gpus=2 * size, seed=0)
        instance = drawn.model_copy(update={"jobs": [job.released(0.0) for job in drawn.jobs]})
        begin = time.process_time()
        schedule = POLICIES["work-patient"](instance)
        spent = [time.process_time() - begin]
        certificate = srpt_mapping.prices(instance)
        spent.append(time.process_time() - begin - sum(spent))
        # what is proven is computed anew from the prices, without what the search knows
        job_graph._known.clear()
        assert verify(instance, certificate) >= certificate.value
        spent.append(time.process_time() - begin - sum(spent))
        gap = srpt_mapping.objective(instance, schedule) / certificate.value - 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        cells = " | ".join(f"{each:.1f} s" for each in spent)
        print(f"snapshot | {size:,} jobs | {size // 4:,} servers | {cells} | {gap:.2%} | {peak:.1f} GB", flush=True)
