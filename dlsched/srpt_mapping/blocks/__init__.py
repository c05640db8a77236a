"""Jobs that may meet, as blocks that are decided apart, and our own search over the starts of a block."""
