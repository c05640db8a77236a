"""Readers: from a file of a workload manager or of a public trace to a queue."""
