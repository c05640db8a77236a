"""Readers of queues: real formats in small, and what damages them."""
