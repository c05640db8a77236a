"""Tests of the prover."""
