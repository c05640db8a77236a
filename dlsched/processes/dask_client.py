"""A client of a Dask cluster: one that is started on this machine, or that of a scheduler."""

import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from dlsched.core.errors import InputError
from dlsched.core.imports import needing

if TYPE_CHECKING:
    from distributed import Client


CONNECT_S = 20.0
"""Seconds within which a scheduler has to answer."""


def connected(stack: contextlib.ExitStack, workers: int, scheduler: str | None) -> tuple["Client", Callable[[], bool]]:
    """Connect to a cluster until ``stack`` closes; also return a test whether all workers are lost.

    Without a ``scheduler``, a cluster of ``workers`` is started on this machine. ``SolverMissingError``: Dask is not installed.
    ``InputError``: no scheduler answers. ``SolverError``: no cluster can be started.
    """
    with needing("engine dask needs Dask", "dask"):
        import distributed  # noqa: F401  asked for before what needs it
    stack.enter_context(_silence())
    import dask

    from dlsched.processes.dask_cluster import CarefulClient, cluster_here, given_up

    stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}))
    if scheduler is None:
        cluster = stack.enter_context(cluster_here(workers))
        # by address: a client of the cluster object waits for workers, and Ctrl-C then breaks the cluster
        return stack.enter_context(CarefulClient(cluster.scheduler_address, direct_to_workers=True)), partial(
            given_up, cluster
        )
    try:
        return stack.enter_context(CarefulClient(scheduler, timeout=CONNECT_S)), lambda: False
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(
            where="scheduler", found=f"none that answers at {scheduler!r} ({reason})", allowed="a running one"
        ) from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence Dask's log within the block: rows and errors say all that matters."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
