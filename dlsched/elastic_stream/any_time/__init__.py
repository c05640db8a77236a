"""Exact searches for streams whose units may change at any time."""
