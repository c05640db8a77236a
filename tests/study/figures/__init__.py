"""Tests of ``dlsched.study.figures``."""
