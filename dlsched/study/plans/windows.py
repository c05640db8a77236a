"""Traces cut into windows of arrivals, each an instance of its own.

Importers are imported where they are used: a process that runs cells needs none.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsched.core.instance import InstanceFile
from dlsched.study.plans.plan import Windows


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a trace: what rows call it, and the arrivals it holds, as importers take them; None: no limit."""

    source: str
    from_: str | None
    to: str | None


def pieces(trace: Windows, folder: Path) -> Iterator[Piece]:
    """Cut a trace into windows, from ``from`` on or else from its first arrival; those without jobs are left out.

    Raises
    ------
    UsageError, InputError
        As ``import_instance``.
    """
    from dlsched.traces import SOURCES, arrivals_of

    from_, to = _end(trace, "from"), _end(trace, "to")
    clock = SOURCES[trace.importer].clock
    whole = Piece(_called(trace.file, from_, to), from_, to)
    if trace.window_s is None or clock is None:
        yield whole
        return
    window, length_s = clock.window(from_, to), trace.window_s
    arrivals = sorted(each for each in arrivals_of(trace.importer, str(folder / trace.file)) if window.holds(each))
    if not arrivals:
        yield whole  # of which the importer says that it has no job
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
            yield Piece(_called(trace.file, start, end), start, end)


def _edge(start_s: float, length_s: float, count: int) -> float:
    """Start of a window: of the first as it is, of others in microseconds, which every trace can write."""
    return round(start_s + count * length_s, 6) if count else start_s


def _called(file: str, from_: str | None, to: str | None) -> str:
    return f"{file} [{from_ or ''}, {to or ''})" if from_ or to else file


def _end(trace: Windows, key: str) -> str | None:
    value = trace.options.get(key)
    return None if value is None else str(value)


def import_piece(trace: Windows, piece: Piece, folder: Path) -> InstanceFile:
    """Import a part of a trace; errors as ``import_instance``."""
    from dlsched.traces import import_instance

    options: dict[str, Any] = {key: value for key, value in trace.options.items() if key not in ("from", "to")}
    if "restart" in options:
        options["restart_s"] = options.pop("restart")
    path = str(folder / trace.file)
    return import_instance(trace.importer, path, from_=piece.from_, to=piece.to, **options)[0]
