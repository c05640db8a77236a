"""Small instances of matching_placement."""

import numpy as np

from dlsched import matching_placement


def small(preset: str, seed: int) -> matching_placement.Instance:
    """Draw 3 to 8 jobs and 6 to 24 workers, never fewer than jobs, all alike."""
    generator = np.random.default_rng(seed)
    jobs = int(generator.integers(3, 9))
    gpus = int(generator.integers(max(6, jobs), 25))
    return matching_placement.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
