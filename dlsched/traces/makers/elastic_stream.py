"""Instances of elastic_stream: of a queue, and straight from the job traces of Philly and of Gavel.

Jobs of a queue run on the GPUs that they held, and on other counts only if stated. Jobs of Philly follow on other counts the
speed-up curve of a published table, which we choose by its GPU-hours, since the trace names no model. Jobs of Gavel run at
the speeds that Gavel published.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.elastic_stream.instance import Instance
from dlsched.traces.cells import rounded
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER, cluster_gpus
from dlsched.traces.makers.async_sgd import async_stream_of, restart_assumption
from dlsched.traces.makers.ring_allocation import SIZE_CLASSES, curve_of, curves, ratios, times_of
from dlsched.traces.queue import Queue, QueuedJob, Sentence, Window, counted, listed, seconds_window
from dlsched.traces.readers.simulators import (
    EPOCH_STEPS,
    PHILLY_SOURCE,
    arriving,
    job_types,
    philly_window,
    read_gavel_jobs,
    read_philly_jobs,
    require_gpu_type,
    word_of,
)
from dlsched.traces.recorded_schedule import periods_of
from dlsched.traces.selection import WHOLE, ImportedInstance, choose, fewest, finished, lasted_s

SCALING = ("own", "published", "asynchronous")


def stream_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    gpus_of_node: int = GPUS_OF_A_SERVER,
    window: Window = WHOLE,
    carried: bool = False,
    estimates: bool = False,
    restart_s: float | None = None,
    scaling: str = "own",
    max_gpus: int | None = None,
    network_gbit: int | None = None,
) -> ImportedInstance:
    """Make an instance of elastic_stream, in which an epoch is a second on the GPUs that the job held.

    ``queue``, ``gpus``, ``gpus_of_node``, ``window``, ``carried``: as ``choose``. ``estimates``: whether policies see
    the lengths that users stated: a job has that length, and ends early. ``restart_s``: seconds that a change of its
    GPUs costs a job; None: 0. ``scaling``, ``max_gpus``: as ``counts_of`` of ring_allocation; or ``asynchronous``: jobs of
    asynchronous SGD, see ``async_stream_of``, not with estimates. ``network_gbit``: as there; None: 10.
    """
    if scaling not in SCALING:
        raise UsageError(where="scaling", found=repr(scaling), allowed=", ".join(SCALING))
    if max_gpus is not None and scaling != "published":
        raise UsageError(where="max_gpus", found=max_gpus, allowed="with scaling published only")
    if network_gbit is not None and scaling != "asynchronous":
        raise UsageError(where="network_gbit", found=network_gbit, allowed="with scaling asynchronous only")
    if scaling == "asynchronous":
        if estimates:
            raise UsageError(where="estimates", found="them with scaling asynchronous", allowed="with the others")
        return async_stream_of(
            queue,
            gpus=gpus,
            gpus_of_node=gpus_of_node,
            window=window,
            carried=carried,
            restart_s=restart_s,
            network_gbit=10 if network_gbit is None else network_gbit,
        )

    chosen = choose(
        queue,
        estimates=estimates,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="stream",
        least=lambda job: min(times_of(job, lasted_s(job), scaling, max_gpus)),
    )
    audit = [*chosen.audit, *(_own(chosen.jobs) if scaling == "own" else _by_curves(chosen.jobs, max_gpus))]
    audit += [*restart_assumption(restart_s), *chosen.lengths()]
    jobs = []
    longer = 0
    for job in chosen.jobs:
        # Policies see the limit, or the recorded length where it is longer; the job stops at the recorded length.
        seconds = told_s = lasted_s(job)
        if chosen.limits is not None and job.limit_s is not None:
            longer += job.limit_s < seconds
            told_s = max(seconds, job.limit_s)
        jobs.append(
            {
                "id": job.id,
                "arrival_s": chosen.relative(job.submit_s),
                "epochs": told_s,
                "epoch_time_s": times_of(job, seconds, scaling, max_gpus),
                "restart_s": restart_s or 0.0,
                "stops_at": seconds / told_s,
            }
        )
    audit += counted("Jobs that ran longer than requested, for which policies know the real run time", longer)
    instance = Instance(name=f"{queue.source}-{len(jobs)}x{chosen.gpus}", units=chosen.gpus, jobs=jobs)
    return finished(queue, chosen, instance, audit, *periods_of(instance, chosen))


def _own(jobs: tuple[QueuedJob, ...]) -> list[str]:
    malleable = sum(fewest(job) < job.gpus for job in jobs)
    return [
        "A job runs on the number of GPUs that it held; an epoch is a second on them.",
        *counted("Jobs that may run on fewer GPUs, assumed to be slower in proportion", malleable),
    ]


def _by_curves(jobs: tuple[QueuedJob, ...], max_gpus: int | None) -> list[str]:
    users = Counter(curve_of(job.gpus, lasted_s(job)) for job in jobs)
    named = listed(
        ("no other count" if index is None else SIZE_CLASSES[index][1], count, " jobs")
        for index, count in users.items()
    )
    grown = f", and on powers of two above them to {max_gpus}" if max_gpus else ""
    return [
        f"A job may run on the GPUs that it held, on powers of two below them{grown}; an epoch is a second on those it held.",
        Sentence("Times on other counts follow tables of PCS by GPU-hours, an assumption of ours: ", *named, "."),
    ]


class _Work(NamedTuple):
    """A job of a trace as in its instance: epochs, seconds of an epoch by count, GPU-seconds on the requested GPUs."""

    epochs: float
    epoch_time_s: Mapping[int, float]
    gpu_s: float


def import_philly(
    path: str,
    *,
    gpus: int | None = None,
    max_gpus: int | None = None,
    restart_s: float | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> tuple[Instance, list[str]]:
    """Read ``philly_jobs.csv`` of petuum/adaptdl as an instance of elastic_stream, with its audit.

    A job is one epoch, of exactly ``duration`` seconds on ``num_gpus`` GPUs. It may run on the powers of two below
    ``num_gpus``, on ``num_gpus``, and on powers of two above it up to ``max_gpus`` and the end of its table.

    Errors as ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    window, file = philly_window(from_, to), Path(path)
    jobs, audit = read_philly_jobs(file)
    kept, sentences = arriving(file, jobs, window)
    works = [_philly_work(job, max_gpus) for job in kept]
    audit += [*sentences, *_philly_assumptions(kept, max_gpus)]
    return _trace_stream("philly", f"{file.name} of {PHILLY_SOURCE}", kept, works, window, gpus, restart_s, audit)


