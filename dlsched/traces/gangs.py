"""Gangs from traces: published stages for every job, iterations that last as long as its trace says, and the cluster.

A trace knows how long a job ran on the GPUs that its user asked for, not what it computed and sent. Stages come from
``dlsched.cluster.published_stages``; the number of iterations makes up the length.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dlsched.cluster.published_stages import PublishedModel, published_stages
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.instance import Instance, Server, Stage
from dlsched.srpt_mapping.placing.heavy_edge import compact, placed_s
from dlsched.traces.queue import GPUS_OF_A_SERVER, Request, Window, arriving, cluster_gpus
from dlsched.traces.rows import rounded

INTRA_BANDWIDTH_BYTES_PER_S = 1.5e11  # NVLink of a V100, one direction
NIC_BANDWIDTH_BYTES_PER_S = 1.25e10  # 100 Gbit/s
MOST_GPUS = 2**16  # GPUs of a job, and of a cluster, which lists all its servers


class Gang(NamedTuple):
    """A job as in its instance; whether it lasts longer than in its trace, as it runs at least once."""

    request: Request
    stages: tuple[Stage, ...]
    iterations: float
    model: str
    group: str | None = None
    user: str | None = None
    lengthened: bool = False


def require_servers(gpus: int | None) -> None:
    """Refuse a number of GPUs that does not fill whole servers with a `UsageError`."""
    if gpus is not None and (gpus % GPUS_OF_A_SERVER or not 0 < gpus <= MOST_GPUS):
        raise UsageError(where="gpus", found=gpus, allowed=f"a multiple of {GPUS_OF_A_SERVER}, up to {MOST_GPUS:,}")


def arriving_gangs(file: Path, requests: Sequence[Request], window: Window) -> tuple[list[Request], list[str]]:
    """Keep the jobs of the window as ``arriving`` does; a job on vast numbers of GPUs is an `InputError` too."""
    kept, audit = arriving(file, requests, window)
    largest = max(request.gpus for request in kept)
    if largest > MOST_GPUS:
        raise InputError(where=str(file), found=f"a job on {largest:,} GPUs", allowed=f"up to {MOST_GPUS:,}")
    return kept, audit


def packed(request: Request, seconds: float, model: str, *, group: str | None = None, user: str | None = None) -> Gang:
    """Give a job the stages of a published model, and iterations that last ``seconds`` on empty servers."""
    stages = chain(model, request.gpus)
    iterations = rounded(seconds / iteration_s(stages))
    return Gang(request, stages, max(1.0, iterations), model, group, user, iterations < 1)


@functools.lru_cache(maxsize=4096)
def chain(model: str, gpus: int) -> tuple[Stage, ...]:
    """Return the published model as stages on ``gpus`` GPUs.

    Makes the fewest stages whose replicas fit on one server each; a single one if the model has fewer
    blocks.
    """
    published = _published()[model]
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


@functools.cache
def _published() -> dict[str, PublishedModel]:
    return {published.model: published for published in published_stages()}


@functools.lru_cache(maxsize=4096)
def iteration_s(stages: tuple[Stage, ...]) -> float:
    """Return the seconds of an iteration of a job on empty servers, placed by ``compact``."""
    gpus = GPUS_OF_A_SERVER * math.ceil(sum(stage.replicas for stage in stages) / GPUS_OF_A_SERVER)
    job = {"id": "job", "release_s": 0.0, "iterations": 1.0, "stages": stages}
    return placed_s(_cluster("empty", None, gpus, [job]), compact)[0]


def _cluster(name: str, source: str | None, gpus: int, jobs: Sequence[Mapping[str, object]]) -> Instance:
    return Instance(
        name=name,
        source=source,
        intra_bandwidth_bytes_per_s=INTRA_BANDWIDTH_BYTES_PER_S,
        nic_bandwidth_bytes_per_s=NIC_BANDWIDTH_BYTES_PER_S,
        servers=[Server(id=f"s{index}", gpus=GPUS_OF_A_SERVER) for index in range(gpus // GPUS_OF_A_SERVER)],
        jobs=jobs,
    )


def instance_of(
    source: str, file: Path, origin: str, gangs: Sequence[Gang], window: Window, gpus: int | None, audit: list[str]
) -> tuple[Instance, list[str]]:
    """Make the instance of jobs in order of arrival on ``gpus`` GPUs (None: their average demand), and end its audit.

    Raises
    ------
    InputError
        Without ``gpus`` the average demand is vast.
    """
    kept = [gang.request for gang in gangs]
    start_s, end_s = window.span(kept)
    lengths_s = [gang.iterations * iteration_s(gang.stages) for gang in gangs]
    gpu_s = [request.gpus * length_s for request, length_s in zip(kept, lengths_s, strict=True)]
    total, said = cluster_gpus(kept, gpu_s, [request.gpus for request in kept], end_s - start_s, gpus, "schedule")
    if total > MOST_GPUS:
        raise InputError(
            where=str(file),
            found=f"jobs that ask for {total:,} GPUs on average",
            allowed=f"up to {MOST_GPUS:,}, or gpus given",
        )
    audit = [*audit, *_assumed(gangs), *said]
    jobs = [
        {
            "id": f"j{index}",
            "release_s": round(gang.request.arrival_s - start_s, 6),
            "iterations": gang.iterations,
            "group": gang.group,
            "user": gang.user,
            "model": gang.model,
            "stages": gang.stages,
        }
        for index, gang in enumerate(gangs)
    ]
    text = f"imported from {file.name} of {origin}. Audit: {' '.join(audit)}"
    return _cluster(f"{source}-{len(jobs)}x{total}", text, total, jobs), audit


def _assumed(gangs: Sequence[Gang]) -> list[str]:
    """Write the assumptions on every job, from any trace."""
    pipelines = sum(len(gang.stages) > 1 for gang in gangs)
    wide = sum(len(gang.stages) == 1 and gang.request.gpus > GPUS_OF_A_SERVER for gang in gangs)
    lengthened = sum(gang.lengthened for gang in gangs)
    audit = [
        "A job runs on exactly the GPUs it asked for, to its end.",
        f"Jobs cut into pipelines, as few stages as fit on a server each: {pipelines:,}." if pipelines else "",
        f"Jobs on several servers whose model has too few blocks for that, which are one stage: {wide:,}."
        if wide
        else "",
        f"A job lasts as long as in its trace where it is packed on empty servers of {GPUS_OF_A_SERVER} GPUs, "
        "by our compact rule.",
        f"Jobs shorter than an iteration, which run one: {lengthened:,}." if lengthened else "",
        f"Servers of {GPUS_OF_A_SERVER} GPUs, {INTRA_BANDWIDTH_BYTES_PER_S:g} B/s inside (NVLink) and a network card of "
        f"{NIC_BANDWIDTH_BYTES_PER_S:g} B/s (100 Gbit/s) each: choices of ours.",
    ]
    return [sentence for sentence in audit if sentence]
