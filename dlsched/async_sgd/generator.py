"""Instances of async_sgd: the example, and random ones from a seed.

Figures are rounded to four significant digits, so that files stay short and the same everywhere. Z are the
seconds of a mini-batch on a worker, S / B those of a pull or a push and u those of an update:

==============  ==================================================================================================
preset          what it is
==============  ==================================================================================================
``published``   published models (``cluster.published``) on ImageNet, links of 1, 10 or 25 Gbit/s
``network``     S / B from Z / 8 to Z / 2, u at most S / B / 10: no more than 11 workers fill a link
``update``      u from Z / 8 to Z / 2, S / B at most u / 10: no more than 10 workers keep the updates busy
``compute``     S / B and u at most Z / 1000: throughput grows nearly in proportion to the workers
``mixed``       Z, S, B and u over two or three orders of magnitude, 1 to 4 servers, a third of them half duplex
``equal``       copies of one job of ``mixed``: an equal share of the nodes is optimal where it is whole and allowed
==============  ==================================================================================================
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np

from dlsched.async_sgd.instance import RANGES, Instance, Job
from dlsched.catalogue.async_sgd import LISTED
from dlsched.cluster.published import (
    IMAGENET_IMAGES,
    IMAGENET_SOURCE,
    NETWORK_BYTES_PER_S,
    PublishedSteps,
    Step,
    published_steps,
)
from dlsched.core.arguments import drawing, require_arguments
from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import (
    below,
    drawing_below,
    exp,
    four_digits,
    log,
    near_exp,
    of_words,
    surely_four_digits,
    uniforms,
    whole,
)
from dlsched.core.part_columns import PartColumns

Fields = dict[str, object]  # of a job, without its id
Columns = dict[str, Sequence[object] | FloatArray]
"""Fields of the jobs, each as a list or an array."""

_Exp = Callable[[FloatArray], FloatArray]
_Figures = tuple[FloatArray, FloatArray, FloatArray, FloatArray | float]
"""Seconds to compute a mini-batch, to move the parameters, and of an update; bytes a second."""

PRESETS = LISTED.presets

NODES_A_JOB = 6

_BLOCK = 4096  # jobs that are drawn at a time, so that their numbers stay in the cache
_LINK = NETWORK_BYTES_PER_S[10]  # bytes a second, in all presets but ``mixed`` and ``published``
_UPDATED = 0.75  # of these jobs, whose updates take time

# Assumptions, not measurements: a push is applied by reading parameters and gradient and writing the parameters, at
# this speed of a server's memory.
_UPDATE_PASSES = 3
_MEMORY_BYTES_PER_S = 2e10

_EPOCHS, _DATASET, _SHARDS = (RANGES[f"jobs[].{name}"].usual for name in ("epochs", "dataset_examples", "shards"))
_BATCHES = RANGES["jobs[].batch_examples"].choices
_PARAMETER_BYTES, _BANDWIDTH, _COMPUTE_S, _UPDATE_S = (
    RANGES[f"jobs[].{name}"].usual for name in ("parameter_bytes", "bandwidth_bytes_per_s", "compute_s", "update_s")
)
_LOG_DATASET, _LOG_BYTES, _LOG_BANDWIDTH, _LOG_S, _LOG_UPDATE_S = (
    (log(least), log(most)) for least, most in (_DATASET, _PARAMETER_BYTES, _BANDWIDTH, _COMPUTE_S, _UPDATE_S)
)

_CHOSEN = (
    "Chosen by dlsched, not measured: links of 1, 10 or 25 Gbit/s (all bits are payload), epochs, shards and duplex. "
    "update_s is assumed: 3 x parameter_bytes (read parameters and gradient, write parameters) / 2e10 bytes per second. "
    "Parameters have 4 bytes; the seconds of a step are rounded to four digits"
)


def example() -> Instance:
    """Two jobs on six nodes; small enough to solve by hand.

    ``a`` needs .25 s of compute, .08 s a pull or push and .01 s an update, 3906.25 times; ``b`` .1 s of compute, and at
    each of two half-duplex servers .02 s of transfers and .01 s of updates, 4000 times. Four nodes for ``a`` and two for
    ``b`` are best.
    """
    return Instance(
        name="two-servers",
        nodes=6,
        jobs=[
            {
                "id": "a",
                "epochs": 10,
                "dataset_examples": 50000,
                "batch_examples": 128,
                "parameter_bytes": 1.0e8,
                "bandwidth_bytes_per_s": 1.25e9,
                "compute_s": 0.25,
                "update_s": 0.01,
            },
            {
                "id": "b",
                "epochs": 20,
                "dataset_examples": 10000,
                "batch_examples": 50,
                "parameter_bytes": 2.5e7,
                "bandwidth_bytes_per_s": 1.25e9,
                "compute_s": 0.1,
                "update_s": 0.02,
                "shards": 2,
                "duplex": "half",
                "max_nodes": 4,
            },
        ],
    )


@drawing
def generate(
    *,
    preset: str = "published",
    jobs: int = 10,
    nodes: int | None = None,
    seed: int = 0,
    max_nodes: int | None = None,
) -> Instance:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    preset
        One of ``PRESETS``.
    jobs
        Number of jobs, >= 1.
    nodes
        Nodes of the cluster; None: ``NODES_A_JOB`` for every job.
    seed
        Seed of ``numpy.random.default_rng``.
    max_nodes
        Most nodes that a job may be given, >= 1; None: all nodes.

    Raises
    ------
    UsageError
        An unknown preset or a number out of range.
    """
    require_arguments(PRESETS, preset, seed, jobs=jobs, nodes=nodes, max_nodes=max_nodes)
    generator = np.random.default_rng(seed)
    total = NODES_A_JOB * jobs if nodes is None else nodes
    command = f"dlsched generate async_sgd --preset {preset} --jobs {jobs} --nodes {total} --seed {seed}"
    sources = [command if max_nodes is None else f"{command} --max-nodes {max_nodes}"]
    blocks: Iterator[Columns]
    if preset == "published":
        used = [_choose(generator) for _ in range(jobs)]
        rows = [_published(generator, model, step) for model, step in used]
        blocks = iter([{name: [row[name] for row in rows] for name in rows[0]}])
        sources += _sources(used)
    elif preset == "equal":
        blocks = iter([{name: [*column] * jobs for name, column in _mixed(generator, 1).items()}])
    else:
        blocks = (_DRAW[preset](generator, min(_BLOCK, jobs - start)) for start in range(0, jobs, _BLOCK))
    drawn = PartColumns.joined(_columns(block, first, max_nodes) for block, first in zip(blocks, count(0, _BLOCK)))
    name, source = f"{preset}-{jobs}x{total}-seed{seed}", "\n".join(sources)
    return Instance.of_columns(drawn, name=name, source=source, nodes=total)


