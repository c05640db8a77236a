"""The checker of proofs: exact, streaming, nothing of what finds proofs. Every word counts; all is compared with the model."""

from dlsched.proofs.checker.derivation import Proven, check_derivation
from dlsched.proofs.checker.verified import Verified, check_proof, check_words
from dlsched.proofs.checker.words import Words

__all__ = ["Proven", "Verified", "Words", "check_derivation", "check_proof", "check_words"]
