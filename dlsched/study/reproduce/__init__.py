"""Instances and methods of reproductions, whose import paths plans and stores name; see ``dlsched.reproduce``."""
