"""Tests of srpt_mapping, one file a room."""
