"""Limits of a search, its progress, and who sees it: a callback, lines on standard error, the logger ``dlsched``.

The logger gets what is tried (``DEBUG``) and every better solution and bound (``INFO``); it is silent unless the user
asks for it, as in ``logging.basicConfig(level=logging.INFO)``.
"""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dlsched.core.errors import UsageError
from dlsched.core.messages import printable
from dlsched.core.quantities import number, percent
from dlsched.core.status import TerminationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a search has to stop.

    Parameters
    ----------
    time_s
        Seconds of wall-clock time, >= 0, building the model included; None: no limit. With 0 no search
        starts.
    nodes
        Nodes, >= 0: branch-and-bound nodes of a solver, combined jobs of dlsched's own algorithms. None: no
        limit.
    threads
        Threads that a solver may use, >= 1. Only 1 guarantees the same answer in every run.

    Raises
    ------
    UsageError
        A value out of range.
    """

    time_s: float | None = None
    nodes: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        time_s = self.time_s
        number = isinstance(time_s, int | float) and not isinstance(time_s, bool) and 0 <= time_s < math.inf
        if time_s is not None and not number:
            raise UsageError(where="time limit", found=repr(time_s), allowed="a number of seconds >= 0")
        for name, value, least in (("nodes", self.nodes, 0), ("threads", self.threads, 1)):
            if name == "nodes" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UsageError(where=name, found=repr(value), allowed=f"an integer >= {least}")

    def as_data(self) -> dict[str, float | int]:
        """Return the limits that were set, as result files hold them."""
        data = {"time_s": self.time_s, "nodes": self.nodes, "threads": None if self.threads == 1 else self.threads}
        return {name: value for name, value in data.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search stands: seconds since its start, best objective and bound so far, nodes done, the gap between the two."""

    elapsed_s: float
    objective: float | None
    bound: float | None
    nodes: int
    doing: str
    gap: float | None = None


ProgressCallback = Callable[[Progress], None]


Tick = Callable[[], None]
"""Called in long loops; it raises ``Stopped`` at a limit."""


class Stopped(Exception):  # noqa: N818  a signal, not an error
    """A limit was reached; raised by ``Budget.tick`` (or where memory ends) and caught by ``Family.solve``."""

    def __init__(self, status: TerminationStatus) -> None:
        super().__init__(str(status))
        self.status = status


class TooMany(Exception):  # noqa: N818  a signal, not an error
    """There are more entries than the caller allows to list; it takes another way, or reports that."""


def no_tick() -> None:
    """Do nothing: the ``tick`` of functions that are called without limits."""


class Budget:
    """The limits of a run, its clock and its nodes; ``counted`` is called when nodes were counted."""

    def __init__(self, limits: Limits | None = None, counted: Tick = no_tick) -> None:
        self.limits = limits or Limits()
        self.nodes = 0
        self._counted = counted
        self._began = time.perf_counter()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> Limits:
        """The limits minus what the run has used."""
        time_s = None if self.limits.time_s is None else max(0.0, self.limits.time_s - self.elapsed_s)
        nodes = None if self.limits.nodes is None else max(0, self.limits.nodes - self.nodes)
        return Limits(time_s=time_s, nodes=nodes, threads=self.limits.threads)

    @property
    def limited(self) -> bool:
        """Whether time or nodes are limited."""
        return self.limits.time_s is not None or self.limits.nodes is not None

    @property
    def none_at_all(self) -> bool:
        """Whether the limits allow no time, or no node, from the beginning."""
        return self.limits.time_s == 0 or self.limits.nodes == 0

    def tick(self, nodes: int = 0) -> None:
        """Count nodes and stop at a limit; Stopped: the time or the nodes are used up."""
        if self.limits.nodes is not None and self.nodes + nodes > self.limits.nodes:
            raise Stopped(TerminationStatus.NODE_LIMIT)
        self.nodes += nodes
        if self.limits.time_s is not None and self.elapsed_s >= self.limits.time_s:
            raise Stopped(TerminationStatus.TIME_LIMIT)
        if nodes:
            self._counted()


LOGGER = logging.getLogger("dlsched")
LOGGER.addHandler(logging.NullHandler())

ProgressT = TypeVar("ProgressT")

EVERY_S = 1.0
"""Seconds between two lines."""


def limits_of(limits: Limits | None, time_limit: float | None = None) -> Limits:
    """Return the limits of a call, to which ``time_limit`` adds seconds (UsageError: both say a time, or one is none)."""
    if not isinstance(limits := limits or Limits(), Limits):
        raise UsageError(where="limits", found=repr(limits), allowed="Limits(time_s=...)")
    if time_limit is None:
        return limits
    if limits.time_s is not None:
        raise UsageError(found="time_limit and limits with time_s", allowed="one of them")
    return replace(limits, time_s=time_limit)


@contextmanager
def watched(
    limits: Limits | None,
    progress: ProgressCallback | None,
    *,
    time_limit: float | None = None,
    verbose: bool = False,
    what: str = "",
    words: Callable[[Progress], str] | None = None,
) -> Iterator[tuple[Limits, ProgressCallback | None]]:
    """Yield the limits and the callback of a call: its own, and one that prints ``what`` and ``words`` if it is ``verbose``."""
    call_limits = limits_of(limits, time_limit)
    if progress is not None and not callable(progress):
        raise UsageError(where="progress", found=repr(progress), allowed="a function of a Progress")
    if not verbose:
        yield call_limits, progress
        return
    lines = Lines(what, words or line_of)

    def report(now: Progress) -> None:
        lines(now)
        if progress is not None:
            progress(now)

    try:
        yield call_limits, report
    finally:
        lines.end()


class Lines(Generic[ProgressT]):
    """Prints progress on standard error: ``what`` and ``words``, a line a second, the last one when the search ends."""

    def __init__(
        self, what: str, words: Callable[[ProgressT], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._words, self._clock = what, words, clock
        self._printed: float | None = None
        self._waiting: ProgressT | None = None

    def __call__(self, now: ProgressT) -> None:
        """Print a line, or keep it until a second is over or the search ends."""
        self._waiting = now
        if self._printed is None or self._clock() - self._printed >= EVERY_S:
            self.end()

    def end(self) -> None:
        """Print the last line if it was not."""
        if self._waiting is not None:
            begun = f"{self._what}: " if self._what else ""
            if sys.stderr is not None:
                with suppress(OSError, ValueError):  # nobody reads it any more, or it is closed
                    print(printable(begun + self._words(self._waiting)), file=sys.stderr, flush=True)
            self._waiting, self._printed = None, self._clock()


def line_of(now: Progress) -> str:
    """Say where a search stands: seconds, incumbent, bound, gap, nodes, and whence the last of them came."""
    figures = f"incumbent {number(now.objective)}, bound {number(now.bound)}, gap {percent(now.gap)}"
    return f"{now.elapsed_s:.1f} s, {figures}, {now.nodes} nodes, {now.doing}"
