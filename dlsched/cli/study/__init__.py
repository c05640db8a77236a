"""``dlsched study``: a module for each of its commands."""
