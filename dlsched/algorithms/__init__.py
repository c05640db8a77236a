"""Allocation algorithms on plain arrays: a cost table and a capacity in, one count a job out."""
