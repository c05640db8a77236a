"""Tests of the offline evaluator."""
