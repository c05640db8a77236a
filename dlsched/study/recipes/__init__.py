"""Recipes of instances: by a generator, from a file or trace, by a user's function, or by a search."""
