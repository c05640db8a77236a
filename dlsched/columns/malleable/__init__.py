"""Malleable jobs at prices of units over time, on plain arrays: the cheapest way of each, at any time or slot by slot."""