def _columns(block: Columns, first: int, max_nodes: int | None) -> PartColumns:
    """The jobs of a block; ``first`` is the number in the id of its first job."""
    size = len(block["epochs"])
    columns: Columns = {"id": [f"j{index}" for index in range(first, first + size)], **block}
    if max_nodes is not None:
        columns["max_nodes"] = [max_nodes] * size
    return PartColumns.of_valid(Job, columns, [tuple(columns)] * size)


def _choose(generator: "np.random.Generator") -> tuple[PublishedSteps, Step]:
    """A published model, and one of its measured steps."""
    models = published_steps()
    model = models[int(generator.integers(len(models)))]
    return model, model.steps[int(generator.integers(len(model.steps)))]


def _published(generator: "np.random.Generator", model: PublishedSteps, step: Step) -> Fields:
    """A published model on random links and servers."""
    gbits = list(NETWORK_BYTES_PER_S)
    return {
        "epochs": four_digits(float(generator.uniform(*_EPOCHS))),
        "dataset_examples": float(IMAGENET_IMAGES),
        "batch_examples": float(step.batch_samples),
        "parameter_bytes": float(model.parameter_bytes),
        "bandwidth_bytes_per_s": NETWORK_BYTES_PER_S[gbits[int(generator.integers(len(gbits)))]],
        "compute_s": four_digits(step.step_s),
        "update_s": four_digits(assumed_update_s(model.parameter_bytes)),
        **_servers(generator),
    }


