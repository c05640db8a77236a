"""Heuristics: GADGET, baselines, the slot greedy, and the plan that follows the relaxation."""
