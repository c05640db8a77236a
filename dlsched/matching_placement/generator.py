"""Instances of matching_placement: the example, and random ones from a seed.

Each job is promised one or two workers of a random order and then drawn such that these can serve it, so the smallest
sizes always fit together. Figures drawn are rounded to four significant digits. But for ``published-rates`` a job takes c
seconds an iteration on a worker of speed 1; its rate on a type is batch / c times the type's speed times a lognormal
factor of job and type. A type whose memory is too small for a job cannot serve it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dlsched.catalogue.matching_placement import LISTED
from dlsched.cluster.published import PublishedRates, published_rates
from dlsched.core.arguments import drawing, require_arguments
from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import exp, four_digits, log, log_uniform, whole
from dlsched.core.errors import UsageError
from dlsched.matching_placement.instance import RANGES, Instance, Job, Worker

Drawn = dict[str, Any]

PRESETS = LISTED.presets

WORKERS_PER_JOB = 3

OBJECTIVES = ("mean", "max_rho", "alpha_fair")

# We chose all figures of this block: orders of magnitude that occur; none is a measurement.
_NICS = RANGES["workers[].bandwidth_bytes_per_s"].choices  # B/s
_SLOW, _FAST = _NICS[0], _NICS[-1]
_MEMORIES_GB = (8.0, 12.0, 16.0, 24.0, 32.0, 40.0, 80.0)
_GRADIENTS = RANGES["jobs[].gradient_bytes"].usual  # bytes: 2.5 to 250 million parameters of 4 bytes
_BATCHES, _MOST_WORKERS = (RANGES[f"jobs[].{name}"].usual for name in ("batch_samples", "max_workers"))
_LARGE_GRADIENTS = (1e8, 4e9)  # 25 to 1000 million parameters
_LOG_ITERATION_S, _LOG_WORK_S = ((log(low), log(high)) for low, high in ((0.1, 2), (600, 5 * 86400)))
_PUBLISHED_BANDWIDTHS = {"K80": 1.25e9, "P100": 1.25e9, "T4": 3.125e9, "V100": 3.125e9, "A100": 1.25e10}
_UNKNOWN_GRADIENT = 1e8  # bytes, for models whose number of parameters is not published
_CHOSEN = (
    "Chosen by dlsched, not measured: the bandwidth of every type, the iterations, the batches (1 to 8 times the "
    "published one) and gradient_bytes where it is not known"
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type of workers; speed and memory mean nothing in ``published-rates``."""

    name: str
    bandwidth: float
    speed: float = 1.0
    memory_gb: float = 1.0


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How many types (None: as many as workers), gradients from .. to (None: no exchange), networks that take turns."""

    kinds: tuple[int, int] | None = (2, 4)
    gradients: tuple[float, float] | None = _GRADIENTS
    networks: tuple[float, ...] = ()


_RECIPES = {
    "few-types": _Recipe(),
    "many-types": _Recipe(kinds=(8, 10)),
    "distinct-workers": _Recipe(kinds=None),
    "compute-only": _Recipe(gradients=None),
    "communication-heavy": _Recipe(gradients=_LARGE_GRADIENTS, networks=(_FAST, _SLOW)),
}


def example() -> Instance:
    """Two jobs on four workers of two types; small enough to solve by hand.

    A ring through a T4 is ten times slower, so the best placement leaves one idle: a on both V100, b on one T4.
    """
    workers = [("v0", "V100", 1.25e10), ("v1", "V100", 1.25e10), ("t0", "T4", 1.25e9), ("t1", "T4", 1.25e9)]
    # iterations, batch, gradient, rates and sizes, in the order of the fields of a job
    jobs = [
        ("a", 1000, 256, 1.0e8, {"V100": 400.0, "T4": 120.0}, 1, 8),
        ("b", 500, 128, 8.0e8, {"V100": 200.0, "T4": 160.0}, 1, 2),
    ]
    return Instance(
        name="mixed",
        workers=[dict(zip(Worker.model_fields, worker, strict=True)) for worker in workers],
        jobs=[dict(zip(Job.model_fields, job, strict=True)) for job in jobs],
    )


@drawing
def generate(
    *,
    preset: str = "few-types",
    jobs: int = 6,
    gpus: int | None = None,
    seed: int = 0,
    types: int | None = None,
    objective: str | None = None,
    alpha: float | None = None,
) -> Instance:
    """Draw a feasible instance; the same arguments give the same instance.

    Parameters
    ----------
    preset
        One of ``PRESETS``; never more types than workers.
    types
        Number of types, >= 1, but for ``published-rates``; None: drawn as the preset says.
    jobs
        Number of jobs, >= 1. A quarter of them need two workers, while there are enough; a third take at most 4 to 16.
    gpus
        Number of workers, >= ``jobs``; None: ``WORKERS_PER_JOB`` for every job.
    seed
        Of ``numpy.random.default_rng``.
    objective, alpha
        As in ``Instance``, None: the mean; jobs and workers are the same for all.

    Raises
    ------
    UsageError
        An unknown preset or objective, a number out of range, fewer workers than jobs, or an alpha that the objective does not
        take.
    """
    if objective not in (None, *OBJECTIVES):
        raise UsageError(where="objective", found=repr(objective), allowed=", ".join(OBJECTIVES))
    if (alpha is None) == (objective == "alpha_fair") or not (alpha is None or 0 <= alpha < np.inf):
        raise UsageError(
            where="alpha", found=alpha, allowed="a number >= 0 with alpha_fair, none with other objectives"
        )
    require_arguments(PRESETS, preset, seed, jobs=jobs, gpus=gpus, types=types)
    if types is not None and preset == "published-rates":
        raise UsageError(where="types", found=types, allowed="none with published-rates, which has five")
    total = WORKERS_PER_JOB * jobs if gpus is None else gpus
    if total < jobs:
        raise UsageError(where="gpus", found=total, allowed=f"an integer >= jobs = {jobs}, a worker for each")
    generator = np.random.default_rng(seed)
    recipe = _RECIPES.get(preset)
    if recipe is not None and types is not None:
        recipe = replace(recipe, kinds=(types, types))
    kinds = _published_kinds(generator, total) if recipe is None else _kinds(generator, recipe, total)
    # a worker of every type, the others of random types; then a random order in which jobs are promised workers
    several = [*range(len(kinds)), *generator.integers(len(kinds), size=total - len(kinds)).tolist()]
    kind_of = [kinds[index] for index in sorted(several)]
    order = generator.permutation(total).tolist()
    drawn: list[Drawn] = []
    raw: list[tuple[float, ...]] = []
    used: list[PublishedRates] = []
    # a job is drawn such that the workers promised to it can serve it
    for index in range(jobs):
        spare = len(order) - (jobs - index)
        sizes = _sizes(generator, spare)
        promised = [kind_of[order.pop()] for _ in range(sizes.get("min_workers", 1))]
        if recipe is None:
            rates, job = _published_job(generator, promised, kinds)
            used.append(rates)
        else:
            job = {}
            raw.append(_raw_job(generator, recipe, promised, len(kinds)))
        drawn.append({"id": f"j{index}", **job, **sizes})
    if recipe is not None:
        drawn = [job | fields for job, fields in zip(drawn, _jobs(np.array(raw), kinds), strict=True)]
    command = f"dlsched generate matching_placement --preset {preset} --jobs {jobs} --gpus {total} --seed {seed}"
    if types is not None:
        command += f" --types {types}"
    named, aimed = "", Drawn()
    if objective not in (None, "mean"):
        aimed = {"objective": objective} | ({} if alpha is None else {"alpha": alpha})
        command += "".join(f" --{option} {value}" for option, value in aimed.items())
        named = f"-{objective}" + ("" if alpha is None else f"-{alpha:g}")
    return Instance(
        name=f"{preset}-{jobs}x{total}{'' if types is None else f'-{types}types'}-seed{seed}{named}",
        source="\n".join([command, *_sources(used, kinds)]),
        workers=[
            {"id": f"w{index}", "type": kind.name, "bandwidth_bytes_per_s": kind.bandwidth}
            for index, kind in enumerate(kind_of)
        ],
        jobs=drawn,
        **aimed,
    )


def _sizes(generator: "np.random.Generator", spare: int) -> Drawn:
    """Draw the limits of a job's size, if it has any; it needs a second worker only if one is to spare."""
    two, limited, limit = generator.random() < 1 / 4, generator.random() < 1 / 3, whole(generator, *_MOST_WORKERS)
    return ({"min_workers": 2} if two and spare > 0 else {}) | ({"max_workers": limit} if limited else {})


