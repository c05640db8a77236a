"""Tests of ``dlsched.plots``."""
