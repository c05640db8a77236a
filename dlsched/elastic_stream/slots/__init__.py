"""Streams with ticks: plans of units by slot, and the exact search over the jobs' states, slot by slot."""
