"""Tests of ``dlsched.study.plans``."""
