"""The checker of proofs: whole numbers and fractions only, nothing of what finds proofs, every word of the file read.

It is stricter than the format: each index once, whole right sides of a split, no rounding of rows with real variables,
no line of kind ``sol``, nothing after the end. The problem of a file must be the model of the instance, number for number.
"""

from dlsched.proofs.checker.derivation import Proven, check_derivation
from dlsched.proofs.checker.verified import Verified, check_proof
from dlsched.proofs.checker.words import Words

__all__ = ["Proven", "Verified", "Words", "check_derivation", "check_proof"]
