"""Queues of jobs that run to their end: the dispatcher, the rule by which jobs wait, annealing over orders, and predictions."""
