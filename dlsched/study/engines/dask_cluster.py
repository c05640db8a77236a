"""A Dask cluster on this machine, for one run; its workers may die at any time, also while they start."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import Future, wait
from multiprocessing.resource_tracker import ensure_running

import dask
import distributed
from distributed.core import Status

from dlsched.core.errors import SolverError
from dlsched.solvers.guard import Guard

STARTS = 3
"""Times in a row that a worker's process is started which dies before it has come up."""

CLOSE_S = 5.0
"""Seconds that a client has to close which never was connected."""


class PatientNanny(distributed.Nanny):  # type: ignore[misc]
    """Dask's keeper of a worker's process, which starts it again where it died before it came up.

    Dask's own fails then, and the whole cluster with it. Where the process dies time and again, this one gives its worker up,
    and the others go on.
    """

    _deaths = 0

    async def instantiate(self) -> Status:
        """Start the process, once the nanny runs only once: then its end calls this again."""
        while True:
            status = await super().instantiate()
            if status == Status.running:
                self._deaths = 0
                return status
            self._deaths += 1
            if self._deaths >= STARTS:
                await self.close(reason="its worker died at every start")
                return status
            if self.status != Status.init:
                return status

    async def start_unsafe(self) -> distributed.Nanny:
        """Start; a worker that does not come up is one less."""
        try:
            await super().start_unsafe()
        except Exception:
            if self.status != Status.closed:
                raise
        return self


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
        guard = Guard()
    except OSError as error:
        raise SolverError(f"no Dask cluster can be started on this machine: {error}") from None
    settings = {"temporary-directory": guard.folder, "distributed.deploy.lost-worker-timeout": "1 day"}
    try:
        with dask.config.set(settings):  # a worker that is slow to come back is not given up
            try:
                cluster = distributed.LocalCluster(
                    n_workers=0,
                    threads_per_worker=1,
                    processes=True,
                    worker_class=PatientNanny,
                    dashboard_address=":0",  # any free port: None takes that of another cluster on this machine
                    scheduler_kwargs={"dashboard": False},
                    env={"TMPDIR": guard.folder},
                    memory_limit=0,  # the cells' own limits hold; a worker itself holds next to nothing
                    silence_logs=logging.CRITICAL,
                )
            except (OSError, RuntimeError) as error:
                raise SolverError(f"no Dask cluster can be started on this machine: {error}") from None
            try:
                cluster.sync(_keep_interrupts_away)
                cluster.scale(workers)
                yield cluster
            finally:
                _close(cluster)
    finally:
        guard.dismiss()


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
