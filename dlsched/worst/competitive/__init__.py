"""Proofs of how bad a policy of elastic_stream can be: a linear program for each order of events."""
