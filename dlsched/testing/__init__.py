"""Test your own heuristics with dlsched's instances: hypothesis strategies, brute force, and the contract of methods.

>>> from dlsched import ring_allocation
>>> from dlsched.testing import hold_to_contract
>>> hold_to_contract("ring_allocation", ring_allocation.doubling, examples=5)
"""

try:
    import hypothesis as _hypothesis
except ImportError:
    raise ImportError("dlsched.testing needs Hypothesis: pip install 'dlsched[testing]'") from None

from dlsched.testing.brute_force import brute_force
from dlsched.testing.brute_force_async import brute_force_async
from dlsched.testing.brute_force_placement import brute_force_placement
from dlsched.testing.brute_force_ring import brute_force_ring
from dlsched.testing.brute_force_srpt import brute_force_srpt
from dlsched.testing.brute_force_stream import brute_force_stream
from dlsched.testing.contract import check_method, hold_to_contract
from dlsched.testing.strategies import (
    INSTANCES,
    convex_instances,
    cost_tables,
    doubling_instances,
    elastic_stream_instances,
    ring_allocation_instances,
)
from dlsched.testing.strategies_async import async_sgd_instances
from dlsched.testing.strategies_placement import matching_placement_instances
from dlsched.testing.strategies_ring import ring_embedding_instances
from dlsched.testing.strategies_srpt import srpt_mapping_instances

del _hypothesis

__all__ = [
    "INSTANCES",
    "async_sgd_instances",
    "brute_force",
    "brute_force_async",
    "brute_force_placement",
    "brute_force_ring",
    "brute_force_srpt",
    "brute_force_stream",
    "check_method",
    "convex_instances",
    "cost_tables",
    "doubling_instances",
    "elastic_stream_instances",
    "hold_to_contract",
    "matching_placement_instances",
    "ring_allocation_instances",
    "ring_embedding_instances",
    "srpt_mapping_instances",
]
