"""The local engine: runs cells in processes of this machine."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice

from dlsched.study.cells.cell import Cell, Outcome
from dlsched.study.cells.supervisor import Supervisor, wait

BATCH_S = 0.25
"""Seconds of work in a batch, so that a process need not wait for more work between short cells."""
LARGEST_BATCH = 256


class Pace:
    """Estimates the number of cells in a batch from the time of recent cells.

    Parameters
    ----------
    batch_s
        Seconds that a batch should last.
    """

    def __init__(self, batch_s: float) -> None:
        self._batch_s = self._mean_s = batch_s

    @property
    def cells(self) -> int:
        """Cells of a batch, >= 1."""
        return max(1, min(LARGEST_BATCH, int(self._batch_s / self._mean_s)))

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from ended cells; cells that died without figures count as long: batches get short."""
        for outcome in outcomes:
            time_s = self._batch_s if outcome.time_s is None else outcome.time_s + 1e-4
            self._mean_s += 0.05 * (time_s - self._mean_s)


def run(
    cells: Iterator[Cell], workers: int, folder: str, wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Run cells in ``workers`` >= 1 processes that work in ``folder``, for as long as that is wanted.

    Yield outcomes as they arrive, in any order.

    Closing the generator kills the running cells.

    Raises
    ------
    SolverError
        No process can be started.
    """
    supervisors = [Supervisor(folder) for _ in range(workers)]
    try:
        yield from drive(supervisors, cells, wanted)
    finally:
        for supervisor in supervisors:
            supervisor.stop()


def drive(
    supervisors: Sequence[Supervisor], cells: Iterator[Cell], wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Run cells with these supervisors while ``wanted``; leave the processes running. Errors as ``run``."""
    pace = Pace(BATCH_S)
    again: deque[Cell] = deque()  # cells that had not begun when their process died
    while True:
        for supervisor in supervisors:
            if not supervisor.alive:
                again.extend(supervisor.give_up())
            if supervisor.idle:
                few = min(pace.cells, len(again))
                batch = [again.popleft() for _ in range(few)] or list(islice(cells, pace.cells))
                if batch:
                    supervisor.assign(batch)
        busy = [supervisor for supervisor in supervisors if not supervisor.idle]
        if not busy:
            return
        wait([supervisor for supervisor in busy if supervisor.alive])
        if not wanted():
            for supervisor in supervisors:
                supervisor.stop()
                supervisor.give_up()
            return
        found = [outcome for supervisor in busy for outcome in supervisor.outcomes()]
        if found:
            pace.learn(found)
            yield found
