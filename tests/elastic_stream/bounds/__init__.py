"""Tests of the search for prices over time."""
