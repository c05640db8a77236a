"""Instances and methods of reproductions, at the paths that plans and stores name; see ``dlsched.reproduce``."""
