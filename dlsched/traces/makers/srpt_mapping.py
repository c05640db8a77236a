"""Instances of srpt_mapping: of a queue, and straight from the job traces of Philly, Gavel and Tiresias.

A job is a gang on exactly the GPUs that it held or that its user asked for. A trace knows how long a job ran there, not what
it computed and sent: stages come from ``dlsched.cluster.published``, the number of iterations makes up the length.
"""

import functools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.published import published_stages
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.instance import Group, Instance, Server, Stage
from dlsched.srpt_mapping.placing import compact, placed_s
from dlsched.srpt_mapping.solution import Share
from dlsched.traces.cells import rounded
from dlsched.traces.gpu_counts import (
    GPUS_OF_A_SERVER,
    INTRA_BANDWIDTH_BYTES_PER_S,
    MOST_GPUS,
    NIC_BANDWIDTH_BYTES_PER_S,
    cluster_gpus,
)
from dlsched.traces.queue import Queue, QueuedJob, Sentence, Window, counted, figure, listed, seconds_window
from dlsched.traces.readers.simulators import (
    PHILLY_SOURCE,
    TIRESIAS_MODELS,
    Jobs,
    arriving,
    job_types,
    philly_window,
    read_gavel_jobs,
    read_philly_jobs,
    read_tiresias_jobs,
    word_of,
)
from dlsched.traces.recorded_schedule import Placer, servers_of, starts_of
from dlsched.traces.selection import WHOLE, Chosen, ImportedInstance, choose, finished, lasted_s
from dlsched.traces.slicing import cut, needs_of

COMMUNICATION = ("none", "published")

# the published model of a job of unknown model on at most this many GPUs; the last model, on more
SIZES = (1, 2, 4, 8, 16, 32)
MODELS_BY_SIZE = ("ResNet-50", "VGG-16", "ResNet-152", "BERT-base", "BERT-large", "GPT-2 355M", "GPT-2 1.2B")

GAVEL_GPU = "V100"
GAVEL_MODELS = {
    "ResNet-18": "ResNet-50",
    "ResNet-50": "ResNet-50",
    "LM": "GPT 126M",
    "Transformer": "BERT-base",
    "Recommendation": "VGG-16",
    "A3C": "ResNet-50",
    "CycleGAN": "ResNet-152",
}
"""The nearest published model of each job type of Gavel, without its batch size."""

LASTS_AS_RECORDED = (
    f"A job lasts as long as in its trace where it is packed on empty servers of {GPUS_OF_A_SERVER} GPUs, "
    "by our compact rule."
)
ANYWHERE = (
    "A job runs on exactly the GPUs that it held, to its end, and lasts as long wherever it runs; "
    "an iteration is a second."
)
BANDWIDTHS = (
    f"{INTRA_BANDWIDTH_BYTES_PER_S:g} B/s inside (NVLink) and a network card of {NIC_BANDWIDTH_BYTES_PER_S:g} B/s "
    "(100 Gbit/s) each: choices of ours."
)


class _Gang(NamedTuple):
    """A job as a gang: its stages and iterations, the seconds of one, and whether it has more than its record."""

    stages: tuple[Stage, ...]
    iterations: float
    iteration_s: float
    model: str | None = None
    lengthened: bool = False
    begun: tuple[Share, ...] = ()


