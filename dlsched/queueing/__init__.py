"""Closed queueing networks of the workers and parameter servers of one job, on plain numbers."""
