"""Instances of elastic_stream: the example, and random streams from a seed.

An arrival process sets how jobs come, a mix what they are; their rate follows from the load: the unit-seconds that the
jobs need at their most efficient counts, over those that the cluster has while they arrive.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.catalogue.elastic_stream import LISTED
from dlsched.cluster.arrivals import Times, burst_arrivals, daynight_arrivals, poisson_arrivals
from dlsched.cluster.published import published_speeds
from dlsched.core.arguments import drawing, require_arguments, require_moderate, require_positive
from dlsched.core.elementary import log, lognormal, whole
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.instance import RANGES, Instance

Drawn = dict[str, Any]

RESNET110_S = {1: 138.0, 2: 81.9, 4: 47.25, 8: 29.6}
"""Seconds per epoch of ResNet-110 on CIFAR-10 by GPUs: recalled, unverified, a realistic job and no quotation."""


def example() -> Instance:
    """Two jobs on two units with ticks of 10 s; small enough to solve by hand."""
    return Instance(
        name="two-arrivals",
        units=2,
        tick_s=10.0,
        jobs=[
            {"id": "a", "epochs": 2, "epoch_time_s": {"1": 20.0, "2": 12.0}, "arrival_s": 0.0, "restart_s": 2.0},
            {"id": "b", "epochs": 1, "epoch_time_s": {"1": 8.0}, "arrival_s": 10.0},
        ],
    )


@drawing
def generate(
    *,
    preset: str = "poisson",
    jobs: int = 20,
    gpus: int | None = None,
    seed: int = 0,
    max_gpus: int = 16,
    load: float = 0.8,
    tick: float | None = None,
    weights: str | None = None,
) -> Instance:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    preset, seed
        One of ``PRESETS``, and the seed of ``numpy.random.default_rng``.
    jobs, gpus
        Number of jobs, >= 1, and units of the cluster; None: 64, and 3 for the preset ``slots``.
    max_gpus
        Largest count that a job may be given, >= 1.
    load
        Unit-seconds needed at the most efficient counts, over those the cluster has while jobs arrive; > 0.
    tick
        Seconds between decisions; None: at any time, and 60 for the preset ``slots``.
    weights
        Weights of which each job is given one, all equally likely, as in ``"1,2,4"``; None: no job has one.

    Raises
    ------
    UsageError
        An unknown preset or a number out of range.
    """
    require_arguments(PRESETS, preset, seed, jobs=jobs, gpus=gpus, max_gpus=max_gpus)
    require_positive(load=load)
    require_moderate(tick=tick)
    recipe = _RECIPES[preset]
    units = gpus or recipe.units
    tick_s = recipe.tick_s if tick is None else tick
    generator = np.random.default_rng(seed)
    # Drawn in groups until there are enough; arrivals then follow from the load and the work drawn.
    drawn: list[Drawn] = []
    while len(drawn) < jobs:
        drawn += recipe.draw(generator, min(max_gpus, units))
    drawn = drawn[:jobs]
    areas = np.array([_least_area(job) for job in drawn])
    span_s = float(areas.sum()) / (load * units)
    if not 0 < span_s < 1e15:
        raise UsageError(where="load", found=load, allowed="one at which arrivals span up to 1e15 s")
    arrivals = recipe.arrive(generator, jobs, span_s)
    for index, (job, arrival_s) in enumerate(zip(drawn, arrivals.tolist(), strict=True)):
        job |= {"id": f"j{index}", "arrival_s": float(f"{arrival_s:.9g}")}
    if weights is not None:
        allowed = _weights(weights)
        for job in drawn:
            job["weight"] = allowed[int(generator.integers(len(allowed)))]
    command = f"dlsched generate elastic_stream --preset {preset} --jobs {jobs} --gpus {units} --seed {seed}"
    further = [
        f"--{name} {value:g}"
        for name, value, usual in (("max-gpus", max_gpus, 16), ("load", load, 0.8), ("tick", tick, None))
        if value is not None and value != usual
    ] + ([] if weights is None else [f"--weights {weights}"])
    name, source = f"{preset}-{jobs}x{units}-seed{seed}", " ".join([command, *further])
    return Instance(name=name, source=source, units=units, tick_s=tick_s, jobs=drawn)


