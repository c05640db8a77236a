"""Instances of ring_allocation: the example, and random ones from a seed.

All figures drawn are rounded to four significant digits, so that files stay short and the same everywhere.

==============  ==================================================================================================
preset          what it is
==============  ==================================================================================================
``mixed``       compute / w plus a halving-doubling all-reduce a step: slower off the powers of two (8 -> 9 GPUs)
``table``       measured speeds of published tables (``cluster.published``), each with random epochs
``concave``     speed laws without a transfer term that grows: convex times, where ``marginal`` is optimal
``adversarial`` tables on which the next count is worse and a later one much better: ``marginal`` stalls
==============  ==================================================================================================
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from dlsched.catalogue.ring_allocation import LISTED
from dlsched.cluster.all_reduce import Link, halving_doubling
from dlsched.cluster.speeds import SpeedTable
from dlsched.core.arguments import drawing, require_arguments
from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import exp, float_power, four_digits, log, log_uniform, uniforms, whole
from dlsched.core.part_columns import PartColumns
from dlsched.ring_allocation.instance import RANGES, Instance, Job

Drawn = tuple[str, dict[str, Any]]
"""Where a job's figures come from (empty: the command says it all), and its fields."""
_Named = tuple[str, Job]
_Draw = Callable[["np.random.Generator", list[str], int], Iterator[_Named]]
"""From names of jobs and the largest count to where figures come from, and the jobs."""

PRESETS = LISTED.presets

_EPOCHS, (_RESTART_S, _) = (RANGES[f"jobs[].{name}"].usual for name in ("epochs", "restart_s"))
_COMPUTE_S, _SAMPLES, _MODEL_BYTES = (
    RANGES[f"jobs[].speed_law.{name}"].usual for name in ("theta[]", "samples", "model_bytes")
)

_BLOCK = 1024  # jobs that are drawn at a time

# 50 Gbit/s (6.25e9 B/s), 50 us a message, and a reduction at 25 GB/s: orders of magnitude, not a measurement
_LINK = Link(latency_s=5e-5, transfer_s_per_byte=1.6e-10, reduction_s_per_byte=4e-11)


def example() -> Instance:
    """Two jobs on six GPUs, one with a table and a restart, one with a law; small enough to solve by hand."""
    return Instance(
        name="two-jobs",
        gpus=6,
        jobs=[
            {
                "id": "a",
                "epochs": 160,
                "epoch_time_s": {"1": 138.0, "2": 81.9, "4": 47.25, "8": 29.6},
                "current_gpus": 4,
                "restart_s": 10.0,
            },
            {
                "id": "b",
                "epochs": 90.5,
                "max_gpus": 16,
                "speed_law": {"theta": [1e-3, 0.01, 1e-9, 0.2], "samples": 50000, "model_bytes": 1.0e8},
            },
        ],
    )


