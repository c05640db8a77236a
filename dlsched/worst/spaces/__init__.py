"""The spaces of the families, one module each: ``space_of`` makes it."""
