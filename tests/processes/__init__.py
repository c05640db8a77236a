"""Tests of ``dlsched.processes``."""
