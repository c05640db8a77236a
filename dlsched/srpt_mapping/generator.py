"""Instances of srpt_mapping: the example, and random ones from a seed.

========================  ========================================================================================
preset                    what it is
========================  ========================================================================================
``mixed``                 chains of 1 to 4 stages on 1 to 16 GPUs, mostly few
``communication-heavy``   such chains with three times the activations and parameters, network cards a tenth as fast
``data-parallel``         one stage; 1, 2, 4, 8 or 16 replicas
``single-gpu``            93 % of the jobs on one GPU, lengths by quantiles of Philly: 5, 50, 95 and 99 % take at most
                          48, 1144, 43,648 and 254,884 s
``published``             published models on V100, cut into 1, 2 or 4 stages of 1 to 8 replicas, at most 16 GPUs
``recurring``             users' groups of like jobs; predictions wrong by a lognormal factor, as lengths within groups
``uneven-servers``        the jobs of ``mixed`` on servers of 1, 2, 4 and 8 GPUs
``shared``                jobs on shares of a GPU, a tenth to three quarters, and on 1, 2 and 4 GPUs
``openb``                 shares and numbers of GPUs with the frequencies of the pods of Alibaba's trace openb
``mig``                   profiles of an A100-40GB, and pairs of GPUs
========================  ========================================================================================

Servers have 8 GPUs, or 2 or 4 where at most four such servers hold all; the last has the rest. Those of
``uneven-servers`` are drawn, none above half of all GPUs. Jobs arrive as a Poisson process whose rate follows from the
load: GPU-seconds that the jobs need at alpha^low, over those that the cluster has while they arrive.

A length is drawn, in seconds at alpha^low; the iterations are those that fill it. Figures drawn and the seconds of
published stages are rounded to four significant digits, releases to nine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.published import PublishedModel, published_stages
from dlsched.cluster.slicing import GEOMETRIES
from dlsched.core.arguments import drawing, require_arguments, require_positive
from dlsched.core.elementary import exp, four_digits, log, log_uniform, lognormal
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import RANGES, Instance, Placement, Stage

Drawn = dict[str, Any]

PRESETS = LISTED.presets

TOTAL_GPUS = 16

# All figures of this block are choices of ours, orders of magnitude that occur; none is a measurement.
_INTRA, _ = RANGES["intra_bandwidth_bytes_per_s"].usual  # B/s inside a server
_SLOW_NIC, _NIC = RANGES["nic_bandwidth_bytes_per_s"].usual  # B/s: 10 and 100 Gbit/s
_GPUS = {1: 0.35, 2: 0.2, 3: 0.05, 4: 0.15, 6: 0.05, 8: 0.1, 12: 0.05, 16: 0.05}
_POWERS = {1: 0.4, 2: 0.25, 4: 0.15, 8: 0.12, 16: 0.08}
_MOSTLY_ONE = {1: 0.93, 2: 0.03, 4: 0.02, 8: 0.02}
_SIZES = [int(size) for size in RANGES["servers[].gpus"].choices]
_ITERATION_S, _OUTPUTS, _PARAMETERS = (  # 2.5 to 250 million parameters of 4 bytes
    RANGES[f"jobs[].stages[].{name}"].usual for name in ("compute_s", "output_bytes", "parameter_bytes")
)
_HEAVIER = 3.0  # activations and parameters of ``communication-heavy``, times
_LENGTHS_S = (60.0, 7200.0)
_MOST_PUBLISHED = 16  # GPUs of a job
_PER_GROUP, _PER_MODEL, _PER_USER = 4, 6, 8  # jobs, roughly
_WITHIN_GROUP, _PREDICTION = 0.25, 0.5  # standard deviations of logarithms
_CHOSEN = (
    "Chosen by dlsched, not measured: bandwidths, stages and replicas, the length of each job (a minute to two hours at "
    "alpha^low), and releases. The seconds of a stage are its share of the model's, to four digits"
)

# The four in the middle are quantiles of Philly's durations; the ends, and lines between the logarithms, are ours.
_QUANTILES = {0.0: 10.0, 0.05: 48.0, 0.5: 1144.0, 0.95: 43648.0, 0.99: 254884.0, 1.0: 1e6}


_MIG = "A100-40GB"
SLICING: Mapping[str, Mapping[str, str]] = {
    "shared": {"slicing": "shares"},
    "openb": {"slicing": "shares"},
    "mig": {"slicing": _MIG},
}
SLICES: dict[str, dict[float | str, float]] = {
    # ours
    "shared": {0.1: 1, 0.25: 2, 0.5: 2, 0.75: 1, 1: 2, 2: 1, 4: 1},
    # Alibaba, cluster-trace-gpu-v2023, openb_pod_list_default.csv: num_gpu and gpu_milli of all pods with GPUs that occur in
    # more than 10 of the 7,064 pods
    "openb": {
        **{0.81: 1078, 0.47: 750, 0.32: 328, 0.65: 253, 0.23: 140, 0.46: 128, 0.59: 75, 0.16: 74, 0.55: 72, 0.22: 62},
        **{0.37: 47, 0.11: 24, 0.48: 19, 1: 3911, 8: 44, 2: 16, 4: 15},
    },
    # ours
    "mig": {"1g.5gb": 3, "2g.10gb": 2, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1, 2: 1},
}
"""By preset what jobs take, shares of a GPU, profiles, or numbers of GPUs, with weights."""


def example() -> Instance:
    """Four jobs on two servers of two GPUs; small enough to solve by hand.

    Together on a server an iteration of ``all-reduce`` takes 1.25 s (apart: 3 s) and one of ``pipeline`` .75 s (2.5 s).
    The best schedule runs ``pipeline`` on s0 until 3 s, the small jobs on s1 until 4 s and 3 s, and then ``all-reduce``
    on s0 until 15.5 s: 25.5 s in sum.
    """
    chain = [_stage(1, 0.5, 2.0e9, 1.0e9), _stage(1, 0.5, 0, 1.0e9)]
    predicted = {"predicted_iterations": 3.0, "group": "nightly"}
    return Instance(
        name="four-jobs",
        intra_bandwidth_bytes_per_s=1.6e10,
        nic_bandwidth_bytes_per_s=4.0e9,
        servers=[{"id": "s0", "gpus": 2}, {"id": "s1", "gpus": 2}],
        jobs=[
            {"id": "all-reduce", "release_s": 0.0, "iterations": 10, "stages": [_stage(2, 1.0, 0, 4.0e9)]},
            {"id": "pipeline", "release_s": 0.0, "iterations": 4, "stages": chain},
            {"id": "long", "release_s": 0.0, "iterations": 4, "stages": [_stage(1, 1.0, 0, 1.0e9)]},
            {"id": "short", "release_s": 1.0, "iterations": 2, "stages": [_stage(1, 1.0, 0, 1.0e9)], **predicted},
        ],
    )


@drawing
def generate(
    *,
    preset: str = "mixed",
    jobs: int = 10,
    gpus: int | None = None,
    load: float = 0.8,
    placement: Placement = "any",
    seed: int = 0,
) -> Instance:
    """Draw a feasible instance; the same arguments give the same instance.

    Parameters
    ----------
    preset
        One of ``PRESETS``.
    jobs
        Number of jobs, >= 1; none takes more GPUs than there are.
    gpus
        GPUs of all servers; None: ``TOTAL_GPUS``.
    load
        GPU-seconds needed at alpha^low, over those the cluster has while jobs arrive; > 0.
    placement
        ``any``, or ``consolidated``: a job uses as few servers as it can.
    seed
        Of ``numpy.random.default_rng``.

    Raises
    ------
    UsageError
        An unknown preset or placement, or a number out of range.
    """
    require_arguments(PRESETS, preset, seed, jobs=jobs, gpus=gpus)
    require_positive(load=load)
    if placement not in get_args(Placement):
        raise UsageError(where="placement", found=repr(placement), allowed=", ".join(get_args(Placement)))
    total = TOTAL_GPUS if gpus is None else gpus
    generator = np.random.default_rng(seed)
    sizes = _uneven_sizes(generator, total) if preset == "uneven-servers" else _even_sizes(total)
    nic = _SLOW_NIC if preset == "communication-heavy" else _NIC
    cluster = _Cluster(total, max(_INTRA, nic / min(sizes)))
    used: list[PublishedModel] = []
    if preset == "recurring":
        drawn = _recurring(generator, cluster, jobs)
    else:
        drawn = [_job(generator, cluster, preset, used) for _ in range(jobs)]
    # a span at which the GPU-seconds needed are the load times those that the cluster has
    gpu_s = [job["iterations"] * (_gpus(job) * cluster.iteration_s(job)) for job in drawn]
    span_s = math.fsum(gpu_s) / (load * total)
    if not 0 < span_s < 1e15:
        raise UsageError(where="load", found=load, allowed="one at which arrivals span up to 1e15 s")
    releases = np.cumsum(generator.exponential(span_s / jobs, jobs)).tolist()
    command = f"dlsched generate srpt_mapping --preset {preset} --jobs {jobs} --gpus {total} --seed {seed}"
    placed = "" if placement == "any" else placement
    command += (f" --load {load!r}" if load != 0.8 else "") + (placed and f" --placement {placed}")
    return Instance(
        name=f"{preset}{placed and f'-{placed}'}-{jobs}x{total}-seed{seed}",
        source="\n".join([command, *_sources(used)]),
        intra_bandwidth_bytes_per_s=_INTRA,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size, **SLICING.get(preset, {})} for index, size in enumerate(sizes)],
        jobs=[
            {"id": f"j{index}", "release_s": float(f"{release_s:.9g}"), **job}
            for index, (job, release_s) in enumerate(zip(drawn, releases, strict=True))
        ],
        placement=placement,
    )


@dataclass(frozen=True, slots=True)
class _Cluster:
    """All GPUs, and the largest bandwidth, with which alpha^low is computed."""

    gpus: int
    fastest: float

    def iteration_s(self, job: Drawn) -> float:
        """alpha^low of a job."""
        return _graph(job["stages"]).uniform_s(self.fastest)

    def iterations(self, job: Drawn, length_s: float) -> float:
        """As many as fill a length, whole and at least one."""
        return four_digits(max(1.0, round(length_s / self.iteration_s(job))))


def _stage(replicas: int, compute_s: float, output_bytes: float, parameter_bytes: float) -> Drawn:
    return dict(zip(Stage.model_fields, (replicas, compute_s, output_bytes, parameter_bytes), strict=True))


def _graph(stages: Sequence[Drawn]) -> JobGraph:
    """The graph of drawn stages."""
    return JobGraph(*(tuple(stage[name] for stage in stages) for name in Stage.model_fields))


def _gpus(job: Drawn) -> float:
    """GPUs that a job takes, or the part of one."""
    if "profile" in job:
        return GEOMETRIES[_MIG].profiles[job["profile"]].size / GEOMETRIES[_MIG].slots
    return float(job.get("gpu_share", _graph(job["stages"]).gpus))


def _even_sizes(gpus: int) -> list[int]:
    """GPUs of servers of one size; the last has the rest."""
    size = 2 if gpus <= 8 else 4 if gpus <= 16 else 8
    return [min(size, gpus - before) for before in range(0, gpus, size)]


def _uneven_sizes(generator: "np.random.Generator", gpus: int) -> list[int]:
    """1, 2, 4 or 8 with equal chances, of those that still fit and are at most half of all."""
    sizes: list[int] = []
    while (remaining := gpus - sum(sizes)) > 0:
        able = [size for size in _SIZES if size <= min(remaining, max(1, gpus // 2))]
        sizes.append(int(generator.choice(able)))
    return sizes


def _job(generator: "np.random.Generator", cluster: _Cluster, preset: str, used: list[PublishedModel]) -> Drawn:
    """A job of a preset; the model it was made from is added to ``used``, if it is a published one."""
    length_s = log_uniform(generator, *_LENGTHS_S)
    if preset == "published":
        model, job = _published(generator, cluster.gpus)
        used.append(model)
    elif preset == "data-parallel":
        job = {"stages": _chain(generator, _size(generator, _POWERS, cluster.gpus), 1)}
    elif preset in SLICES:
        job = _sliced(generator, SLICES[preset], cluster.gpus)
    elif preset == "single-gpu":
        length_s = _quantile_s(generator.random())
        job = {"stages": _chain(generator, _size(generator, _MOSTLY_ONE, cluster.gpus), 1)}
    else:
        heavier = _HEAVIER if preset == "communication-heavy" else 1.0
        job = {"stages": _chain(generator, _size(generator, _GPUS, cluster.gpus), 4, heavier)}
    return {"iterations": cluster.iterations(job, length_s), **job}


def _sliced(generator: "np.random.Generator", chances: Mapping[float | str, float], gpus: int) -> Drawn:
    """A job on a share of a GPU, on a profile, or on whole GPUs, of those that the cluster holds."""
    needs = [need for need in chances if isinstance(need, str) or need <= gpus]
    weights = np.array([chances[need] for need in needs])
    need = needs[int(generator.choice(len(needs), p=weights / weights.sum()))]
    if isinstance(need, str) or need < 1:
        stage = _stage(1, four_digits(log_uniform(generator, *_ITERATION_S)), 0.0, 0.0)
        return {"stages": [stage], **({"profile": need} if isinstance(need, str) else {"gpu_share": need})}
    return {"stages": _chain(generator, int(need), 1)}


def _size(generator: "np.random.Generator", chances: dict[int, float], gpus: int) -> int:
    """GPUs of a job, of the sizes that the cluster holds."""
    sizes = [size for size in chances if size <= gpus]
    weights = np.array([chances[size] for size in sizes])
    return int(generator.choice(sizes, p=weights / weights.sum()))


def _chain(generator: "np.random.Generator", gpus: int, most: int, heavier: float = 1.0) -> list[Drawn]:
    """Up to ``most`` stages with at least a replica each, seconds within some 30 % of each other."""
    stages = int(generator.integers(1, min(most, gpus) + 1))
    # cut points without repetition, so every stage has a replica
    cuts = sorted((generator.permutation(gpus - 1)[: stages - 1] + 1).tolist())
    iteration_s = log_uniform(generator, *_ITERATION_S)
    return [
        _stage(
            last - first,
            four_digits(iteration_s * lognormal(generator, 0.25)),
            four_digits(heavier * log_uniform(generator, *_OUTPUTS)) if last < gpus else 0.0,
            four_digits(heavier * log_uniform(generator, *_PARAMETERS)),
        )
        for first, last in zip([0, *cuts], [*cuts, gpus], strict=True)
    ]


def _published(generator: "np.random.Generator", gpus: int) -> tuple[PublishedModel, Drawn]:
    """A published model as 1, 2 or 4 stages of 1, 2, 4 or 8 replicas each."""
    models = published_stages()
    model = models[int(generator.integers(len(models)))]
    most = min(_MOST_PUBLISHED, gpus)
    # shapes that fit the cluster and the model's blocks, all equally likely
    shapes = [
        (stages, replicas)
        for stages in (1, 2, 4)
        for replicas in (1, 2, 4, 8)
        if stages * replicas <= most and stages <= len(model.blocks)
    ]
    stages, replicas = shapes[int(generator.integers(len(shapes)))]
    cut = [
        _stage(each.replicas, four_digits(each.compute_s), float(each.output_bytes), float(each.parameter_bytes))
        for each in model.stages(stages, replicas)
    ]
    return model, {"model": model.model, "stages": cut}


def _recurring(generator: "np.random.Generator", cluster: _Cluster, jobs: int) -> list[Drawn]:
    """Groups of a user, a model and a typical length; jobs of any group in any order."""
    models = [
        {"model": f"m{index}", "stages": _chain(generator, _size(generator, _GPUS, cluster.gpus), 4)}
        for index in range(-(-jobs // _PER_MODEL))
    ]
    groups = []
    for index in range(-(-jobs // _PER_GROUP)):
        words = {"group": f"g{index}", "user": f"u{generator.integers(-(-jobs // _PER_USER))}"}
        groups.append((words | models[int(generator.integers(len(models)))], log_uniform(generator, *_LENGTHS_S)))
    # lengths and predictions scatter about those of the group
    drawn = []
    for _ in range(jobs):
        job, typical_s = groups[int(generator.integers(len(groups)))]
        length_s = typical_s * lognormal(generator, _WITHIN_GROUP)
        iterations = cluster.iterations(job, length_s)
        predicted = four_digits(max(1.0, iterations * lognormal(generator, _PREDICTION)))
        drawn.append({"iterations": iterations, "predicted_iterations": predicted, **job})
    return drawn


def _quantile_s(chance: float) -> float:
    """The length that this share of the jobs does not exceed."""
    return exp(float(np.interp(chance, list(_QUANTILES), [log(each) for each in _QUANTILES.values()])))


def _sources(used: Sequence[PublishedModel]) -> list[str]:
    """Where the figures of the models used come from, and what was chosen."""
    lines = []
    for model in published_stages():
        if model not in used:
            continue
        which = ", ".join(f"j{index}" for index, other in enumerate(used) if other is model)
        how = "measured" if model.iteration_how is None else model.iteration_how
        lines += [
            f"{model.model} ({which}), seconds: {model.iteration_source} ({how})",
            f"{model.model}, parameters: {model.parameter_source}",
            f"{model.model}, work of its blocks: {model.work_source}",
        ]
    return [*lines, _CHOSEN] if lines else []
