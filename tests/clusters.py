"""Clusters of Dask in the process of the tests."""

import logging
import warnings
from multiprocessing import resource_tracker
from typing import Any

import pytest


def two_workers(**scheduler: int) -> Any:
    """A cluster of two workers, which are started again when they die; ``scheduler``: arguments of its scheduler."""
    distributed = pytest.importorskip("distributed")
    # Tests that end all descendants of this process end its tracker, too, which multiprocessing then replaces with a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resource_tracker.ensure_running()
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        memory_limit=0,
        scheduler_kwargs={"dashboard": False} | scheduler,
    )
