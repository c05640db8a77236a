"""A Dask cluster on this machine, for one run; its workers may die at any time, also while they start."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import Future, wait
from multiprocessing.resource_tracker import ensure_running
from typing import ClassVar
from weakref import WeakSet

import dask
import distributed
from distributed.core import Status

from dlsched.core.errors import SolverError
from dlsched.processes.contained import Contained

TASK_DEATHS = 3
"""Deaths of workers that had a task, after which Dask gives it up: with its batch first, and then alone, a cell that kills is
found out."""
STARTS = 2 * TASK_DEATHS + 1
"""Times in a row that a worker's process is started which dies before it has ended a task: more than such a cell needs."""

CLOSE_S = 5.0
"""Seconds that a client has to close which never was connected."""


class PatientNanny(distributed.Nanny):  # type: ignore[misc]
    """Dask's supervisor of a worker's process, which starts it again where it died, also before it came up.

    Dask's own fails where it dies before it came up, and the whole cluster with it; and starts it for ever where it dies
    thereafter. Where the process dies time and again and ends nothing, this one gives its worker up, and the others go on.
    """

    every: ClassVar[WeakSet["PatientNanny"]] = WeakSet()
    starts = 0
    """Of the process, since a task was ended."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.every.add(self)

    async def instantiate(self) -> Status:
        """Start the process, once the nanny runs only once: then its end calls this again."""
        while self.starts < STARTS:
            self.starts += 1
            status = await super().instantiate()
            if status == Status.running or self.status != Status.init:
                return status
        await self.close(reason="its worker died at every start")
        return Status.failed

    async def start_unsafe(self) -> distributed.Nanny:
        """Start; a worker that does not come up is one less."""
        try:
            await super().start_unsafe()
            while self.process is not None and self.process.status == Status.stopped:
                await self.instantiate()  # it came up and died before the nanny ran, and its end called nothing
        except Exception:
            if self.status != Status.closed:
                raise
        return self


class _Ended(distributed.SchedulerPlugin):  # type: ignore[misc]
    """Tells nannies that their workers ended a task."""

    def __init__(self, scheduler: distributed.Scheduler) -> None:
        self._scheduler = scheduler

    def transition(self, key: object, start: str, finish: str, *_: object, worker: str = "", **__: object) -> None:
        """Look whether a task was ended, and by whose worker."""
        if (start, finish) == ("processing", "memory"):
            ended_by = self._scheduler.workers.get(worker)  # None: it died as soon as it had told
            for nanny in PatientNanny.every:
                if ended_by is not None and nanny.address_safe == ended_by.nanny:
                    nanny.starts = 0


class CarefulClient(distributed.Client):  # type: ignore[misc]
    """Dask's client, closed where it does not come to be, as by Ctrl-C: Dask's own goes on to look for the scheduler."""

    def start(self, **options: object) -> None:
        """Connect."""
        try:
            super().start(**options)
        except BaseException:
            with contextlib.suppress(OSError, TimeoutError):
                self.close(timeout=CLOSE_S)
            raise


@contextlib.contextmanager
def cluster_here(workers: int) -> Iterator[distributed.LocalCluster]:
    """Start a cluster of some workers, and end it; they come up meanwhile.

    Its files are in a folder of its own, which goes with it, and with this process, however that ends.

    Raises
    ------
    SolverError
        It cannot be started.
    """
    try:
        kept = Contained()
    except OSError as error:
        raise SolverError(f"no Dask cluster can be started on this machine: {error}") from None
    settings = {"temporary-directory": kept.folder, "distributed.deploy.lost-worker-timeout": "1 day"}
    try:
        with dask.config.set(settings):  # a worker that is slow to come back is not given up
            try:
                cluster = distributed.LocalCluster(
                    n_workers=0,
                    threads_per_worker=1,
                    processes=True,
                    worker_class=PatientNanny,
                    dashboard_address=":0",  # any free port: None takes that of another cluster on this machine
                    scheduler_kwargs={"dashboard": False, "allowed_failures": TASK_DEATHS - 1},
                    env={"TMPDIR": kept.folder},
                    memory_limit=0,  # the cells' own limits hold; a worker itself holds next to nothing
                    silence_logs=logging.CRITICAL,
                )
            except (OSError, RuntimeError) as error:
                raise SolverError(f"no Dask cluster can be started on this machine: {error}") from None
            try:
                cluster.sync(_keep_interrupts_away)
                cluster.scheduler.add_plugin(_Ended(cluster.scheduler))
                cluster.scale(workers)
                yield cluster
            finally:
                _close(cluster)
    finally:
        kept.end()


def _close(cluster: distributed.LocalCluster) -> None:
    """Close a cluster whole: one that Ctrl-C leaves half closed makes Dask wait when Python ends. It is raised afterwards."""

    async def closed() -> None:
        await cluster.close()

    closing: Future[None] | None = None
    pressed: KeyboardInterrupt | None = None
    while closing is None or not closing.done():
        try:
            closing = closing or asyncio.run_coroutine_threadsafe(closed(), cluster.loop.asyncio_loop)
            wait([closing])
        except KeyboardInterrupt as interrupt:
            pressed = interrupt
    closing.result()
    if pressed is not None:
        raise pressed


async def _keep_interrupts_away() -> None:
    """Have the processes that this thread starts, and its threads, not see a terminal's Ctrl-C: the leader ends them."""
    ensure_running()  # of multiprocessing; where it is started later, it unblocks what it blocked meanwhile
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def given_up(cluster: distributed.LocalCluster) -> bool:
    """Whether none of its workers lives, or is about to."""
    nannies = list(cluster.workers.values())
    return bool(nannies) and all(nanny.status in (Status.closed, Status.failed) for nanny in nannies)
