"""Jobs that may meet, as blocks that are decided apart."""