@drawing
def generate(
    *, preset: str = "mixed", jobs: int = 10, gpus: int | None = None, seed: int = 0, max_gpus: int = 64
) -> Instance:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    preset, seed
        One of ``PRESETS``, and the seed of ``numpy.random.default_rng``.
    jobs, gpus
        Number of jobs, >= 1, and GPUs of the cluster; None: 6.5 for every job.
    max_gpus
        Largest count that a job may be given, >= 1.

    Raises
    ------
    UsageError
        An unknown preset or a number out of range.
    """
    require_arguments(PRESETS, preset, seed, jobs=jobs, gpus=gpus, max_gpus=max_gpus)
    generator = np.random.default_rng(seed)
    total = math.ceil(6.5 * jobs) if gpus is None else gpus
    command = f"dlsched generate ring_allocation --preset {preset} --jobs {jobs} --gpus {total} --seed {seed}"
    sources = [command if max_gpus == 64 else f"{command} --max-gpus {max_gpus}"]
    drawn: list[Job] = []
    for start in range(0, jobs, _BLOCK):
        names = [f"j{index}" for index in range(start, min(start + _BLOCK, jobs))]
        for words, job in _DRAW[preset](generator, names, max_gpus):
            drawn.append(job)
            if words and words not in sources:
                sources.append(words)
    return Instance(name=f"{preset}-{jobs}x{total}-seed{seed}", source="\n".join(sources), gpus=total, jobs=drawn)


def _mixed(generator: "np.random.Generator", names: list[str], max_gpus: int) -> Iterator[_Named]:
    """Steps per epoch x (compute / w + all-reduce of the gradients)."""
    least, most = map(log, _MODEL_BYTES)
    ends = ((least, most), (200.0, 5000.0), _EPOCHS)
    normal, random = generator.standard_normal, generator.random
    logs, *drawn = np.array([(normal(), random(), random(), random()) for _ in names]).T
    of_bytes, steps, epochs = map(uniforms, drawn, ends)
    compute_s, gradient_bytes = exp(logs), exp(of_bytes)
    counts = range(1, max_gpus + 1)
    columns = [steps * (compute_s / w + halving_doubling(w, gradient_bytes, _LINK)) for w in counts]
    return _of_rows(names, epochs, counts, columns)


def _of_rows(
    names: list[str], epochs: FloatArray, counts: Sequence[int], columns: Sequence[FloatArray]
) -> Iterator[_Named]:
    """Jobs from their epochs, shape (J,), and their times on each count."""
    tables = SpeedTable.of_rows(tuple(counts), four_digits(np.stack(columns, axis=1)))
    given, values = ("id", "epochs", "epoch_time_s"), (names, four_digits(epochs).tolist(), tables)
    jobs = PartColumns.of_valid(Job, dict(zip(given, values, strict=True)), [given] * len(names)).parts()
    return (("", job) for job in cast(list[Job], jobs))


def _one_by_one(draw: Callable[["np.random.Generator", int], Drawn]) -> _Draw:
    """Draw jobs one after the other."""

    def jobs(generator: "np.random.Generator", names: list[str], max_gpus: int) -> Iterator[_Named]:
        for name in names:
            words, fields = draw(generator, max_gpus)
            yield words, Job(id=name, **fields)

    return jobs


def _table(generator: "np.random.Generator", max_gpus: int) -> Drawn:
    """One of the published tables that start within ``max_gpus``; about half of the jobs run already (restart 10 s)."""
    from dlsched.cluster.published import published_speeds  # to solve goes without

    usable = [speed for speed in published_speeds() if speed.counts[0] <= max_gpus]
    speed = usable[int(generator.integers(len(usable)))]
    times = {count: time for count, time in zip(speed.counts, speed.epoch_time_s, strict=True) if count <= max_gpus}
    drawn: dict[str, Any] = {"epochs": four_digits(float(generator.uniform(1, 120))), "epoch_time_s": times}
    if generator.random() < 0.5:
        drawn["current_gpus"] = int(generator.choice(list(times)))
        drawn["restart_s"] = _RESTART_S
    gpu = f" on {speed.gpu}" if speed.gpu else ""
    return f"{speed.model}{gpu}, batch {speed.batch_samples}: {speed.source}", drawn


def _concave(generator: "np.random.Generator", max_gpus: int) -> Drawn:
    """A speed law: compute, an overhead per GPU, and a constant."""
    samples = float(whole(generator, *_SAMPLES))
    compute = four_digits(log_uniform(generator, *_COMPUTE_S))
    # the count beyond which the overhead outweighs the compute
    fastest = float(generator.uniform(4, max(5, 2 * max_gpus)))
    law = {
        "theta": [
            compute,
            four_digits(compute * samples / (fastest * fastest)),
            0.0,
            four_digits(float(generator.uniform(0, 2))),
        ],
        "samples": samples,
        "model_bytes": four_digits(log_uniform(generator, *_MODEL_BYTES)),
    }
    return "", {"epochs": four_digits(float(generator.uniform(*_EPOCHS))), "max_gpus": max_gpus, "speed_law": law}


def _adversarial(generator: "np.random.Generator", names: list[str], max_gpus: int) -> Iterator[_Named]:
    """Times that halve from one power of two to the next, and are a little above the lower one in between."""
    ends = ((1.0, 3.0), (0.0, 0.05), (0.01, 0.2), _EPOCHS)
    drawn = generator.random((len(names), len(ends))).T
    exponents, serial, humps, epochs = map(uniforms, drawn, ends)
    base = np.array([float_power(10, each) for each in exponents.tolist()])
    # powers of two halve the parallel part; all counts in between are a hump above the lower power
    counts, columns = range(1, max_gpus + 1), []
    for w in counts:
        power = 2 ** (w.bit_length() - 1)
        columns.append(base * (serial + (1 - serial) / power) * (1.0 if w == power else 1.0 + humps))
    return _of_rows(names, epochs, counts, columns)


_DRAW: dict[str, _Draw] = {
    "mixed": _mixed,
    "table": _one_by_one(_table),
    "concave": _one_by_one(_concave),
    "adversarial": _adversarial,
}
