"""Readers of files of workload managers and of public traces, which make queues of them."""
