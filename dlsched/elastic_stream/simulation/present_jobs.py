"""Jobs present in a simulation: their records in the simulator and in the loop of queues."""

from dataclasses import dataclass

from dlsched.core.ticks import left_after

BARREN = 10_000
"""Number of periods in a row without progress after which the simulator concludes that the policy never finishes."""
IDLE = 1e-6
"""Share of a period: it ended in its pause if no more than this share came after the pause."""
FEW = 64
"""Outdated entries that the heap of ends may hold, besides as many as there are valid ones."""


STATIC, FALLING, FALLING_APART, ATTAINED, FASTEST = range(5)
"""Kinds of keys: given; seconds left; seconds left over unequal weights; unit-seconds held over the weight; largest speed."""


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


@dataclass(slots=True, eq=False)
class PresentJob:
    """A present job, as the simulator keeps it: its units and its progress."""

    job: int
    remaining: float  # epochs to its real end at its last change of units
    hidden: float  # epochs from there to its nominal end
    times: dict[int, float]  # seconds per epoch by units, for units asked about so far
    restart_s: float
    units: int = 0
    time_s: float = 0.0  # per epoch now
    since: float = 0.0  # start of its period, by the simulator's clock: seconds, or with ticks their number
    pause_s: float = 0.0  # seconds without progress at its start
    needed_s: float = 0.0  # seconds that it would last to the job's end
    attained: float = 0.0  # unit-seconds of earlier periods
    stamp: int = 0  # identifies its valid entry in the heap of ends
    started: bool = False

    def left_after(self, elapsed_s: float) -> float:
        """Epochs to its real end after ``elapsed_s`` seconds of its period."""
        if not self.units or elapsed_s <= self.pause_s:
            return self.remaining
        return left_after(self.remaining, elapsed_s - self.pause_s, self.time_s)

    def start(self) -> None:
        """Begin a period with the job's units."""
        self.time_s = self.times[self.units]
        self.pause_s = self.restart_s if self.started else 0.0
        self.needed_s = self.pause_s + self.remaining * self.time_s
        self.started = True

    def stop(self, elapsed_s: float) -> None:
        """End the period after ``elapsed_s`` seconds, before the work is done."""
        self.remaining = self.left_after(elapsed_s)
        self.attained += self.units * elapsed_s
