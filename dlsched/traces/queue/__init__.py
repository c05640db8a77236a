"""Queues of clusters: the jobs that workload managers have recorded, the rules by which jobs are kept, and moments of a queue."""
