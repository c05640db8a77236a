"""Proofs of optima that programs of others check: the format VIPR 1.0, a prover and a checker that share nothing."""
