"""A package, so that files of the same name in other folders do not clash."""