def gangs_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    gpus_of_node: int = GPUS_OF_A_SERVER,
    window: Window = WHOLE,
    carried: bool = False,
    estimates: bool = False,
    communication: str = "none",
) -> ImportedInstance:
    """Make an instance of srpt_mapping.

    ``queue``, ``gpus``, ``gpus_of_node``, ``window``, ``carried``: as ``choose``. Servers are the nodes of the trace,
    unless other GPUs are given. Jobs running at the start have begun, on the recorded nodes if these are servers with
    room, else by first fit; those that began last wait if there are not enough GPUs. ``estimates``: whether policies
    see the lengths that users stated, instead of the real ones. ``communication``: ``none``: an iteration takes a
    second, and nothing is exchanged, so that a job's length does not depend on where it runs; ``published``: stages of
    published models, which last as long as recorded if the job is packed.

    """
    if communication not in COMMUNICATION:
        raise UsageError(where="communication", found=repr(communication), allowed=", ".join(COMMUNICATION))
    if gpus is not None and gpus > MOST_GPUS:
        raise UsageError(where="gpus", found=gpus, allowed=f"up to {MOST_GPUS:,} in srpt_mapping")
    chosen = choose(
        queue,
        estimates=estimates,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="schedule",
        least=lambda job: job.gpus,
        typed=queue.typed,
    )
    if chosen.gpus > MOST_GPUS:
        raise InputError(
            where=queue.path,
            found=f"jobs that need {chosen.gpus:,} GPUs at once",
            allowed=f"up to {MOST_GPUS:,}, or gpus given",
        )
    servers, server_note = servers_of(queue, chosen, gpus_of_node)
    servers, sliced, slicing = cut(servers, chosen.jobs if queue.sliced else (), queue.nodes)
    needs = functools.partial(needs_of, pools={pool for server in servers for pool in server.pools}, sliced=sliced)
    # Stages first as if nothing had begun, then those of running jobs, which keep their servers and what is left.
    plain = communication == "none"
    gangs = [
        _plain(lasted_s(job), job.gpus) if plain else packed(job.gpus, lasted_s(job), _model_by_size(job))
        for job in chosen.jobs
    ]
    drawn, running = _running(chosen, gangs, servers, needs)
    assumed = [ANYWHERE] if plain else _published_assumptions(drawn)
    audit = [*chosen.audit, *assumed, server_note, *slicing, *running, *chosen.lengths()]
    jobs = [
        _fields(gang, job, job.id, chosen.relative(job.submit_s))
        | {
            # A user's limit in iterations of the job.
            "predicted_iterations": None
            if job.limit_s is None or chosen.limits is None
            else job.limit_s / gang.iteration_s,
            "begun": [share.as_data() for share in gang.begun] or None,
            **_walls(job, chosen),
            **needs(job),
        }
        for job, gang in zip(chosen.jobs, drawn, strict=True)
    ]
    instance = cluster(f"{queue.source}-{len(jobs)}x{chosen.gpus}", None, servers, jobs, _groups(chosen))
    return finished(queue, chosen, instance, audit, *starts_of(instance, chosen))


def _walls(job: QueuedJob, chosen: Chosen) -> dict[str, object]:
    """Fields of a job whose walls are known: when it is ready, its array if that has a limit, its class and time limit."""
    if job.wall is None:
        return {}
    fields: dict[str, object] = {
        "release_s": chosen.relative(max(job.submit_s, job.wall.ready_s)),
        "priority": job.wall.rank,
        "limit_s": job.limit_s,
    }
    return fields if job.wall.at_once is None else fields | {"group": _array(job)}


def _array(job: QueuedJob) -> str:
    return f"array {job.array}"


def _groups(chosen: Chosen) -> list[Group]:
    """The arrays of which only so many tasks may run at once; those that run at the start fit in any case."""
    limits = {_array(job): job.wall.at_once for job in chosen.jobs if job.wall is not None and job.wall.at_once}
    began = Counter(_array(job) for job in chosen.jobs if job.id in chosen.began)
    return [Group(id=name, limit=max(limit, began[name])) for name, limit in limits.items()]


@functools.lru_cache(maxsize=4096)
def _second(gpus: int, compute_s: float) -> tuple[Stage, ...]:
    return (Stage(replicas=gpus, compute_s=compute_s, output_bytes=0.0, parameter_bytes=0.0),)


def _plain(seconds: float, gpus: int) -> _Gang:
    """Return a gang with iterations of a second; a shorter job has a single one."""
    compute_s = min(1.0, seconds)
    return _Gang(_second(gpus, compute_s), seconds if compute_s == 1.0 else 1.0, compute_s)


def _model_by_size(job: QueuedJob) -> str:
    return MODELS_BY_SIZE[bisect_left(SIZES, job.gpus)]


def packed(gpus: int, seconds: float, model: str) -> _Gang:
    """Give a job the stages of a published model, and iterations that last ``seconds`` on empty servers."""
    stages = chain(model, gpus)
    each_s = iteration_s(stages)
    iterations = rounded(seconds / each_s)
    return _Gang(stages, max(1.0, iterations), each_s, model, iterations < 1)


def _published_assumptions(gangs: Sequence[_Gang]) -> list[str]:
    users = listed((str(model), count, " jobs") for model, count in Counter(gang.model for gang in gangs).items())
    lengthened = sum(gang.lengthened for gang in gangs)
    return [
        "A job runs on exactly the GPUs that it held, to its end.",
        Sentence(
            "The trace names no model; they are chosen by GPUs, an assumption of ours: ",
            *users,
            ". Batches, seconds and bytes are the models'.",
        ),
        LASTS_AS_RECORDED,
        *counted("Jobs shorter than an iteration, which run one", lengthened),
        f"Servers have {BANDWIDTHS}",
    ]


