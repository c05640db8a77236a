"""``time_limit`` and ``verbose`` of every public call as limits and a callback; and the logger ``dlsched``.

The logger gets what is tried (``DEBUG``) and every better solution and bound (``INFO``); it is silent unless the user
asks for it, as in ``logging.basicConfig(level=logging.INFO)``.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Generic, TypeVar

from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, Progress, ProgressCallback
from dlsched.core.messages import printable
from dlsched.core.quantities import number, percent

LOGGER = logging.getLogger("dlsched")
LOGGER.addHandler(logging.NullHandler())

ProgressT = TypeVar("ProgressT")

EVERY_S = 1.0
"""Seconds between two lines."""


def limits_of(limits: Limits | None, time_limit: float | None = None) -> Limits:
    """Return the limits of a call, to which ``time_limit`` adds seconds.

    Raises
    ------
    UsageError
        ``limits`` is none, both say a time, or the seconds are none.
    """
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
    """Yield the limits and the callback of a call: its own, and one that prints if it is ``verbose``.

    Parameters
    ----------
    what, words
        What begins every line, and what else stands on it; None: ``line_of``.

    Raises
    ------
    UsageError
        As ``limits_of``.
    """
    given = limits_of(limits, time_limit)
    if progress is not None and not callable(progress):
        raise UsageError(where="progress", found=repr(progress), allowed="a function of a Progress")
    if not verbose:
        yield given, progress
        return
    lines = Lines(what, words or line_of)

    def told(now: Progress) -> None:
        lines(now)
        if progress is not None:
            progress(now)

    try:
        yield given, told
    finally:
        lines.end()


class Lines(Generic[ProgressT]):
    """Prints progress on standard error, a line a second; the last one when the search ends.

    Parameters
    ----------
    what, words
        What begins every line, and what else stands on it.
    clock
        Seconds, from any moment on.
    """

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
    """Say where a search stands: seconds, incumbent, bound, gap, nodes, and whence the last of them came.

    >>> line_of(Progress(1.25, 12.0, 9.0, 7, "heuristic", gap=0.25))
    '1.2 s, incumbent 12, bound 9, gap 25 %, 7 nodes, heuristic'
    """
    figures = f"incumbent {number(now.objective)}, bound {number(now.bound)}, gap {percent(now.gap)}"
    return f"{now.elapsed_s:.1f} s, {figures}, {now.nodes} nodes, {now.doing}"
