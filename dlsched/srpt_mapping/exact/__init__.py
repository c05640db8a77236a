"""Exact methods: blocks closed by two searches in turns, by CP-SAT alone, or all at once by a linear program."""
