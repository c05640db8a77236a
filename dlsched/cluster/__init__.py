"""Cluster words: all-reduce costs, job speeds and the curves fitted to measurements."""
