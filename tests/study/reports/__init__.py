"""Tests of ``dlsched.study.reports``."""
