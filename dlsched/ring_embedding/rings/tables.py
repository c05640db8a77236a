"""Tables of the jobs' utilities over worker-slots."""

from collections.abc import Sequence

import numpy as np

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.core.errors import UsageError
from dlsched.ring_embedding.instance import Job

LARGEST = 2**23
"""Largest number of worker-slots of all jobs in tables: 64 MB, and as much for each of a few copies."""


def utility_table(job: Job, total: int) -> UtilityTable:
    """Tabulate mu_i(zeta_i z) for z = 0 .. ``total`` worker-slots."""
    x = job.rate * np.arange(total + 1, dtype=np.float64)
    values = job.utility.values(x)
    return UtilityTable(values, job.utility.error(float(values[-1])), job.utility.concave)


def utility_tables(jobs: Sequence[Job], totals: Sequence[int]) -> list[UtilityTable]:
    """One table per job, of the most worker-slots that it can have; UsageError: more than ``LARGEST`` in all."""
    count = sum(totals)
    if count > LARGEST:
        raise UsageError(found=f"jobs that can have {count} worker-slots or more in all", allowed=f"up to {LARGEST}")
    return [utility_table(job, total) for job, total in zip(jobs, totals, strict=True)]