def _philly_work(job: QueuedJob, max_gpus: int | None) -> _Work:
    """Exactly the job's duration on its GPUs, elsewhere in proportion to its curve."""
    seconds = job.length_s
    by_count = ratios(curve_of(job.gpus, seconds), job.gpus, max_gpus or 0)
    times = {count: seconds if count == job.gpus else rounded(ratio * seconds) for count, ratio in by_count}
    return _Work(1.0, times, job.gpus * seconds)


def _philly_assumptions(kept: Sequence[QueuedJob], max_gpus: int | None) -> list[str]:
    """Say which curves were taken for how many jobs, and which jobs have a single count."""
    chosen = [curve_of(job.gpus, job.length_s) for job in kept]
    users: Counter[str] = Counter()
    single = between = 0
    # Count jobs of a single count, and the others by their curve, with those of counts that it interpolates.
    for job, index in zip(kept, chosen, strict=True):
        counts = [count for count, _ in ratios(index, job.gpus, max_gpus or 0)]
        if len(counts) == 1:
            single += 1
        elif index is not None:
            users[SIZE_CLASSES[index][1]] += 1
            between += any(count not in curves()[index] for count in counts)
    beyond = chosen.count(None)
    classes = [
        f"{model} {f'up to {most:g}' if most < math.inf else 'above'} ({users[model]:,} jobs)"
        for most, model, _ in SIZE_CLASSES
    ]
    grown = f", and on powers of two above them to {max_gpus} where its table reaches" if max_gpus else ""
    tables = "Times on other counts follow tables of PCS by GPU-hours, an assumption of ours: "
    next_table = "; a table that ends below a job's GPUs gives way to the next."
    interpolated = "; speed-ups are linear between its counts."
    return [
        f"A job is one epoch; it may run on the GPUs it asked for, on powers of two below them{grown}.",
        *([f"{tables}{', '.join(classes)}{next_table}"] if users else []),
        *counted("Jobs with counts that their table does not hold", between, interpolated),
        *counted("Jobs on more GPUs than any table holds, with no other count", beyond),
        *counted("Jobs with a single allowed count", single, f" of {len(kept):,}."),
    ]


