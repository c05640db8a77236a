"""Windows of traces: intervals of arrivals, each an instance of its own.

Importers are imported inside functions, since processes that run cells need none.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.catalogue.import_options import OPTIONS
from dlsched.catalogue.option import Value
from dlsched.catalogue.sources import SOURCES
from dlsched.core.instance import InstanceFile
from dlsched.study.plans.plan import Windows

if TYPE_CHECKING:
    from dlsched.traces.queue import Queue, Window

FILES = ("nodes", "jobs")
"""Options that name files, relative to the plan's folder."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a trace: its name in rows, and start and end of its arrivals; None: no limit.

    ``queue``: the whole trace, if it was read as a queue for cutting.
    """

    source: str
    from_: str | None
    to: str | None
    queue: "Queue | None" = field(default=None, compare=False, repr=False)


def pieces(trace: Windows, folder: Path) -> Iterator[Piece]:
    """Cut a trace into windows, beginning at ``from`` or its first arrival; leave out windows without jobs.

    Raises
    ------
    UsageError, InputError
        As ``import_instance``.
    """
    from_, to = _end(trace, "from"), _end(trace, "to")
    whole = Piece(_called(trace.file, from_, to), from_, to)
    clock = None if trace.window_s is None else _clock(trace, folder)
    if clock is None or trace.window_s is None:
        yield whole
        return
    window, length_s = clock.window(from_, to), trace.window_s
    arrivals = sorted(each for each in clock.arrivals_s if window.holds(each))
    if not arrivals:
        yield whole  # the importer then reports that there is no job
        return
    start_s = arrivals[0] if window.start_s is None else window.start_s
    latest = -1
    for arrival_s in arrivals:
        count = max(math.floor((arrival_s - start_s) / length_s) - 1, 0)
        while arrival_s >= _edge(start_s, length_s, count + 1):
            count += 1
        if count != latest:
            latest, end_s = count, _edge(start_s, length_s, count + 1)
            start = clock.moment(_edge(start_s, length_s, count))
            end = clock.moment(end_s if window.end_s is None else min(end_s, window.end_s))
            yield Piece(_called(trace.file, start, end), start, end, clock.queue)


@dataclass(frozen=True, slots=True)
class _Clock:
    """Arrival times of a trace's jobs, and the format of its times."""

    arrivals_s: list[float]
    window: "Callable[[str | None, str | None], Window]"
    moment: Callable[[float], str]
    queue: "Queue | None" = None


def _clock(trace: Windows, folder: Path) -> _Clock | None:
    from dlsched.traces import arrivals_of, read_queue
    from dlsched.traces.clocks import queue_window

    source, path, options = SOURCES[trace.importer], str(folder / trace.file), _options(trace, folder)
    if source.queued(options.get("family")):
        queue = read_queue(trace.importer, path, **options)
        arrivals_s = [job.submit_s for job in queue.jobs if job.duration_s is not None]
        return _Clock(arrivals_s, partial(queue_window, queue), queue.moment, queue)
    clock = source.clock
    return None if clock is None else _Clock(arrivals_of(trace.importer, path), clock.window, clock.moment)


def _edge(start_s: float, length_s: float, count: int) -> float:
    """Start of a window: exact for the first, in microseconds for others, as every trace can write."""
    return round(start_s + count * length_s, 6) if count else start_s


def _called(file: str, from_: str | None, to: str | None) -> str:
    return f"{file} [{from_ or ''}, {to or ''})" if from_ or to else file


def _end(trace: Windows, key: str) -> str | None:
    value = trace.options.get(key)
    return None if value is None else str(value)


def import_piece(trace: Windows, piece: Piece, folder: Path) -> InstanceFile:
    """Import a part of a trace; errors as ``import_instance``."""
    from dlsched.traces import import_instance, import_made

    path, options = str(folder / trace.file), _options(trace, folder)
    options |= {"from_": piece.from_, "to": piece.to}
    if piece.queue is not None:
        return import_made(trace.importer, path, piece.queue, **options).instance
    return import_instance(trace.importer, path, **options)[0]


def _options(trace: Windows, folder: Path) -> dict[str, Value | None]:
    """Return the options of a trace as keyword arguments of importers."""
    found: dict[str, Value | None] = {}
    for name, value in trace.options.items():
        assert not isinstance(value, list | dict)
        found[OPTIONS[name].python] = str(folder / str(value)) if name in FILES else value
    return found
