"""A job that is present in a simulation."""

from dataclasses import dataclass

from dlsched.core.ticks import left_after


@dataclass(slots=True, eq=False)
class PresentJob:
    """A job that is present: what it holds, and how far it has come; kept by the simulator."""

    job: int
    left: float  # epochs to its real end, when it last changed its units
    hidden: float  # epochs from there to its nominal end
    times: dict[int, float]  # seconds per epoch by units, as far as they were asked for
    restart_s: float
    held: int = 0
    time_s: float = 0.0  # per epoch now
    since: float = 0.0  # start of its period, by the simulator's clock: seconds, or with ticks their number
    pause_s: float = 0.0  # seconds without progress at its start
    needed_s: float = 0.0  # seconds that it would last to the job's end
    attained: float = 0.0  # unit-seconds of earlier periods
    stamp: int = 0  # of its entry in the heap of ends
    started: bool = False

    def left_after(self, elapsed_s: float) -> float:
        """Epochs to its real end, that many seconds into its period."""
        if not self.held or elapsed_s <= self.pause_s:
            return self.left
        return left_after(self.left, elapsed_s - self.pause_s, self.time_s)

    def start(self) -> None:
        """Begin a period with the units that it holds."""
        self.time_s = self.times[self.held]
        self.pause_s = self.restart_s if self.started else 0.0
        self.needed_s = self.pause_s + self.left * self.time_s
        self.started = True

    def stop(self, elapsed_s: float) -> None:
        """End the period, that many seconds into it, before its work is done."""
        self.left = self.left_after(elapsed_s)
        self.attained += self.held * elapsed_s