def _kinds(generator: "np.random.Generator", recipe: _Recipe, workers: int) -> list[_Kind]:
    """Draw types with speeds from 1 to 8; they take turns on the recipe's networks or draw one each."""
    count = (
        workers if recipe.kinds is None else min(workers, int(generator.integers(recipe.kinds[0], recipe.kinds[1] + 1)))
    )
    networks = recipe.networks or generator.choice(_NICS, size=count).tolist()
    return [
        _Kind(
            name=f"g{index}",
            bandwidth=networks[index % len(networks)],
            speed=log_uniform(generator, 1, 8),
            memory_gb=float(generator.choice(_MEMORIES_GB)),
        )
        for index in range(count)
    ]


def _raw_job(
    generator: "np.random.Generator", recipe: _Recipe, promised: Sequence[_Kind], kinds: int
) -> tuple[float, ...]:
    """Draw log seconds of an iteration, log batch, memory, log work in seconds, log gradient, and factors of the types."""
    iteration = generator.uniform(*_LOG_ITERATION_S)
    # batches are powers of two; the promised workers have memory enough
    batch = 2 ** whole(generator, *(int(batch).bit_length() - 1 for batch in _BATCHES))
    needed_gb = generator.uniform(2, min(kind.memory_gb for kind in promised))
    factors = generator.standard_normal(kinds).tolist()
    work = generator.uniform(*_LOG_WORK_S)
    ends = recipe.gradients
    gradient = generator.uniform(log(ends[0]), log(ends[1])) if ends else -np.inf
    return iteration, batch, needed_gb, work, gradient, *factors


