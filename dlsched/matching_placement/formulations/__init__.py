"""matching_placement as models: ``milp`` and ``assignment`` (PuLP), ``minlp`` (Pyomo). Libraries are imported on building."""
