"""Instances and methods of reproductions, at paths that plans and stores name; see ``dlsched.reproduce``."""
