"""A queued job as a record of numbers, for streams served in an order; and the kinds of keys."""

from dataclasses import dataclass

STATIC, FALLING, FALLING_APART, ATTAINED = range(4)
"""Kinds of keys: given; seconds left; seconds left over unequal weights; unit-seconds held over the
weight."""


@dataclass(slots=True)
class Queued:
    """A job in the loop, or a record of an array of such: its data, its present period, its place in the line."""

    arrival: float
    work: float  # epochs to its real end
    hidden: float  # epochs from there to its nominal end
    size: int
    kind: int  # number of its size among all sizes
    time: float  # seconds per epoch
    restart: float
    weight: float
    key: float
    left: float  # epochs to its real end at its last start or stop
    units: int = 0  # units that it holds
    since: float = 0.0
    pause: float = 0.0
    started: int = 0
    attained: float = 0.0
    stamp: int = 0
    place: float = 0.0  # its key in the line, while it runs
    runs: int = 0  # 1 if it shall run from this event on
    changed: int = 0  # the last event that set ``runs``
