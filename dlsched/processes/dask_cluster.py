"""A Dask cluster on this machine for one run; survives workers that die at any time, even at their start."""

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
"""Worker deaths after which Dask gives up a task. A cell that kills workers is found by this: first its
batch is given up, then the cell alone."""
STARTS = 2 * TASK_DEATHS + 1
"""Starts in a row of a worker's process that ends no task; more than a cell that kills workers causes."""

CLOSE_S = 5.0
"""Seconds within which a client that never connected has to close."""


class PatientNanny(distributed.Nanny):  # type: ignore[misc]
    """A supervisor of a worker's process that also restarts one that dies while starting, where Dask's fails with the cluster.

    It gives a worker up if its process dies again and again without ending a task; the other workers go on.
    """

    every: ClassVar[WeakSet["PatientNanny"]] = WeakSet()
    starts = 0
    """Starts of the process since it last ended a task."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.every.add(self)

    async def instantiate(self) -> Status:
        """Start the process, up to ``STARTS`` times; only once if the nanny runs, as Dask then repeats."""
        while self.starts < STARTS:
            self.starts += 1
            status = await super().instantiate()
            if status == Status.running or self.status != Status.init:
                return status
        await self.close(reason="its worker died at every start")
        return Status.failed

    async def start_unsafe(self) -> distributed.Nanny:
        """Start the nanny; a worker that cannot start is left out of the cluster."""
        try:
            await super().start_unsafe()
            while self.process is not None and self.process.status == Status.stopped:
                await self.instantiate()  # it died before the nanny ran, so Dask does not restart it
        except Exception:
            if self.status != Status.closed:
                raise
        return self


class _Ended(distributed.SchedulerPlugin):  # type: ignore[misc]
    """Tells a nanny when its worker has ended a task."""

    def __init__(self, scheduler: distributed.Scheduler) -> None:
        self._scheduler = scheduler

    def transition(self, key: object, start: str, finish: str, *_: object, worker: str = "", **__: object) -> None:
        """Reset the count of starts of the nanny whose worker has just ended a task."""
        if (start, finish) == ("processing", "memory"):
            ended_by = self._scheduler.workers.get(worker)  # None: the worker died right after that
            for nanny in PatientNanny.every:
                if ended_by is not None and nanny.address_safe == ended_by.nanny:
                    nanny.starts = 0


class CarefulClient(distributed.Client):  # type: ignore[misc]
    """A Dask client that closes if connecting fails or is interrupted; Dask's own keeps trying."""

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
    """Start a cluster; it and its folder go with the block or this process. ``SolverError``: it cannot be started."""
    try:
        containment = Contained()
    except OSError as error:
        raise SolverError(f"no Dask cluster can be started on this machine: {error}") from None
    settings = {
        "temporary-directory": containment.folder,
        "distributed.deploy.lost-worker-timeout": "1 day",  # workers that are slow to restart are not given up
        "distributed.worker.profile.enabled": False,
        "distributed.scheduler.rootish-taskgroup-dependencies": 1,  # questions about a block go where it is
    }
    try:
        with dask.config.set(settings):
            try:
                cluster = distributed.LocalCluster(
                    n_workers=0,
                    threads_per_worker=1,
                    processes=True,
                    worker_class=PatientNanny,
                    dashboard_address=":0",  # any free port; None takes another cluster's
                    scheduler_kwargs={"dashboard": False, "allowed_failures": TASK_DEATHS - 1},
                    env={"TMPDIR": containment.folder},
                    memory_limit=0,  # cells have limits of their own; the worker itself uses little
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
        containment.end()


def _close(cluster: distributed.LocalCluster) -> None:
    """Close a cluster completely, and raise a Ctrl-C only then: half-closed clusters stall Python's end."""

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
    """Block a terminal's Ctrl-C in this thread and the processes that it starts: the leader ends these."""
    ensure_running()  # multiprocessing's tracker, started later, would unblock the signal
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def given_up(cluster: distributed.LocalCluster) -> bool:
    """Whether no worker of the cluster is alive or starting."""
    nannies = list(cluster.workers.values())
    return bool(nannies) and all(nanny.status in (Status.closed, Status.failed) for nanny in nannies)
