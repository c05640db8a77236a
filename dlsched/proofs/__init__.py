"""Proofs of optima in VIPR 1.0, which programs of others check too."""
