"""How instances of studies come about: by a generator, from a file, by a function of the user's own, or by a search."""
