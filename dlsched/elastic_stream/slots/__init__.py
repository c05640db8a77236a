"""Streams with ticks, slot by slot: plans of units by slot, and the exact search over the states that jobs can be in."""
