"""dlsched: exact optima, bounds and published heuristics for allocating GPUs to deep-learning training jobs.

A family, and all else that stands here, is imported when it is first asked for.

>>> import dlsched
>>> result = dlsched.solve(dlsched.ring_allocation.example())
>>> str(result.status)
'optimal'
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dlsched.version import VERSION

if TYPE_CHECKING:
    from dlsched import (
        async_sgd,
        elastic_stream,
        matching_placement,
        ring_allocation,
        ring_embedding,
        srpt_mapping,
        study,
    )
    from dlsched.comparison.comparison import Comparison, compare
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
    from dlsched.core.result import Result, Violation
    from dlsched.core.status import Sense, TerminationStatus
    from dlsched.evaluation.whatif import WhatIf, whatif
    from dlsched.families import FAMILIES, check, generate, read, read_result, verify, write
    from dlsched.listing import methods, presets
    from dlsched.modelling import formulate
    from dlsched.proofs.proof import Proof, prove
    from dlsched.scoring import Judge, Score, score
    from dlsched.solving import bound, solve
    from dlsched.worst.search import find_worst

__version__ = VERSION

__all__ = [
    "FAMILIES",
    "Comparison",
    "DisagreementError",
    "DlschedError",
    "InputError",
    "InstanceError",
    "Judge",
    "Limits",
    "PolicyError",
    "Progress",
    "Proof",
    "Result",
    "Score",
    "Sense",
    "SolverError",
    "SolverMissingError",
    "TerminationStatus",
    "UsageError",
    "Violation",
    "WhatIf",
    "__version__",
    "async_sgd",
    "bound",
    "check",
    "compare",
    "elastic_stream",
    "find_worst",
    "formulate",
    "gap",
    "generate",
    "matching_placement",
    "methods",
    "presets",
    "prove",
    "ratio",
    "read",
    "read_result",
    "ring_allocation",
    "ring_embedding",
    "score",
    "solve",
    "srpt_mapping",
    "study",
    "verify",
    "whatif",
    "write",
]

_HOMES = {
    "dlsched.core.errors": [name for name in __all__ if name.endswith("Error")],
    "dlsched.core.gap": ["gap", "ratio"],
    "dlsched.core.limits": ["Limits", "Progress"],
    "dlsched.core.result": ["Result", "Violation"],
    "dlsched.core.status": ["Sense", "TerminationStatus"],
    "dlsched.comparison.comparison": ["Comparison", "compare"],
    "dlsched.evaluation.whatif": ["WhatIf", "whatif"],
    "dlsched.families": ["FAMILIES", "check", "generate", "read", "read_result", "verify", "write"],
    "dlsched.listing": ["methods", "presets"],
    "dlsched.modelling": ["formulate"],
    "dlsched.proofs.proof": ["Proof", "prove"],
    "dlsched.scoring": ["Judge", "Score", "score"],
    "dlsched.solving": ["bound", "solve"],
    "dlsched.worst.search": ["find_worst"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = {*__all__, "core", "families"} - {*_HOME, "__version__"}


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES or name in import_module("dlsched.catalogue.families").FAMILIES:
        value = import_module(f"dlsched.{name}")
    else:
        raise AttributeError(f"module 'dlsched' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
