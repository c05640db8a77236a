"""Models as objects, and complete models held against brute force."""
