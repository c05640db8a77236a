"""Models of elastic_stream, one module each."""
