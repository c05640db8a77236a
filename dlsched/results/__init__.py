"""Result files: read, and verified without trusting them."""