def assumed_update_s(parameter_bytes: float) -> float:
    """Seconds in which servers apply a push, an assumption: they read parameters and gradient, and write the parameters."""
    return _UPDATE_PASSES * parameter_bytes / _MEMORY_BYTES_PER_S


def _drawn(generator: "np.random.Generator", jobs: int, *spans: tuple[float, float]) -> list[FloatArray]:
    """Three numbers of every job, its epochs, the logarithm of the examples of one, and those of a mini-batch."""
    random, batch = generator.random, drawing_below(generator, len(_BATCHES))
    *numbers, batches = np.array([(random(), random(), random(), random(), random(), batch()) for _ in range(jobs)]).T
    return [*map(uniforms, numbers, (*spans, _EPOCHS, _LOG_DATASET)), _examples(batches)]


def _examples(batches: FloatArray) -> FloatArray:
    return np.array(_BATCHES, dtype=np.float64)[batches.astype(np.int64)]


def _network(generator: "np.random.Generator", jobs: int) -> Columns:
    log_s, transfer, update, *work = _drawn(generator, jobs, _LOG_S, (0.125, 0.5), (0, 0.1))
    return _jobs(lambda exp: (exp(log_s), exp(log_s) * transfer, exp(log_s) * transfer * update, _LINK), work)


def _update(generator: "np.random.Generator", jobs: int) -> Columns:
    log_s, update, transfer, *work = _drawn(generator, jobs, _LOG_S, (0.125, 0.5), (0, 0.1))
    return _jobs(lambda exp: (exp(log_s), exp(log_s) * update * transfer, exp(log_s) * update, _LINK), work)


def _compute(generator: "np.random.Generator", jobs: int) -> Columns:
    log_s, transfer, update, *work = _drawn(generator, jobs, _LOG_S, (0, 0.001), (0, 0.001))
    return _jobs(lambda exp: (exp(log_s), exp(log_s) * transfer, exp(log_s) * update, _LINK), work)


def _mixed(generator: "np.random.Generator", jobs: int) -> Columns:
    """Independent figures; one update in four takes no time."""
    *numbers, batches, half, servers = _numbers(generator, jobs)
    spans = (_LOG_BANDWIDTH, _LOG_BYTES, _LOG_UPDATE_S, _LOG_S, _EPOCHS, _LOG_DATASET)
    log_bandwidth, log_bytes, log_update, log_s, *work = map(uniforms, numbers, spans)
    log_update = np.where(np.isnan(log_update), -math.inf, log_update)
    of_servers = {
        "shards": (servers.astype(np.int64) + int(_SHARDS[0])).tolist(),
        "duplex": ["half" if each else "full" for each in half.tolist()],
    }

    def figures(exp: _Exp) -> _Figures:
        bandwidth = exp(log_bandwidth)
        return exp(log_s), exp(log_bytes) / bandwidth, exp(log_update), bandwidth

    return _jobs(figures, [*work, _examples(batches)]) | of_servers


