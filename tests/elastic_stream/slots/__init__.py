"""Tests of the search over slots."""
