"""Tests of the recipes of instances."""
