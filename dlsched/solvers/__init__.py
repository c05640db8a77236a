"""Solvers behind one call each: a model in, an ``Outcome`` out. They know no family; each is imported when it is used."""
