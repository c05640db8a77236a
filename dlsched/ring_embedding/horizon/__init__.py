"""All slots: the relaxation without rings, column generation with them, and totals of S-shaped utilities."""
