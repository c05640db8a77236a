"""GADGET as published, as a method for plans: without our repair, so its embeddings may break capacities."""

import numpy as np

from dlsched import ring_embedding
from dlsched.ring_embedding import Embedding, Instance


def gadget(instance: Instance, *, seed: int) -> Embedding:
    """Embed rings slot by slot as published; the checker rejects those that overuse a server or link."""
    return ring_embedding.gadget(instance, np.random.default_rng(seed), repair=False)
