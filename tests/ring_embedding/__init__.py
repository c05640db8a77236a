"""Tests of ring_embedding."""
