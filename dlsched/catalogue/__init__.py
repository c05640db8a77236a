"""Light records of what users can name: options, sources, solvers. Implementations are imported lazily, as "module:name"."""
