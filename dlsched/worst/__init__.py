"""Worst instances of heuristics: found by a seeded search, shrunk to be readable, proven by programs."""
