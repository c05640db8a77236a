"""Traces: readers, queues, and the instances made of them."""
