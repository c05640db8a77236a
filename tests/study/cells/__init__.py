"""Tests of ``dlsched.study.cells``."""
