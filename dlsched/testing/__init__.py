"""Test your own heuristics: instances by hypothesis, brute force, and the contract of methods.

>>> from dlsched import ring_allocation
>>> from dlsched.testing import hold_to_contract
>>> hold_to_contract("ring_allocation", ring_allocation.doubling, examples=5)
"""

from dlsched.core.imports import needing

with needing("dlsched.testing needs Hypothesis", "testing"):
    import hypothesis as _hypothesis

from dlsched.core.family import Guarantee
from dlsched.testing.async_sgd import async_sgd_instances, brute_force_async
from dlsched.testing.cases import CASES, Case, cost_tables
from dlsched.testing.contract import check_method, hold_to_contract
from dlsched.testing.elastic_stream import brute_force_stream, elastic_stream_instances
from dlsched.testing.factor import hold_to_bound
from dlsched.testing.matching_placement import brute_force_placement, matching_placement_instances
from dlsched.testing.ring_allocation import (
    brute_force_allocation,
    convex_instances,
    doubling_instances,
    ring_allocation_instances,
)
from dlsched.testing.ring_embedding import brute_force_max_min, brute_force_ring, ring_embedding_instances
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

del _hypothesis, needing

brute_force = brute_force_allocation

INSTANCES = {family: case.instances for family, case in CASES.items()}
"""Strategies of instances small enough for brute force, by family."""

__all__ = [
    "CASES",
    "INSTANCES",
    "Case",
    "Guarantee",
    "async_sgd_instances",
    "brute_force",
    "brute_force_allocation",
    "brute_force_async",
    "brute_force_max_min",
    "brute_force_placement",
    "brute_force_ring",
    "brute_force_srpt",
    "brute_force_stream",
    "check_method",
    "convex_instances",
    "cost_tables",
    "doubling_instances",
    "elastic_stream_instances",
    "hold_to_bound",
    "hold_to_contract",
    "matching_placement_instances",
    "ring_allocation_instances",
    "ring_embedding_instances",
    "srpt_mapping_instances",
]
