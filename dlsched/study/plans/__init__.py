"""Plans of studies, read from a file or made in Python: instances, methods, limits and reference."""
