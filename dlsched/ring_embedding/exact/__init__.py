"""Exact methods: the search over the horizon, and models that a solver takes whole."""
