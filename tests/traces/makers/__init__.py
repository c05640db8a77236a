"""Instances that are made of queues, a family each."""
