"""Proofs of suprema."""
