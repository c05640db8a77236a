"""Tests of plans in hindsight."""
