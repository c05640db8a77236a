"""Tests of async_sgd."""
