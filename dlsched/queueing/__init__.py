"""The closed queueing network that the workers and parameter servers of one job are, on plain numbers."""
