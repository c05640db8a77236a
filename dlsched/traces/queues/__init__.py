"""Queues of clusters: what their workload managers have recorded, read into one form, and made instances of."""
