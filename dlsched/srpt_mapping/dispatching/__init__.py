"""Queues of jobs that run to their end: dispatcher, waiting rule, annealing over orders, and predictions."""
