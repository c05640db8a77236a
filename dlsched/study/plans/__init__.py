"""Plans: what is compared, read from a file or made in Python, and the instances they describe."""
