"""Tests of the command line; a package, so that a test of the same name elsewhere does not collide."""
