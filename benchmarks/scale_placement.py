"""Jobs on workers of 20 types: the piece ``placement`` of ``scale.py``."""

import resource
import time
from collections.abc import Sequence
from itertools import pairwise

from growth import Point, shown, slope

from dlsched import matching_placement
from dlsched.core.limits import Limits


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
