"""Algorithms on plain arrays and numbers; they know no family."""
