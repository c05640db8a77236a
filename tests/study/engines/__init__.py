"""Tests of ``dlsched.study.engines``."""
