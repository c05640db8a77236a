"""Instances and methods of reproductions that plans and stores name by these paths; what they report is ``dlsched.reproduce``."""
