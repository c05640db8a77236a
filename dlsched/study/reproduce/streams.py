"""Streams of jobs that no preset of ``generate`` makes: workload patterns, and jobs of asynchronous SGD.

These are functions for plans: a grid supplies the arguments, and ``seed`` seeds all random draws. The name
of an instance holds its arguments in order, between slashes.
"""

import math
from dataclasses import dataclass

import numpy as np

from dlsched import async_sgd, elastic_stream
from dlsched.core.elementary import exp, float_power
from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.elastic_stream.generator import RESNET110_S

COUNTS = (1, 2, 4, 8, 16)  # numbers of units on which jobs with a law of speed may run
JOBS = {16: 100, 64: 200}  # number of jobs of a stream, by the units of its cluster
EARLY = ((0.05, 0.5), (0.25, 0.3))  # half of the jobs end at 5 % of their work, 30 of 100 at a quarter


@dataclass(frozen=True, slots=True)
class Mix:
    """Jobs with a law of speed, n^exponent on n units; durations of short jobs on one unit are lognormal.

    ``long`` and ``times``: share of jobs that are long, and how many times longer they are. ``swing`` of the rate of arrivals,
    if the mix sets it: the rate is proportional to ``1 + swing sin(2 pi t / 24 h)``.
    """

    exponent: float
    median_s: float = 7200.0
    sigma: float = 1.3
    long: float = 0.0
    times: float = 1.0
    swing: float = 0.0


MIXES = {
    "sub-linear": Mix(0.5),
    "near-linear": Mix(0.9),
    "short-long-sub-linear": Mix(0.5, 600.0, 0.0, 0.1, 60.0),
    "short-long-near-linear": Mix(0.9, 600.0, 0.0, 0.1, 60.0),
    "found": Mix(0.95, 600.0, 0.0, 0.07793385085940158, 200.0, 0.12432228523592809),
    "found-two-orders": Mix(0.43446975116040776, 600.0, 0.0, 0.08179957916735466, 30.24880168730127),
}
"""Mixes of jobs. Searches for large ratios, started at the best of the other patterns, ended at the last
two: ``found``, against the best fixed count in order of arrival, and ``found-two-orders``, in the better of
two orders, with bursts of 13."""
ARRIVALS = {"poisson": (1, 0.0), "bursts": (8, 0.0), "bursts-13": (13, 0.0), "daynight": (1, 0.9)}
"""Mean number b of jobs that arrive together (uniform on 1 .. 2 b - 1), and the daily swing of their rate."""


def pattern(
    *, mix: str, arrivals: str, units: int, load: float, seed: int, jobs: int | None = None
) -> elastic_stream.Instance:
    """Draw a stream of a workload pattern at a load as in ``generate``, with each job at its most efficient count.

    ``mix``: a key of ``MIXES``; ``resnet110``: identical jobs; ``published``: tables and durations of the generator.
    ``arrivals``: a key of ``ARRIVALS``; ``units`` and, by default, ``jobs`` are as in ``JOBS``.
    """
    for name, value, allowed in (
        ("mix", mix, ("resnet110", "published", *MIXES)),
        ("arrivals", arrivals, tuple(ARRIVALS)),
        ("units", units, tuple(JOBS)),
    ):
        if value not in allowed:
            raise UsageError(where=name, found=repr(value), allowed=", ".join(map(str, allowed)))
    generator = np.random.default_rng(seed)
    drawn = _jobs(mix, JOBS[units] if jobs is None else jobs, units, seed, generator)
    burst, swing = ARRIVALS[arrivals]
    if mix in MIXES:
        swing = max(swing, MIXES[mix].swing)
    gap_s = math.fsum(area for area, _ in drawn) / (load * units) / len(drawn)
    times: list[float] = []
    now = 0.0
    while len(times) < len(drawn):  # by thinning
        now += float(generator.exponential(burst * gap_s / (1 + swing)))
        rate = 1 + swing * math.sin(2 * math.pi * now / 86400)
        if generator.random() * (1 + swing) < rate:
            times += [now] * int(generator.integers(1, 2 * burst))
    records = [record | {"id": f"j{index}", "arrival_s": times[index]} for index, (_, record) in enumerate(drawn)]
    name = f"{mix}/{arrivals}/{units}/{load:g}/seed{seed}"
    return elastic_stream.Instance(name=name, units=units, jobs=records)


Jobs = list[tuple[float, dict[str, Json]]]
"""For each job, the unit-seconds that it needs at its most efficient count, and its record."""


def _jobs(mix: str, number: int, units: int, seed: int, generator: np.random.Generator) -> Jobs:
    if mix == "published":
        source = elastic_stream.generate(jobs=number, gpus=units, seed=seed)
        return [
            _job(job.epochs, {count: job.speed.epoch_time_s(count) for count in job.counts(units)}, job.restart_s)
            for job in source.jobs
        ]
    if mix == "resnet110":
        return [_job(160.0, RESNET110_S, 10.0) for _ in range(number)]
    law = MIXES[mix]
    times = {count: float_power(count, -law.exponent) for count in COUNTS if count <= units}
    long = generator.random(number) < law.long
    seconds = law.median_s * exp(law.sigma * generator.standard_normal(number))
    return [_job(float(epochs), times, 10.0) for epochs in np.where(long, law.times, 1.0) * seconds]


def _job(epochs: float, epoch_time_s: dict[int, float], restart_s: float) -> tuple[float, dict[str, Json]]:
    area = epochs * min(count * time_s for count, time_s in epoch_time_s.items())
    times: dict[str, Json] = {str(count): time_s for count, time_s in epoch_time_s.items()}
    return area, {"epochs": epochs, "epoch_time_s": times, "restart_s": restart_s}


def async_jobs(*, load: float, ends: str, seed: int, jobs: int = 200) -> elastic_stream.Instance:
    """Draw jobs of asynchronous SGD that arrive at 16 nodes, with restarts of 10 s, at a load as in ``random_stream``.

    ``ends``: ``none``, or ``early``, as defined by ``EARLY``. Both get the same jobs from a seed.
    """
    if ends not in ("none", "early"):
        raise UsageError(where="ends", found=repr(ends), allowed="none, early")
    stream = async_sgd.random_stream(
        async_sgd.generate(preset="published", jobs=jobs, nodes=16, seed=seed),
        load=load,
        generator=np.random.default_rng(seed),
        restart_s=10.0,
        early_stop=EARLY if ends == "early" else (),
    )
    return stream.model_copy(update={"name": f"{load:g}/{ends}/seed{seed}"})
