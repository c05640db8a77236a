"""Writes proofs of the optima of mixed-integer linear models: floats propose, whole numbers prove."""
