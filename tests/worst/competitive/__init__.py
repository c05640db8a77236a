"""Tests of the suprema of policies."""
