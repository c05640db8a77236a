"""Blocks of one instance on a Dask cluster: each is sent once to a worker, which then answers questions about it.

A block whose worker dies is made and sent again; so it must answer alike every time, whatever it was asked before.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from dlsched.core.errors import DlschedError, InputError, SolverError
from dlsched.core.limits import Tick
from dlsched.processes.dask_client import connected
from dlsched.version import VERSION

if TYPE_CHECKING:
    from distributed import Client, Future

BlockT = TypeVar("BlockT", covariant=True)
T = TypeVar("T")
P = ParamSpec("P")

DEATHS = 3
"""Deaths of workers with a block, after which it is given up."""
LOOK_S = 0.02
"""Seconds between two looks for answers."""
AGAIN_S = 0.5
"""Seconds after which a block is sent again whose worker died meanwhile."""


class Blocks(Generic[BlockT]):
    """The blocks, ``number`` of them; ``make`` makes each when it is to be sent, ``tick`` may raise to stop."""

    def __init__(
        self,
        client: "Client",
        hopeless: Callable[[], bool],
        make: Callable[[int], BlockT],
        number: int,
        tick: Tick,
    ) -> None:
        self._client, self._hopeless, self._make, self.tick = client, hopeless, make, tick
        self._sent: list[Future | None] = [None] * number
        self._deaths: Counter[int] = Counter()

    def ask(self, question: Callable[Concatenate[BlockT, P], T], *arguments: P.args, **named: P.kwargs) -> list[T]:
        """Have all blocks answer by a method of theirs; return the answers in the order of the blocks.

        ``SolverError``: the cluster is lost, or its workers cannot answer.
        """
        import distributed

        answers: dict[int, T] = {}
        asked: dict[str, int] = {}
        ended = distributed.as_completed(loop=self._client.loop, with_results=True, raise_errors=False)

        def ask(index: int) -> None:
            self.tick()
            future = self._client.submit(
                _answer, VERSION, question.__name__, self._block(index), arguments, named, pure=False, retries=0
            )
            asked[future.key] = index
            ended.add(future)

        def again(index: int, result: object) -> None:
            self._require_death(index, result)
            self._sent[index] = None
            ask(index)

        for index in range(len(self._sent)):
            ask(index)
        # Answers are taken as they come; what was asked of a worker that died is asked again, of another.
        while asked:
            if ended.has_ready():
                future, result = next(ended)
                if future.key in asked and isinstance(result, list):
                    answers[asked.pop(future.key)] = result[0]
                elif future.key in asked:
                    again(asked.pop(future.key), result)
                continue
            self.tick()
            if self._hopeless() or self._client.status != "running":
                raise SolverError("the Dask cluster was lost")
            for key in [key for key, index in asked.items() if self._lost(index)]:
                again(asked.pop(key), CancelledError())
            time.sleep(LOOK_S)
        return [answers[index] for index in range(len(self._sent))]

    def _block(self, index: int) -> "Future":
        """Return the block on its worker, sent again if that has died."""
        block = self._sent[index]
        while block is None or self._lost(index):
            try:
                block = self._sent[index] = self._client.scatter(self._make(index), hash=False)
            except OSError:  # the worker died, of which the scheduler will soon know
                self._require_death(index, CancelledError())
                time.sleep(AGAIN_S)
        return block

    def _lost(self, index: int) -> bool:
        """Whether the worker with a block that was sent has died."""
        block = self._sent[index]
        return block is not None and block.status != "finished"

    def _require_death(self, index: int, result: object) -> None:
        """Raise what a worker raised; nothing if it died."""
        from distributed.scheduler import KilledWorker

        error = result[1] if isinstance(result, tuple) else result
        if isinstance(error, DlschedError | OverflowError):
            raise error
        if not isinstance(error, KilledWorker | CancelledError):
            raise SolverError(f"a worker of the cluster cannot answer: {type(error).__name__}: {error}")
        self._deaths[index] += 1
        if self._deaths[index] >= DEATHS:
            raise SolverError(f"workers died {DEATHS} times with the same block of jobs")


def _answer(
    version: str, question: str, block: object, arguments: tuple[object, ...], named: dict[str, object]
) -> list[object]:
    """Answer by the method of that name, on a worker; ``InputError``: it has another version of dlsched."""
    if version != VERSION:
        raise InputError(where="a worker's dlsched", found=VERSION, allowed=f"{version}, as where it is asked")
    return [getattr(block, question)(*arguments, **named)]


class Cluster:
    """Where blocks go: ``workers`` processes of this machine, or the cluster of a ``scheduler``."""

    def __init__(self, workers: int, scheduler: str | None) -> None:
        self._workers, self._scheduler = workers, scheduler

    @property
    def here(self) -> bool:
        """Whether the workers are processes of this machine."""
        return self._scheduler is None

    @contextlib.contextmanager
    def blocks(self, make: Callable[[int], BlockT], number: int, tick: Tick) -> Iterator[Blocks[BlockT]]:
        """Connect, and wait for workers; they are free again after the block. Errors as ``connected``."""
        with contextlib.ExitStack() as stack:
            client, hopeless = connected(stack, self._workers, self._scheduler)
            try:
                while len(client.nthreads()) < (self._workers if self._scheduler is None else 1):
                    tick()
                    if hopeless():
                        raise SolverError("no worker of the Dask cluster started")
                    time.sleep(LOOK_S)
                yield Blocks(client, hopeless, make, number, tick)
            except (OSError, TimeoutError):
                raise SolverError("the Dask cluster was lost") from None
            finally:
                if client.status == "running":
                    with contextlib.suppress(OSError, TimeoutError):
                        client.cancel(list(client.futures.values()), force=True)
