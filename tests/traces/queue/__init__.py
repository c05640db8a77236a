"""Queues of clusters: what rules keep, what moments hold, and what is not to be read."""
