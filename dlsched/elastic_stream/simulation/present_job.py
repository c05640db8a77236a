"""A job that is present in a simulation."""

from dataclasses import dataclass

from dlsched.core.ticks import left_after


@dataclass(slots=True, eq=False)
class PresentJob:
    """A present job, as the simulator keeps it: its units and its progress."""

    job: int
    left: float  # epochs to its real end at its last change of units
    hidden: float  # epochs from there to its nominal end
    times: dict[int, float]  # seconds per epoch by units, for units asked about so far
    restart_s: float
    held: int = 0
    time_s: float = 0.0  # per epoch now
    since: float = 0.0  # start of its period, by the simulator's clock: seconds, or with ticks their number
    pause_s: float = 0.0  # seconds without progress at its start
    needed_s: float = 0.0  # seconds that it would last to the job's end
    attained: float = 0.0  # unit-seconds of earlier periods
    stamp: int = 0  # identifies its valid entry in the heap of ends
    started: bool = False

    def left_after(self, elapsed_s: float) -> float:
        """Epochs to its real end after ``elapsed_s`` seconds of its period."""
        if not self.held or elapsed_s <= self.pause_s:
            return self.left
        return left_after(self.left, elapsed_s - self.pause_s, self.time_s)

    def start(self) -> None:
        """Begin a period with the job's units."""
        self.time_s = self.times[self.held]
        self.pause_s = self.restart_s if self.started else 0.0
        self.needed_s = self.pause_s + self.left * self.time_s
        self.started = True

    def stop(self, elapsed_s: float) -> None:
        """End the period after ``elapsed_s`` seconds, before the work is done."""
        self.left = self.left_after(elapsed_s)
        self.attained += self.held * elapsed_s
