"""Proofs of how bad an allocation heuristic can be: linear programs over the sequences of its decisions."""

from dlsched.worst.proving.ordering import Bounded, bound_by_order
from dlsched.worst.proving.proven import Proven, prove
from dlsched.worst.proving.verification import Verified, verify

__all__ = ["Bounded", "Proven", "Verified", "bound_by_order", "prove", "verify"]
