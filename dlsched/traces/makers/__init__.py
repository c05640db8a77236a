"""Makers of instances from queues, one module for each family that supports it."""
