"""Advice, held to cases by hand and to brute force."""
