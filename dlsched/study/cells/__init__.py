"""Cells of a study: each is a method on an instance, run in a process whose limits a supervisor enforces."""
