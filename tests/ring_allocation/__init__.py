"""Tests of ring_allocation."""
