"""ring_allocation written as models: ``milp`` (PuLP) and ``minlp`` (Pyomo). The libraries are imported when one is built."""