def _running(
    chosen: Chosen,
    drawn: Sequence[_Gang],
    servers: Sequence[Server],
    needs: Callable[[QueuedJob], Mapping[str, object]],
) -> tuple[list[_Gang], list[str]]:
    """Place the jobs running at the start where they ran, in order of their starts, as long as there are GPUs.

    ``needs``: fields of a job on where it may run.
    """
    gangs, index = list(drawn), {job.id: place for place, job in enumerate(chosen.jobs)}
    order = sorted(chosen.began, key=chosen.began.__getitem__)
    records = [chosen.jobs[index[name]] for name in order]
    if not records:
        return gangs, []
    fields = [_fields(gangs[index[job.id]], job, job.id, 0.0) | {**needs(job)} for job in records]
    own = cluster("running", None, servers, fields)
    free, gpus, known, stay = Placer(own), {server.id: server.gpus for server in servers}, 0, 0
    # First those that began first: where GPUs do not suffice, the jobs that began last wait.
    for record, job in zip(records, own.jobs, strict=True):
        placement, recorded = free.put(job, record.nodes, math.inf)
        if placement is None:
            break
        gangs[index[job.id]] = _where_it_runs(gangs[index[job.id]], placement, gpus, lasted_s(record))
        known += recorded
        stay += 1
    beyond = "those that began last, which wait at the head of the queue: "
    waiting = "Jobs that run at the start beyond the ", figure(chosen.gpus), f" GPUs of the cluster, {beyond}"
    return gangs, [
        *counted(
            "Jobs that run at the start, which have begun and go on where they are, for as long as was left", stay
        ),
        *counted(
            "Of these, on unlisted nodes or nodes that are not servers of the instance, assumed to be placed first fit",
            stay - known,
        ),
        *([Sentence(*waiting, figure(len(order) - stay), ".")] if len(order) > stay else []),
    ]


def _where_it_runs(gang: _Gang, placement: tuple[Share, ...], gpus: Mapping[str, int], seconds: float) -> _Gang:
    """Return the gang at that placement, with iterations that last ``seconds`` there."""
    graph = JobGraph(*(tuple(getattr(stage, name) for stage in gang.stages) for name in Stage.model_fields))
    rows: dict[str, list[int]] = {}
    for share in placement:
        rows.setdefault(share.server, [0] * len(gang.stages))[share.stage] = share.replicas
    bands = [NIC_BANDWIDTH_BYTES_PER_S / gpus[name] for name in rows]
    each_s = graph.iteration_s(list(rows.values()), bands, INTRA_BANDWIDTH_BYTES_PER_S)
    iterations = max(1.0, seconds / each_s)
    return gang._replace(iterations=iterations, iteration_s=each_s, lengthened=seconds < each_s, begun=placement)


