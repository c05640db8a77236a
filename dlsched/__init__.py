"""dlsched: exact optima, bounds and published heuristics for allocating GPUs to deep-learning training jobs."""
