"""GADGET as the paper has it, a method of plans: without our repair, so that its embeddings may break capacities."""

import numpy as np

from dlsched import ring_embedding
from dlsched.ring_embedding import Embedding, Instance


def gadget(instance: Instance, *, seed: int) -> Embedding:
    """Embed rings slot by slot as published; the checker rejects an embedding that overuses a server or a link."""
    return ring_embedding.gadget(instance, np.random.default_rng(seed), repair=False)
