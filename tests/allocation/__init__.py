"""Tests of dlsched.allocation, on a toy of two jobs."""
