"""Tests of elastic_stream, one file a room."""
