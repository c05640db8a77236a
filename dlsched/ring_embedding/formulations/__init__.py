"""Mathematical programs of ring_embedding; their rows are those of models/ring_embedding/README.md."""
