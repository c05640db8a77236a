"""Search spaces of the families, one module each, whose ``space_of`` makes the space."""
