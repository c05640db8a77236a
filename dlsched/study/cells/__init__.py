"""Cells: an instance and a method each, run in processes that are held to their limits from outside."""
