"""Nasty streams: every magnitude, Unix clocks, ties that are real or miss by rounding, numbers 1e9 apart."""

from typing import Any

import numpy as np
from nasty import magnitude

from dlsched.elastic_stream import Instance
from dlsched.elastic_stream.instance import RANGES

DECIMALS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.1, 1.2, 1.5, 1.7, 2.0, 2.3)
"""Of a tick: of these sums and products miss each other by rounding."""
CLOCKS = (0.0, 0.0, 3.0, 1e3, 1e6, 1e8)
"""First arrivals, in ticks."""


def nasty(
    generator: np.random.Generator, ticked: bool | None = None, most_jobs: int = 4, weighted: bool = False
) -> Instance:
    """Draw a stream; with ticks small enough for brute force. Weights: alike, near ties, 1e9 apart, of any magnitude."""

    def one(values: Any) -> Any:
        return values[int(generator.integers(len(values)))]

    if ticked is None:
        ticked = bool(generator.integers(2))
    tick = one((1.0, 60.0, 0.1, 2.0**-20, magnitude(generator)))
    clock = one(CLOCKS) * tick
    if generator.random() < 0.3 and (not ticked or tick > 10.0):
        clock = 1.7e9 + one((0.0, 0.3, 0.1 * tick))
    units = int(generator.integers(1, 4))
    alike = generator.random() < 0.2
    jobs: list[dict[str, Any]] = []
    for index in range(int(generator.integers(1, most_jobs + 1))):
        job = jobs[0] if alike and jobs else _job(generator, one, tick, units)
        later = one((0.0, 0.0, 1.0, 2.0, 3.0, 0.1, 0.3, float(generator.random()), 1e-9)) * tick
        jobs.append(job | {"id": f"j{index}", "arrival_s": one((clock + later, later + tick * (clock // tick)))})
    if generator.random() < 0.03:
        jobs[-1] = jobs[-1] | {"epochs": 1.0, "epoch_time_s": {str(units + 1): tick}}
    if weighted:
        level = one((1.0, 0.1, magnitude(generator)))
        jobs = [job | {"weight": level * one(RANGES["jobs[].weight"].nasty)} for job in jobs]
    return Instance(name="nasty", units=units, tick_s=tick if ticked else None, jobs=jobs)


def _job(generator: np.random.Generator, one: Any, tick: float, units: int) -> dict[str, Any]:
    """Work and speeds: of the magnitude of a tick, or 1e-9 of it; now and then none."""
    small = one((1.0, 1.0, 1.0, 1e-3, 1e-9))
    counts = sorted({int(count) for count in generator.integers(1, units + 1, size=3)})
    epochs = one(RANGES["jobs[].epochs"].nasty)
    time_s = tick * small / (epochs or 1.0)
    job = {
        "epochs": epochs,
        "epoch_time_s": {
            str(count): time_s * one(DECIMALS) * one((1.0, 1.0, float(generator.random()))) for count in counts
        },
        "restart_s": one((0.0, 0.0, 0.1, 0.3, 1.0 - 2.0**-40, 1e-9)) * tick,
    }
    if generator.random() < 0.25:
        job["stops_at"] = one(RANGES["jobs[].stops_at"].nasty)
        job["early_stop"] = [{"fraction": 0.5, "probability": 0.5}]
    return job
