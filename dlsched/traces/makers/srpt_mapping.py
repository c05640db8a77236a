"""A queue as an instance of srpt_mapping: every job is a gang on exactly as many GPUs as it held."""

import functools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.instance import Instance, Server, Stage
from dlsched.srpt_mapping.solution import Share
from dlsched.traces.gang_traces import PHILLY_GPUS, PHILLY_MODELS
from dlsched.traces.gangs import (
    INTRA_BANDWIDTH_BYTES_PER_S,
    MOST_GPUS,
    NIC_BANDWIDTH_BYTES_PER_S,
    iteration_s,
    packed,
)
from dlsched.traces.queue import GPUS_OF_A_SERVER, Queue, QueuedJob, Request, Sentence, Window, figure, listed
from dlsched.traces.recorded_schedule import Free, servers_of, shares_of, starts_of
from dlsched.traces.selection import WHOLE, Chosen, ImportedInstance, choose_and_tell, finished, lasted_s

COMMUNICATION = ("none", "published")


class _Gang(NamedTuple):
    """A job as a gang: stages, iterations, model, seconds of one; whether it outlasts its record; placement."""

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

    Parameters
    ----------
    queue, gpus, gpus_of_node, window, carried
        As ``selecting.choose``. Servers are the nodes of the trace, unless other GPUs are given. Jobs
        running at the start have begun, on the recorded nodes if these are servers with room, else by first
        fit; those that began last wait if there are not enough GPUs.
    estimates
        Whether policies see the lengths that users stated, instead of the real ones.
    communication
        ``none``: an iteration takes a second, and nothing is exchanged, so that a job's length does not
        depend on where it runs; ``published``: stages of published models, which last as long as recorded if
        the job is packed.

    Raises
    ------
    UsageError
        An option out of range.
    InputError
        No job is left, the cluster is vast, or the trace has no estimates but they are asked for.
    """
    if communication not in COMMUNICATION:
        raise UsageError(where="communication", found=repr(communication), allowed=", ".join(COMMUNICATION))
    if gpus is not None and gpus > MOST_GPUS:
        raise UsageError(where="gpus", found=gpus, allowed=f"up to {MOST_GPUS:,} in srpt_mapping")
    queue, chosen, limits = telling = choose_and_tell(
        queue,
        estimates=estimates,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="schedule",
        least=_held,
    )
    if chosen.gpus > MOST_GPUS:
        raise InputError(
            where=queue.path,
            found=f"jobs that need {chosen.gpus:,} GPUs at once",
            allowed=f"up to {MOST_GPUS:,}, or gpus given",
        )
    servers, said = servers_of(queue, chosen, gpus_of_node)
    drawn = [_plain(lasted_s(job), job.gpus) if communication == "none" else _published(job) for job in chosen.jobs]
    drawn, running = _running(chosen, drawn, servers)
    audit = [
        *chosen.audit,
        *(_unspoken() if communication == "none" else _spoken(drawn)),
        said,
        *running,
        *telling.sentences,
    ]
    jobs = [
        {
            "id": job.id,
            "release_s": chosen.relative(job.submit_s),
            "iterations": gang.iterations,
            "predicted_iterations": None if job.limit_s is None or limits is None else job.limit_s / gang.iteration_s,
            "group": job.group or None,
            "user": job.user or None,
            "model": gang.model,
            "stages": gang.stages,
            "begun": [share._asdict() for share in gang.begun] or None,
        }
        for job, gang in zip(chosen.jobs, drawn, strict=True)
    ]
    instance = Instance(
        name=f"{queue.source}-{len(jobs)}x{chosen.gpus}",
        intra_bandwidth_bytes_per_s=INTRA_BANDWIDTH_BYTES_PER_S,
        nic_bandwidth_bytes_per_s=NIC_BANDWIDTH_BYTES_PER_S,
        servers=servers,
        jobs=jobs,
    )
    happened, words = starts_of(instance, chosen)
    return finished(queue, chosen, instance, happened, [*audit, *words], telling.silent, "" if happened else words[0])


def _held(job: QueuedJob) -> int:
    return job.gpus


@functools.lru_cache(maxsize=4096)
def _second(gpus: int, compute_s: float) -> tuple[Stage, ...]:
    return (Stage(replicas=gpus, compute_s=compute_s, output_bytes=0.0, parameter_bytes=0.0),)


def _plain(seconds: float, gpus: int) -> _Gang:
    """Return a gang with iterations of a second; a shorter job has a single one."""
    compute_s = min(1.0, seconds)
    return _Gang(_second(gpus, compute_s), seconds if compute_s == 1.0 else 1.0, compute_s)


def _published(job: QueuedJob) -> _Gang:
    model = PHILLY_MODELS[bisect_left(PHILLY_GPUS, job.gpus)]
    gang = packed(Request(job.submit_s, job.gpus, lasted_s(job)), lasted_s(job), model)
    return _Gang(gang.stages, gang.iterations, iteration_s(gang.stages), model, gang.lengthened)


def _unspoken() -> list[str]:
    return [
        "A job runs on exactly the GPUs that it held, to its end, and lasts as long wherever it runs; an iteration is a second."
    ]


def _spoken(gangs: Sequence[_Gang]) -> list[str]:
    users = listed((str(model), count, " jobs") for model, count in Counter(gang.model for gang in gangs).items())
    lengthened = sum(gang.lengthened for gang in gangs)
    audit = [
        "A job runs on exactly the GPUs that it held, to its end.",
        Sentence(
            "The trace names no model; they are chosen by GPUs, an assumption of ours: ",
            *users,
            ". Batches, seconds and bytes are the models'.",
        ),
        f"A job lasts as long as in its trace where it is packed on empty servers of {GPUS_OF_A_SERVER} GPUs, by our compact "
        "rule.",
        Sentence("Jobs shorter than an iteration, which run one: ", figure(lengthened), ".") if lengthened else "",
        f"Servers have {INTRA_BANDWIDTH_BYTES_PER_S:g} B/s inside (NVLink) and a network card of {NIC_BANDWIDTH_BYTES_PER_S:g} "
        "B/s (100 Gbit/s) each: choices of ours.",
    ]
    return [sentence for sentence in audit if sentence]


def _running(chosen: Chosen, drawn: Sequence[_Gang], servers: Sequence[Server]) -> tuple[list[_Gang], list[str]]:
    """Place the jobs running at the start where they ran, in order of their starts, as long as there are GPUs."""
    free, gpus = Free(servers), {server.id: server.gpus for server in servers}
    gangs, index = list(drawn), {job.id: place for place, job in enumerate(chosen.jobs)}
    order = sorted(chosen.began, key=chosen.began.__getitem__)
    known = stay = 0
    for name in order:
        job = chosen.jobs[index[name]]
        if job.gpus > free.total:
            break
        recorded = free.recorded(job.nodes, job.gpus)
        rooms = recorded or free.first_fit(job.gpus)
        free.take(rooms, math.inf)
        gangs[index[name]] = _where_it_runs(
            gangs[index[name]], shares_of(gangs[index[name]].stages, rooms, free.names), gpus, lasted_s(job)
        )
        known += recorded is not None
        stay += 1
    audit: list[str] = []
    if stay:
        words = "Jobs that run at the start, which have begun and go on where they are, for as long as was left: "
        audit.append(Sentence(words, figure(stay), "."))
    if stay > known:
        words = "Of these, on nodes that are not known or not servers of the instance, taken to run first fit: "
        audit.append(Sentence(words, figure(stay - known), "."))
    if len(order) > stay:
        beyond = "Jobs that run at the start beyond the ", figure(chosen.gpus)
        words = " GPUs of the cluster, those that began last, which wait at the head of the queue: "
        audit.append(Sentence(*beyond, words, figure(len(order) - stay), "."))
    return gangs, audit


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
