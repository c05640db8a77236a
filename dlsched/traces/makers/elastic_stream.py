"""A queue as an instance of elastic_stream: jobs on the GPUs that they held, on other counts only if stated."""

from collections import Counter
from collections.abc import Mapping

from dlsched.core.errors import UsageError
from dlsched.elastic_stream.instance import Instance
from dlsched.traces.makers.async_sgd import async_stream_of
from dlsched.traces.philly import SIZE_CLASSES, curve_of, ratios
from dlsched.traces.queue import GPUS_OF_A_SERVER, Queue, QueuedJob, Request, Sentence, Window, figure, listed
from dlsched.traces.recorded_schedule import periods_of
from dlsched.traces.selection import WHOLE, ImportedInstance, choose_and_tell, fewest, finished, lasted_s

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

    Parameters
    ----------
    queue, gpus, gpus_of_node, window, carried
        As ``selecting.choose``.
    estimates
        Whether policies see the lengths that users stated: a job has that length, and ends early.
    restart_s
        Seconds that a change of its GPUs costs a job; None: 0.
    scaling
        ``own``: a job runs on as many GPUs as it held, or, if it states a smaller minimum, on any number
        from that on, with speed in proportion; ``published``: also on powers of two below its GPUs, from the
        minimum on, by the curves of ``import_philly``; ``asynchronous``: jobs of asynchronous SGD, see
        ``async_stream_of``, not with estimates.
    max_gpus
        Largest power of two to which a job may grow, with ``published``; None: it may not exceed the GPUs
        that it held.
    network_gbit
        With ``asynchronous``, as in ``async_stream_of``; None: 10.

    Raises
    ------
    UsageError
        An option out of range.
    InputError
        No job is left, or the trace has no estimates but they are asked for.
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

    def least(job: QueuedJob) -> int:
        return fewest(job) if scaling == "own" else min(_published(job, max_gpus))

    queue, chosen, limits = telling = choose_and_tell(
        queue,
        estimates=estimates,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="stream",
        least=least,
    )
    audit = [*chosen.audit, *(_own(chosen.jobs) if scaling == "own" else _by_curves(chosen.jobs, max_gpus))]
    if restart_s is None:
        audit.append("A restart is taken to cost 0 s: the trace does not say.")
    audit += telling.sentences
    jobs = []
    longer = 0
    for job in chosen.jobs:
        seconds = told_s = lasted_s(job)
        if limits is not None and job.limit_s is not None:
            longer += job.limit_s < seconds
            told_s = max(seconds, job.limit_s)
        jobs.append(
            {
                "id": job.id,
                "arrival_s": chosen.relative(job.submit_s),
                "epochs": told_s,
                "epoch_time_s": _linear(job.gpus, fewest(job)) if scaling == "own" else _published(job, max_gpus),
                "restart_s": restart_s or 0.0,
                "stops_at": seconds / told_s,
            }
        )
    if longer:
        words = "Jobs that ran longer than was said, which are told by what they ran: "
        audit.append(Sentence(words, figure(longer), "."))
    instance = Instance(name=f"{queue.source}-{len(jobs)}x{chosen.gpus}", units=chosen.gpus, jobs=jobs)
    happened, said = periods_of(instance, chosen)
    return finished(queue, chosen, instance, happened, [*audit, *said], telling.silent, "" if happened else said[0])


def _linear(gpus: int, least: int) -> dict[int, float]:
    """Return seconds of an epoch by count from ``least`` on; speed on n GPUs is n / g times that on its own g."""
    return {count: gpus / count for count in range(least, gpus)} | {gpus: 1.0}


def _request(job: QueuedJob) -> Request:
    return Request(job.submit_s, job.gpus, lasted_s(job))


def _published(job: QueuedJob, max_gpus: int | None) -> Mapping[int, float]:
    """Seconds of an epoch by count, on the curve of the job's size."""
    table = dict(ratios(curve_of(_request(job)), job.gpus, max_gpus or 0))
    return (
        table if job.least_gpus is None else {count: time for count, time in table.items() if count >= job.least_gpus}
    )


def _own(jobs: tuple[QueuedJob, ...]) -> list[str]:
    malleable = sum(fewest(job) < job.gpus for job in jobs)
    audit = ["A job runs on the number of GPUs that it held; an epoch is a second on them."]
    if malleable:
        words = "Jobs that say that they run on fewer GPUs, taken to be as much slower in proportion: "
        audit.append(Sentence(words, figure(malleable), "."))
    return audit


def _by_curves(jobs: tuple[QueuedJob, ...], max_gpus: int | None) -> list[str]:
    users = Counter(curve_of(_request(job)) for job in jobs)
    named = listed(
        ("no other count" if index is None else SIZE_CLASSES[index][1], count, " jobs")
        for index, count in users.items()
    )
    grown = f", and on powers of two above them to {max_gpus}" if max_gpus else ""
    return [
        f"A job may run on the GPUs that it held, on powers of two below them{grown}; an epoch is a second on those it held.",
        Sentence("Times on other counts follow tables of PCS by GPU-hours, an assumption of ours: ", *named, "."),
    ]
