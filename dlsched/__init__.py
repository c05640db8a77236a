"""dlsched: exact optima, bounds and published heuristics for allocating GPUs to deep-learning training jobs.

>>> from dlsched import ring_allocation
>>> result = solve(ring_allocation.example())
>>> str(result.status)
'optimal'
"""

from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping
from dlsched.core.errors import (
    DisagreementError,
    DlschedError,
    InputError,
    InstanceError,
    PolicyError,
    SolverError,
    SolverMissingError,
    UsageError,
)
from dlsched.core.gap import gap, ratio
from dlsched.core.limits import Limits, Progress
from dlsched.core.result import Result
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.violation import Violation
from dlsched.families import FAMILIES, check, read, solve, verify, write
from dlsched.version import VERSION

__version__ = VERSION

__all__ = [
    "FAMILIES",
    "DisagreementError",
    "DlschedError",
    "InputError",
    "InstanceError",
    "Limits",
    "PolicyError",
    "Progress",
    "Result",
    "Sense",
    "SolverError",
    "SolverMissingError",
    "TerminationStatus",
    "UsageError",
    "Violation",
    "__version__",
    "async_sgd",
    "check",
    "elastic_stream",
    "gap",
    "matching_placement",
    "ratio",
    "read",
    "ring_allocation",
    "ring_embedding",
    "solve",
    "srpt_mapping",
    "verify",
    "write",
]
