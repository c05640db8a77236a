"""Tests of dlsched.testing."""
