"""Limits that all simulations share."""

BARREN = 10_000
"""Number of periods in a row without progress after which the simulator concludes that the policy never
finishes."""
IDLE = 1e-6
"""Share of a period: it ended in its pause if no more than this share came after the pause."""
FEW = 64
"""Outdated entries that the heap of ends may hold, besides as many as there are valid ones."""
