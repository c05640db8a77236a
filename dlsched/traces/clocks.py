"""Clocks of traces: arrival times of jobs and the format of times, for cutting traces into windows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dlsched.traces import gang_traces, gavel
from dlsched.traces.philly import philly_window, read_philly
from dlsched.traces.queue import Queue, Window, date_text, seconds_text, seconds_window
from dlsched.traces.rows import number, tab_rows


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock and time format of a kind of trace.

    Parameters
    ----------
    arrivals
        From a file to the times of its jobs, in the order of the file; a malformed row is a `ValueError`.
    window
        Reads the ends of a window in the trace's format of times.
    moment
        Writes a time in the format that ``window`` reads.
    """

    arrivals: Callable[[Path], list[float]]
    window: Callable[[str | None, str | None], Window]
    moment: Callable[[float], str]


def _philly(path: Path) -> list[float]:
    return [request.arrival_s for request in read_philly(path)[0]]


def _gavel(path: Path) -> list[float]:
    return [number(row, "arrival_time", f"{path}, line {line}") for line, row in tab_rows(path, gavel.COLUMNS)]


def _tiresias(path: Path) -> list[float]:
    return [request.arrival_s for request in gang_traces.read_tiresias(path)[0]]


PHILLY = Clock(_philly, philly_window, date_text)
GAVEL = Clock(_gavel, seconds_window, seconds_text)
TIRESIAS = Clock(_tiresias, seconds_window, seconds_text)


def queue_window(queue: Queue, from_: str | None, to: str | None) -> Window:
    """Read a window of a queue, in dates or times if the queue has such, else in seconds.

    Raises
    ------
    UsageError
        As ``Window.read``.
    """
    if not queue.dated:
        return seconds_window(from_, to)
    return Window.read(
        from_, to, _utc, "a date or time such as 2025-03-01 or 2025-03-01T07:00:00, of UTC without a zone"
    )


def _utc(text: str) -> float:
    moment = datetime.fromisoformat(text.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
