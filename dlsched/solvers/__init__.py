"""Solvers, one call each: a model in, an ``Outcome`` out. Independent of families; imported on first use."""