def _weights(text: str) -> list[float]:
    """Numbers > 0 between commas; UsageError otherwise."""
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        weights = []
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise UsageError(where="weights", found=repr(text), allowed="numbers > 0, as in '1,2,4'")
    for weight in weights:
        require_moderate(weights=weight)
    return weights


def _published(generator: "np.random.Generator", max_gpus: int) -> list[Drawn]:
    """A job with a published table that starts at one GPU: minutes to days of work there, a restart of 10 to 60 s."""
    usable = [speed for speed in published_speeds() if speed.counts[0] == 1]
    speed = usable[int(generator.integers(len(usable)))]
    duration_s = float(np.clip(lognormal(generator, 1.3, log(2 * 3600)), 300, 5 * 86400))
    epochs = float(f"{duration_s / speed.epoch_time_s[0]:.4g}")
    restart_s = float(whole(generator, *RANGES["jobs[].restart_s"].usual))
    return [{"epochs": epochs, "epoch_time_s": speed.times_up_to(max_gpus), "restart_s": restart_s}]


def _resnet110(generator: "np.random.Generator", max_gpus: int) -> list[Drawn]:
    """The job of the trend: 160 epochs, a restart of 10 s."""
    del generator
    times = {count: time for count, time in RESNET110_S.items() if count <= max_gpus}
    return [{"epochs": 160.0, "epoch_time_s": times, "restart_s": 10.0}]


def _search(generator: "np.random.Generator", max_gpus: int) -> list[Drawn]:
    """Eight jobs of equal speeds, which stop at 5 %, 25 % or all of their work (probability .5, .3, .2)."""
    fractions, chances = (RANGES[f"jobs[].early_stop[].{name}"].choices for name in ("fraction", "probability"))
    known = [{"fraction": fraction, "probability": chance} for fraction, chance in zip(fractions, chances, strict=True)]
    (job,) = _published(generator, max_gpus)
    ends = RANGES["jobs[].stops_at"].choices
    stops = [float(generator.choice(ends, p=[*chances, 1 - math.fsum(chances)])) for _ in range(8)]
    return [job | {"stops_at": stop, "early_stop": known} for stop in stops]


def _slots(generator: "np.random.Generator", max_gpus: int) -> list[Drawn]:
    """A job in whole seconds: one to five minutes on one unit, diminishing returns, a restart of 5 to 20 s."""
    time_s = float(generator.integers(60, 301))
    loss = float(generator.uniform(0.0, 0.4))
    times = {count: float(round(time_s * (loss + (1 - loss) / count))) for count in range(1, max_gpus + 1)}
    return [{"epochs": 1.0, "epoch_time_s": times, "restart_s": float(generator.integers(5, 21))}]


def _least_area(job: Drawn) -> float:
    """Unit-seconds of the job's realised work at its most efficient count."""
    area = min(count * time for count, time in job["epoch_time_s"].items())
    return float(job["epochs"] * job.get("stops_at", 1.0) * area)


@dataclass(frozen=True, slots=True)
class _Recipe:
    draw: Callable[["np.random.Generator", int], list[Drawn]]  # a group of jobs
    arrive: Callable[["np.random.Generator", int, float], Times]
    units: int = 64
    tick_s: float | None = None


_RECIPES = {
    "poisson": _Recipe(_published, poisson_arrivals),
    "bursts": _Recipe(_published, burst_arrivals),
    "daynight": _Recipe(_published, daynight_arrivals),
    "resnet110": _Recipe(_resnet110, poisson_arrivals),
    "search": _Recipe(_search, burst_arrivals),
    "slots": _Recipe(_slots, poisson_arrivals, 3, RANGES["tick_s"].usual[0]),
}
PRESETS = LISTED.presets
