"""max_min: the least utility as large as possible, then the next one, and so on."""
