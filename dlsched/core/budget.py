"""The budget of a run: its clock, its limits on time and nodes, and how much of each is left."""

import time
from collections.abc import Callable

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus

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
    """The limits of a run, its clock and its nodes; without arguments nothing is limited.

    Parameters
    ----------
    limits
        When to stop.
    counted
        Called when nodes were counted.
    """

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
        """Count nodes and stop at a limit.

        Raises
        ------
        Stopped
            The time or the nodes are used up.
        """
        if self.limits.nodes is not None and self.nodes + nodes > self.limits.nodes:
            raise Stopped(TerminationStatus.NODE_LIMIT)
        self.nodes += nodes
        if self.limits.time_s is not None and self.elapsed_s >= self.limits.time_s:
            raise Stopped(TerminationStatus.TIME_LIMIT)
        if nodes:
            self._counted()
