"""Cells in processes of this machine."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice

from dlsched.study.cells.cell import Cell
from dlsched.study.cells.keeper import Keeper, wait
from dlsched.study.cells.outcome import Outcome

BATCH_S = 0.25
"""Seconds of work that are handed to a process at once, so that it need not wait for more between short cells."""
LARGEST_BATCH = 256


class Pace:
    """How long cells take, by those that have ended lately.

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
        """Take note of what ended; what died without figures is taken for long, so that batches become short."""
        for outcome in outcomes:
            time_s = self._batch_s if outcome.time_s is None else outcome.time_s + 1e-4
            self._mean_s += 0.05 * (time_s - self._mean_s)


def run(
    cells: Iterator[Cell], workers: int, folder: str, wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Run cells in ``workers`` >= 1 processes that work in ``folder``, for as long as that is wanted.

    Yield outcomes as they come, in no order.

    Closing the generator kills what runs.

    Raises
    ------
    SolverError
        No process can be started.
    """
    keepers = [Keeper(folder) for _ in range(workers)]
    try:
        yield from drive(keepers, cells, wanted)
    finally:
        for keeper in keepers:
            keeper.stop()


def drive(
    keepers: Sequence[Keeper], cells: Iterator[Cell], wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Have keepers run cells for as long as that is wanted, and leave their processes for more; errors as ``run``."""
    pace = Pace(BATCH_S)
    again: deque[Cell] = deque()  # cells of a process that died before they began
    while True:
        for keeper in keepers:
            if not keeper.alive:
                again.extend(keeper.give_up())
            if keeper.idle:
                few = min(pace.cells, len(again))
                batch = [again.popleft() for _ in range(few)] or list(islice(cells, pace.cells))
                if batch:
                    keeper.assign(batch)
        busy = [keeper for keeper in keepers if not keeper.idle]
        if not busy:
            return
        wait([keeper for keeper in busy if keeper.alive])
        if not wanted():
            for keeper in keepers:
                keeper.stop()
                keeper.give_up()
            return
        found = [outcome for keeper in busy for outcome in keeper.outcomes()]
        if found:
            pace.learn(found)
            yield found
