"""Limits that all simulations share."""

BARREN = 10_000
"""Periods without progress in a row, after which a policy is taken never to finish."""
IDLE = 1e-6
"""Of a period: it ended in its pause if no more of it came after that."""
FEW = 64
"""Entries of jobs that changed, which the heap of ends may hold besides as many as the others."""
