"""Configurations: how many workers of each type a job gets; listed, priced, and searched for the best of all jobs."""
