"""Tests of ``dlsched.results``."""
