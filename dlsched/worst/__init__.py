"""Worst instances of heuristics: searched from a seed, shrunk until a person can read them, proven where a program can."""
