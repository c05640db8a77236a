"""Limits of a search, and the progress that it reports."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dlsched.core.errors import UsageError


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
        data: dict[str, float | int] = {}
        if self.time_s is not None:
            data["time_s"] = self.time_s
        if self.nodes is not None:
            data["nodes"] = self.nodes
        if self.threads != 1:
            data["threads"] = self.threads
        return data


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
