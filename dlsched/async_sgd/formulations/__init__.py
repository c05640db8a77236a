"""async_sgd written as a model: ``milp`` (PuLP). The library is imported when it is built."""