def _jobs(raw: FloatArray, kinds: Sequence[_Kind]) -> Iterator[Drawn]:
    """Work of 10 minutes to 5 days on a worker of speed 1, .1 to 2 s an iteration; memory the promised have."""
    iteration_s, batch, needed_gb, work_s = exp(raw[:, 0]), raw[:, 1], raw[:, 2].tolist(), exp(raw[:, 3])
    sent = np.isfinite(raw[:, 4])
    gradients = np.where(sent, four_digits(exp(np.where(sent, raw[:, 4], 0.0))), 0.0)
    factors = exp(0.25 * raw[:, 5:])
    rates = [four_digits(batch / iteration_s * kind.speed * factors[:, at]) for at, kind in enumerate(kinds)]
    iterations, named = four_digits(work_s / iteration_s).tolist(), [(kind.name, kind.memory_gb) for kind in kinds]
    columns = zip(
        iterations, batch.tolist(), gradients.tolist(), needed_gb, np.stack(rates, axis=1).tolist(), strict=True
    )
    for each, samples, gradient, needed, row in columns:
        able = {name: rate for (name, memory), rate in zip(named, row, strict=True) if memory >= needed}
        yield {"iterations": each, "batch_samples": samples, "gradient_bytes": gradient, "samples_per_s": able}


def _published_kinds(generator: "np.random.Generator", workers: int) -> list[_Kind]:
    """All five types, or as many of them as there are workers, in random choice."""
    every = [_Kind(name, bandwidth) for name, bandwidth in _PUBLISHED_BANDWIDTHS.items()]
    chosen = generator.permutation(len(every))[:workers]
    return [every[index] for index in sorted(chosen.tolist())]


def _published_job(
    generator: "np.random.Generator", promised: Sequence[_Kind], kinds: Sequence[_Kind]
) -> tuple[PublishedRates, Drawn]:
    """A model published on the promised types (ResNet-50 is on all), its rates at one GPU and batch taken for any share."""
    able = [rates for rates in published_rates() if all(kind.name in rates.samples_per_s for kind in promised)]
    rates = able[int(generator.integers(len(able)))]
    batch = rates.batch_samples * 2 ** int(generator.integers(4))
    duration_s = log_uniform(generator, 900, 2 * 86400)
    return rates, {
        "iterations": four_digits(duration_s * rates.samples_per_s["V100"] / batch),
        "batch_samples": float(batch),
        "gradient_bytes": float(rates.gradient_bytes or _UNKNOWN_GRADIENT),
        "samples_per_s": {
            kind.name: rates.samples_per_s[kind.name] for kind in kinds if kind.name in rates.samples_per_s
        },
    }


def _sources(used: Sequence[PublishedRates], kinds: Sequence[_Kind]) -> list[str]:
    """Where the figures of the models used come from, a line each, and what was chosen."""
    lines = []
    for rates in published_rates():
        if rates not in used:
            continue
        which = ", ".join(f"j{index}" for index, other in enumerate(used) if other is rates)
        unknown = f"not known, {_UNKNOWN_GRADIENT:g} chosen"
        lines.append(f"{rates.model} ({which}), gradient_bytes: {rates.gradient_source or unknown}")
        for gpu in (kind.name for kind in kinds if kind.name in rates.samples_per_s):
            how = f" ({rates.how[gpu]})" if gpu in rates.how else ""
            lines.append(f"{rates.model} on {gpu}: {rates.sources[gpu]}{how}")
    return [*lines, _CHOSEN] if lines else []
