"""Reading of result files, and their verification without trust in them."""
