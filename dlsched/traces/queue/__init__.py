"""Queues of clusters: jobs recorded by workload managers, rules for keeping jobs, snapshots of a queue."""
