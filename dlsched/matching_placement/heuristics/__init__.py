"""Heuristics: plain functions from an instance to a placement, and the counts of workers that they start from."""