def _numbers(generator: "np.random.Generator", jobs: int) -> FloatArray:
    """Random numbers of the jobs of ``mixed``; shape (9, jobs).

    Six in [0, 1), of which the third, of an update, is NaN for jobs whose updates take no time; then the index of the batch size,
    1 for half duplex, and servers beyond one.
    """
    state, servers = generator.bit_generator.state, int(_SHARDS[1] - _SHARDS[0]) + 1
    # A word for each number, but one for both that are below a number, and none for an update of no time.
    words = np.asarray(generator.bit_generator.random_raw(9 * jobs))
    drawn = of_words(words)
    lengths, starts, end = (8 + (drawn[2:] < _UPDATED)).astype(np.uint8).tobytes(), list[int](), 0
    for _ in range(jobs):
        starts.append(end)
        end += lengths[end]
    first = np.array(starts)
    updated = drawn[first + 2] < _UPDATED
    later = first + 3 + updated
    batches, shards = below(words[later + 3], len(_BATCHES)), below(words[later + 3] >> np.uint64(32), servers)
    generator.bit_generator.state = state
    if batches is not None and shards is not None and not state["has_uint32"]:
        generator.bit_generator.random_raw(end, output=False)
        update = np.where(updated, drawn[first + 3], math.nan)
        numbers = (drawn[first], drawn[first + 1], update, *(drawn[later + place] for place in range(3)))
        return np.array([*numbers, batches, drawn[later + 4] < 1 / 3, shards])
    # Once in billions of draws a half word is refused and the next one taken: then all are drawn one by one.
    random, batch, shard = generator.random, drawing_below(generator, len(_BATCHES)), drawing_below(generator, servers)
    rows = []
    for _ in range(jobs):
        times = random(), random(), random() if random() < _UPDATED else math.nan
        rows.append((*times, random(), random(), random(), batch(), random() < 1 / 3, shard()))
    return np.array(rows).T


def _jobs(figures: Callable[[_Exp], _Figures], work: Sequence[FloatArray]) -> Columns:
    """Jobs with these seconds for a mini-batch and this work, each of shape (J,); with one full-duplex server by default."""
    epochs, log_examples, batches = work

    def columns(exp: _Exp) -> dict[str, FloatArray]:
        compute_s, transfer_s, update_s, bandwidth = figures(exp)
        return {
            "epochs": epochs,
            "dataset_examples": exp(log_examples),
            "batch_examples": batches,
            "parameter_bytes": transfer_s * bandwidth,
            "bandwidth_bytes_per_s": np.zeros(len(epochs)) + bandwidth,
            "compute_s": compute_s,
            "update_s": update_s,
        }

    # The last bits of exponentials seldom matter for four digits.
    near = {name: surely_four_digits(column) for name, column in columns(near_exp).items()}
    if all(sure.all() for _, sure in near.values()):
        return {name: column for name, (column, _) in near.items()}
    return {name: four_digits(column) for name, column in columns(exp).items()}


def _servers(generator: "np.random.Generator") -> Fields:
    """One to four parameter servers; a third of the jobs half duplex."""
    half = generator.random() < 1 / 3
    return {"shards": whole(generator, *_SHARDS), "duplex": "half" if half else "full"}


def _sources(used: Sequence[tuple[PublishedSteps, Step]]) -> list[str]:
    """Sources of the models' figures, and assumptions made."""
    lines = []
    for model in published_steps():
        # jobs by the step that was drawn for them
        places: dict[Step, list[str]] = {step: [] for step in model.steps}
        for index, (other, step) in enumerate(used):
            if other is model:
                places[step].append(f"j{index}")
        jobs_of = {step: jobs for step, jobs in places.items() if jobs}
        for step, jobs in jobs_of.items():
            how = "" if step.how is None else f" ({step.how})"
            name = f"{model.model} on {step.gpu}, batch {step.batch_samples} ({', '.join(jobs)})"
            lines.append(f"{name}, seconds: {step.source}{how}")
        if jobs_of:
            lines.append(f"{model.model}, parameters: {model.parameter_source}")
    return [*lines, IMAGENET_SOURCE, _CHOSEN]


_DRAW: dict[str, Callable[["np.random.Generator", int], Columns]] = {
    "network": _network,
    "update": _update,
    "compute": _compute,
    "mixed": _mixed,
}
