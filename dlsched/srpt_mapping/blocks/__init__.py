"""Blocks: groups of jobs that may overlap in time, solved separately."""