@functools.lru_cache(maxsize=4096)
def chain(model: str, gpus: int) -> tuple[Stage, ...]:
    """The published model as the fewest stages on ``gpus`` GPUs whose replicas fit on a server each, else as one stage."""
    published = next(each for each in published_stages() if each.model == model)
    fitting = (
        count
        for count in range(1, len(published.blocks) + 1)
        if gpus % count == 0 and gpus // count <= GPUS_OF_A_SERVER
    )
    pipeline = next(fitting, 1)
    return tuple(
        Stage(
            replicas=stage.replicas,
            compute_s=rounded(stage.compute_s),
            output_bytes=stage.output_bytes,
            parameter_bytes=stage.parameter_bytes,
        )
        for stage in published.stages(pipeline, gpus // pipeline)
    )


@functools.lru_cache(maxsize=4096)
def iteration_s(stages: tuple[Stage, ...]) -> float:
    """Return the seconds of an iteration of a job on empty servers, placed by ``compact``."""
    gpus = GPUS_OF_A_SERVER * math.ceil(sum(stage.replicas for stage in stages) / GPUS_OF_A_SERVER)
    job = {"id": "job", "release_s": 0.0, "iterations": 1.0, "stages": stages}
    return placed_s(cluster("empty", None, _servers(gpus), [job]), compact)[0]


def _fields(gang: _Gang, job: QueuedJob, name: str, release_s: float) -> dict[str, object]:
    """Fields of a job of an instance, from its gang and its record."""
    return {
        "id": name,
        "release_s": release_s,
        "iterations": gang.iterations,
        "group": job.group or None,
        "user": job.user or None,
        "model": gang.model,
        "stages": gang.stages,
    }


def _servers(gpus: int) -> list[Server]:
    return [Server(id=f"s{index}", gpus=GPUS_OF_A_SERVER) for index in range(gpus // GPUS_OF_A_SERVER)]


def cluster(
    name: str,
    source: str | None,
    servers: Sequence[Server],
    jobs: Sequence[Mapping[str, object]],
    groups: Sequence[Group] = (),
) -> Instance:
    """An instance with the usual bandwidths."""
    return Instance(
        name=name,
        source=source,
        intra_bandwidth_bytes_per_s=INTRA_BANDWIDTH_BYTES_PER_S,
        nic_bandwidth_bytes_per_s=NIC_BANDWIDTH_BYTES_PER_S,
        servers=servers,
        jobs=jobs,
        groups=groups,
    )


Imported = tuple[Instance, list[str]]


def import_philly_gangs(
    path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None
) -> Imported:
    """Read ``philly_jobs.csv`` of petuum/adaptdl as an instance of srpt_mapping, with its audit.

    Errors as ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    _require_servers(gpus)
    window, file = philly_window(from_, to), Path(path)
    kept, audit, sentences = _arriving(file, read_philly_jobs(file), window)
    # Each job as long as recorded when packed on empty servers.
    gangs = [packed(job.gpus, job.length_s, _model_by_size(job)) for job in kept]
    users = Counter(gang.model for gang in gangs)
    words = ["1 GPU", *(f"up to {most}" for most in SIZES[1:]), "more"]
    models = [f"{model} on {word} ({users[model]:,} jobs)" for model, word in zip(MODELS_BY_SIZE, words, strict=True)]
    audit += [
        *sentences,
        f"The trace names no model; they are chosen by GPUs, an assumption of ours: {', '.join(models)}. Not by length, "
        "which would tell it to predictors. Batches, seconds and bytes are the models'.",
        "The trace has no users: the virtual cluster stands for them, and with the number of GPUs it is the group.",
        *counted("Jobs without a virtual cluster, which have no user and no group", sum(not job.group for job in kept)),
    ]
    return _trace_instance("philly-gangs", file, PHILLY_SOURCE, kept, gangs, window, gpus, audit)


def import_gavel_gangs(
    path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None
) -> Imported:
    """Read a ``.trace`` file of Gavel as an instance of srpt_mapping, with its audit.

    A job takes ``total_steps`` over the steps per second of its type on V100 at ``scale_factor``, or at the largest
    measured count below it.

    Errors as ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    _require_servers(gpus)
    window, file = seconds_window(from_, to), Path(path)
    kept, audit, sentences = _arriving(file, read_gavel_jobs(file, GAVEL_GPU), window)
    kinds = [word_of(job).partition(" (")[0] for job in kept]  # without the batch size
    gangs = [packed(job.gpus, job.length_s, GAVEL_MODELS[kind]) for job, kind in zip(kept, kinds, strict=True)]
    below = sum(job_types(GAVEL_GPU)[word_of(job)].largest(job.gpus) < job.gpus for job in kept)
    measured = "; they last as long as at the largest count measured below it."
    audit += [
        *sentences,
        _nearest(kinds, GAVEL_MODELS, "Seconds and bytes are theirs, and so are batches."),
        f"Lengths are total_steps at Gavel's speeds on {GAVEL_GPU}.",
        *counted("Jobs whose type was not measured at their scale_factor", below, measured),
        "The trace has no users; a group is a job type and a number of GPUs.",
    ]
    origin = "stanford-futuredata/gavel (MIT), lengths by its gavel_simulation_throughputs.json"
    return _trace_instance("gavel-gangs", file, origin, kept, gangs, window, gpus, audit)


def import_tiresias(path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None) -> Imported:
    """Read ``tiresias_60_jobs.csv`` as an instance of srpt_mapping, with its audit.

    Errors as ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    _require_servers(gpus)
    window, file = seconds_window(from_, to), Path(path)
    kept, audit, sentences = _arriving(file, read_tiresias_jobs(file), window)
    gangs = [_tiresias_gang(job) for job in kept]
    # Gangs whose iterations are not the trace's fell back to the published seconds.
    fitted = sum(gang.iterations != job.steps for job, gang in zip(kept, gangs, strict=True))
    fell_back = "Jobs of several stages, or with nothing left, whose published seconds and fitting iterations count"
    audit += [
        *sentences,
        _nearest(map(word_of, kept), TIRESIAS_MODELS, "Bytes are theirs."),
        "Iterations are the trace's; a stage computes for what its all-reduce leaves of duration / iterations.",
        *counted(fell_back, fitted),
        "The trace has no users; a group is a model of the trace and a number of GPUs.",
    ]
    return _trace_instance("tiresias", file, "SymbioticLab/Tiresias (Apache-2.0)", kept, gangs, window, gpus, audit)


def _tiresias_gang(job: QueuedJob) -> _Gang:
    """Make a job with the trace's iterations and seconds, or published seconds if its stages require it."""
    assert job.steps is not None
    model = TIRESIAS_MODELS[word_of(job)]
    stages = chain(model, job.gpus)
    others_s = iteration_s(stages) - stages[0].compute_s
    compute_s = rounded(job.length_s / job.steps - others_s)
    if len(stages) > 1 or compute_s <= 0:
        return packed(job.gpus, job.length_s, model)
    stages = (Stage(**{**stages[0].model_dump(), "compute_s": compute_s}),)
    return _Gang(stages, float(job.steps), iteration_s(stages), model)


def _nearest(words: Iterable[str], models: Mapping[str, str], ending: str) -> str:
    """Write which published model stands for which word of the trace."""
    pairs = [f"{word} as {models[word]} ({count:,} jobs)" for word, count in sorted(Counter(words).items())]
    return f"The nearest published models, by our choice, unscaled: {', '.join(pairs)}. {ending}"


def _require_servers(gpus: int | None) -> None:
    """Refuse a number of GPUs that does not fill whole servers with a `UsageError`."""
    if gpus is not None and (gpus % GPUS_OF_A_SERVER or not 0 < gpus <= MOST_GPUS):
        raise UsageError(where="gpus", found=gpus, allowed=f"a multiple of {GPUS_OF_A_SERVER}, up to {MOST_GPUS:,}")


def _arriving(file: Path, jobs: Jobs, window: Window) -> tuple[list[QueuedJob], list[str], list[str]]:
    """The jobs of the window, what the reader said, and what was dropped and repaired; InputError: a vast job."""
    kept, sentences = arriving(file, jobs[0], window)
    largest = max(job.gpus for job in kept)
    if largest > MOST_GPUS:
        raise InputError(where=str(file), found=f"a job on {largest:,} GPUs", allowed=f"up to {MOST_GPUS:,}")
    return kept, jobs[1], sentences


def _trace_instance(
    source: str,
    file: Path,
    origin: str,
    kept: Sequence[QueuedJob],
    gangs: Sequence[_Gang],
    window: Window,
    gpus: int | None,
    audit: list[str],
) -> Imported:
    """Make the instance of jobs in order of arrival on ``gpus`` GPUs (None: their average demand), and end its audit."""
    start_s, end_s = window.span(kept)
    # Demand is counted on the lengths of the instance, which may be longer than those of the trace.
    gpu_s = [job.gpus * (gang.iterations * gang.iteration_s) for job, gang in zip(kept, gangs, strict=True)]
    each = [job.gpus for job in kept]
    total, sentences = cluster_gpus(sum(each), gpu_s, each, end_s - start_s, gpus, "schedule")
    if total > MOST_GPUS:
        raise InputError(
            where=str(file),
            found=f"jobs that ask for {total:,} GPUs on average",
            allowed=f"up to {MOST_GPUS:,}, or gpus given",
        )
    audit = [*audit, *_trace_assumptions(kept, gangs), *sentences]
    jobs = [
        _fields(gang, job, f"j{index}", round(job.submit_s - start_s, 6))
        for index, (job, gang) in enumerate(zip(kept, gangs, strict=True))
    ]
    text = f"imported from {file.name} of {origin}. Audit: {' '.join(audit)}"
    return cluster(f"{source}-{len(jobs)}x{total}", text, _servers(total), jobs), audit


def _trace_assumptions(kept: Sequence[QueuedJob], gangs: Sequence[_Gang]) -> list[str]:
    """Write the assumptions on every job, from any trace."""
    # How the gangs depart from the recorded jobs.
    pipelines = sum(len(gang.stages) > 1 for gang in gangs)
    wide = sum(len(gang.stages) == 1 and job.gpus > GPUS_OF_A_SERVER for job, gang in zip(kept, gangs, strict=True))
    too_few_blocks = "Jobs on several servers whose model has too few blocks for that, which are one stage"
    return [
        "A job runs on exactly the GPUs it asked for, to its end.",
        *counted("Jobs cut into pipelines, as few stages as fit on a server each", pipelines),
        *counted(too_few_blocks, wide),
        LASTS_AS_RECORDED,
        *counted("Jobs shorter than an iteration, which run one", sum(gang.lengthened for gang in gangs)),
        f"Servers of {GPUS_OF_A_SERVER} GPUs, {BANDWIDTHS}",
    ]