def import_gavel(
    path: str,
    *,
    gpus: int | None = None,
    gpu_type: str | None = None,
    restart_s: float | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> tuple[Instance, list[str]]:
    """Read a ``.trace`` file of Gavel as an instance of elastic_stream, with its audit.

    A job takes ``total_steps`` divided by the steps per second of its type, all GPUs together. It may run on
    the counts at which its type was measured on ``gpu_type`` (None: V100).

    Errors as ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    gpu_type = require_gpu_type(gpu_type)
    window, file = seconds_window(from_, to), Path(path)
    jobs, audit = read_gavel_jobs(file, gpu_type)
    kept, sentences = arriving(file, jobs, window)
    kinds = [job_types(gpu_type)[word_of(job)] for job in kept]
    works = []
    for job, kind in zip(kept, kinds, strict=True):
        assert job.steps is not None
        works.append(_Work(job.steps / kind.epoch_steps, kind.epoch_time_s, kind.largest(job.gpus) * job.length_s))
    audit += [*sentences, *_gavel_assumptions(kept, [kind.epoch_time_s for kind in kinds])]
    head = (
        f"{file.name} of stanford-futuredata/gavel (MIT), speeds of its gavel_simulation_throughputs.json on {gpu_type}"
    )
    return _trace_stream("gavel", head, kept, works, window, gpus, restart_s, audit)


def _gavel_assumptions(kept: Sequence[QueuedJob], tables: Sequence[Mapping[int, float]]) -> list[str]:
    """Say for how many jobs the speeds differ from what the trace asks for, or from what one expects."""
    # What departs from the published table, job by job.
    missing = sum(job.gpus not in table for job, table in zip(kept, tables, strict=True))
    single = sum(len(table) == 1 for table in tables)
    uneven = sum(list(table.values()) != sorted(table.values(), reverse=True) for table in tables)
    inverted = sum(bool(re.match("Recommendation", job.group)) for job in kept)
    slower_on_v100 = "; this file has it slower on V100 than on P100, Gavel's physical cluster faster."
    own_epoch = f"; an epoch is {EPOCH_STEPS:,} steps by our definition."
    return [
        "A job may run on every count at which its type was measured, whatever its scale_factor.",
        *counted("Jobs whose type was not measured at their scale_factor", missing, "; they run on the counts it has."),
        *counted("Jobs of types measured on 1 GPU only", single, own_epoch),
        *counted("Jobs of types slower on some larger count, kept as published", uneven),
        *counted("Jobs of Recommendation", inverted, slower_on_v100),
    ]


def _trace_stream(
    source: str,
    head: str,
    kept: Sequence[QueuedJob],
    works: Sequence[_Work],
    window: Window,
    gpus: int | None,
    restart_s: float | None,
    audit: list[str],
) -> tuple[Instance, list[str]]:
    """Make the instance of the jobs of a trace, on ``gpus`` GPUs (None: their average demand), and end its audit."""
    start_s, end_s = window.span(kept)
    least = [min(work.epoch_time_s) for work in works]
    # The cluster holds the average demand while jobs arrive, unless its size is stated.
    units, sentences = cluster_gpus(
        sum(job.gpus for job in kept), [work.gpu_s for work in works], least, end_s - start_s, gpus, "stream"
    )
    audit = [*audit, *sentences, *restart_assumption(restart_s)]
    jobs = [
        {
            "id": f"j{index}",
            "arrival_s": round(job.submit_s - start_s, 6),
            "epochs": work.epochs,
            "epoch_time_s": work.epoch_time_s,
            "restart_s": restart_s or 0.0,
        }
        for index, (job, work) in enumerate(zip(kept, works, strict=True))
    ]
    text = f"imported from {head}. Audit: {' '.join(audit)}"
    return Instance(name=f"{source}-{len(jobs)}x{units}", source=text, units=units, jobs=jobs), audit
