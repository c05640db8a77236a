"""Tests of matching_placement, one file a room."""
