"""Blocks of one instance on a Dask cluster: each is made once, on a worker, which then answers questions about it.

Dask makes a block again whose worker dies; so it must answer alike every time, whatever it was asked before.
"""

import asyncio
import gc
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from dlsched.core.errors import DlschedError, InputError, SolverError
from dlsched.core.garbage import uncollected
from dlsched.core.limits import Tick
from dlsched.processes.dask_client import connected
from dlsched.version import VERSION

if TYPE_CHECKING:
    from distributed import Client

BlockT = TypeVar("BlockT", covariant=True)
T = TypeVar("T")
P = ParamSpec("P")

LOOK_S = 0.2
"""Seconds between two looks whether to go on, while workers answer."""


class Blocks(Generic[BlockT]):
    """The blocks, ``number`` of them, which ``make`` makes to be sent; ``tick`` may raise to stop."""

    def __init__(
        self, client: "Client", hopeless: Callable[[], bool], make: Callable[[int], BlockT], number: int, tick: Tick
    ) -> None:
        self._client, self._hopeless, self.tick = client, hopeless, tick
        # pickled here: the scheduler, which unpickles arguments, passes bytes on
        pickled = (pickle.dumps(make(index), protocol=5) for index in range(number))
        self._made = [client.submit(_make, VERSION, each, pure=False) for each in pickled]

    def ask(self, question: Callable[Concatenate[BlockT, P], T], *arguments: P.args, **named: P.kwargs) -> list[T]:
        """Have all blocks answer by a method of theirs; return the answers in the order of the blocks.

        ``SolverError``: the cluster is lost, or its workers cannot answer.
        """
        from distributed.scheduler import KilledWorker

        asked = self._client.map(
            _answer, self._made, question=question.__name__, arguments=arguments, named=named, pure=False
        )
        gathered = self._client.gather(asked, asynchronous=True)
        answers: Future[list[T]] = asyncio.run_coroutine_threadsafe(gathered, self._client.loop.asyncio_loop)
        try:
            while not answers.done():
                self.tick()
                if self._hopeless() or self._client.status != "running":
                    raise SolverError("the Dask cluster was lost")
                wait([answers], LOOK_S)
        finally:
            answers.cancel()
        try:
            return answers.result()
        except (DlschedError, OverflowError):
            raise
        except KilledWorker as error:
            raise SolverError(f"workers died {error.allowed_failures + 1} times with the same block of jobs") from None
        except Exception as error:  # whatever the cluster raises
            raise SolverError(f"a worker of the cluster cannot answer: {type(error).__name__}: {error}") from None


def _make(version: str, pickled: bytes) -> object:
    """Unpickle a block, on a worker, with what its answers need; ``InputError``: it has another version of dlsched."""
    if version != VERSION:
        raise InputError(where="a worker's dlsched", found=VERSION, allowed=f"{version}, as where it is asked")
    with uncollected():
        block: object = pickle.loads(pickled)
        _answer(block, "size", (), {})
        gc.freeze()  # the block has no cycles, so no collection needs to look at it
    return block


def _answer(block: object, question: str, arguments: tuple[object, ...], named: dict[str, object]) -> object:
    """Answer by the method of that name, on a worker."""
    with uncollected():
        return getattr(block, question)(*arguments, **named)


class Cluster:
    """Where blocks go: ``workers`` processes of this machine, or the cluster of a ``scheduler``."""

    def __init__(self, workers: int, scheduler: str | None) -> None:
        self._workers, self._scheduler = workers, scheduler
        self._connection: tuple[Client, Callable[[], bool]] | None = None

    @contextmanager
    def started(self) -> Iterator[tuple["Client", Callable[[], bool]]]:
        """Connect, unless it is within another such block; workers start meanwhile. Errors as ``connected``."""
        if self._connection is not None:
            yield self._connection
            return
        with ExitStack() as stack:
            try:
                self._connection = connected(stack, self._workers, self._scheduler)
                yield self._connection
            finally:
                self._connection = None

    @contextmanager
    def blocks(self, make: Callable[[int], BlockT], number: int, tick: Tick) -> Iterator[Blocks[BlockT]]:
        """Have workers make blocks, which are free again after the block. Errors as ``connected``."""
        with self.started() as (client, hopeless):
            yield Blocks(client, hopeless, make, number, tick)
