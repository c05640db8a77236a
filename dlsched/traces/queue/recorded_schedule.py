"""The recorded schedule of a queue as a solution of its instance, if the instance allows that.

Start times are those of the record, in whole microseconds from the start of the instance; a job lasts as
long as the instance says. Jobs outside the instance hold nothing. The solution has passed the family's
checker.
"""

from collections.abc import Sequence

from dlsched.core.messages import printable
from dlsched.core.tolerance import FEASIBLE
from dlsched.core.violation import Violation
from dlsched.elastic_stream import checker as streams
from dlsched.elastic_stream.instance import Instance as StreamInstance
from dlsched.elastic_stream.solution import Stream
from dlsched.srpt_mapping import checker as gangs
from dlsched.srpt_mapping.instance import Instance as GangInstance
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.traces.queue.gang_servers import Free, gpus_by_server, shares_of
from dlsched.traces.queue.selection import Chosen, lasted_s
from dlsched.traces.sentences import Example, Piece, Sentence, figure

UNKNOWN = "What happened is not known:"
NEAR = 1e-5
"""Relative difference up to which a length counts as the recorded one, as iterations have six digits."""


def periods_of(instance: StreamInstance, chosen: Chosen) -> tuple[Stream | None, list[str]]:
    """Every job from its start to its end on the GPUs that it held, and what was assumed or why there is no such stream."""
    starts_s, missing = _starts_s(chosen)
    if missing:
        return None, missing
    stream = Stream(
        {
            job.id: [(start_s, round(start_s + lasted_s(job), 6), job.gpus)]
            for job, start_s in zip(chosen.jobs, starts_s, strict=True)
        }
    )
    broken = streams.check(instance, stream)
    return (None, _broken(broken)) if broken else (stream, [])


def starts_of(instance: GangInstance, chosen: Chosen) -> tuple[Schedule | None, list[str]]:
    """Every job from its start on, on the nodes of the record where they are servers with room, else first fit.

    Jobs that have begun stay where the instance has them. Where a job would not last as recorded in its place, there is none.
    """
    starts_s, missing = _starts_s(chosen)
    if missing:
        return None, missing
    free = Free(instance.servers)
    schedule: dict[str, tuple[float, tuple[Share, ...]]] = {}
    off: list[float] = []  # relative, from the record
    known = 0
    order = sorted(range(len(chosen.jobs)), key=lambda index: (starts_s[index], instance.jobs[index].begun is None))
    for index in order:
        record, job, start_s = chosen.jobs[index], instance.jobs[index], starts_s[index]
        free.until(start_s)
        if free.total < job.gpus:
            sliced = any(each.share < 1 for each in chosen.jobs)
            used = " GPUs were in use, with one for every part of a GPU" if sliced else " GPUs were in use"
            needed = figure(instance.total_gpus - free.total + job.gpus), f"{used}, the cluster has "
            return None, _unknown(
                figure(start_s, ",.0f"), " s after the start, ", *needed, figure(instance.total_gpus), "."
            )
        recorded = free.recorded(record.nodes, job.gpus)
        if job.begun is None:
            rooms = recorded or free.first_fit(job.gpus)
            placement = shares_of(job.stages, rooms, free.names)
        else:
            placement = tuple(Share(held.stage, held.server, held.replicas) for held in job.begun)
            rooms = list(gpus_by_server(placement, free.index).items())
        known += recorded is not None and dict(recorded) == dict(rooms)
        free.take(rooms, start_s + lasted_s(record))
        off.append(abs(job.iterations * gangs.iteration_time(instance, job, placement) / lasted_s(record) - 1))
        schedule[job.id] = start_s, placement
    solution = Schedule({job.id: schedule[job.id] for job in instance.jobs})
    broken = gangs.check(instance, solution)
    otherwise = sum(each > (FEASIBLE if broken else NEAR) for each in off)
    if otherwise:
        words = " jobs would not last as recorded where they ran, so no schedule of the instance is what happened."
        return None, _unknown("with the stages given to them, ", figure(otherwise), " of ", figure(len(order)), words)
    if broken:
        return None, _broken(broken)
    elsewhere = len(order) - known
    where = "What happened: the trace does not say where jobs ran, or on nodes that are not the servers of the instance"
    if not elsewhere:
        return solution, []
    jobs = figure(elsewhere), " of ", figure(len(order)), " jobs, placed first fit."
    return solution, [Sentence(f"{where}, for ", *jobs)]


def _starts_s(chosen: Chosen) -> tuple[list[float], list[str]]:
    found = [chosen.relative(job.start_s) for job in chosen.jobs if job.start_s is not None]
    missing = len(chosen.jobs) - len(found)
    words = " jobs do not say when they started."
    return found, _unknown(figure(missing), " of ", figure(len(chosen.jobs)), words) if missing else []


def _broken(broken: Sequence[Violation]) -> list[str]:
    return _unknown("what was recorded does not fit the instance: ", Example(printable(str(broken[0]))))


def _unknown(*why: Piece) -> list[str]:
    """Write why the recorded schedule is unknown."""
    return [Sentence(f"{UNKNOWN} ", *why, warns=True)]
