"""Pictures of embeddings: how many workers each job has in each slot."""

from collections.abc import Sequence
from pathlib import Path

from dlsched.ring_embedding.checker import objective
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.solution import Embedding


def draw(instance: Instance, answers: Sequence[tuple[str, Embedding]], path: Path, width_in: float) -> Path:
    """Draw labelled embeddings, one below the other."""
    from dlsched.plots import SlotRow, draw_slots

    rows = []
    for label, embedding in answers:
        rings: dict[str, dict[int, tuple[int, int]]] = {}
        for slot, held in embedding.slots.items():
            for job, ring in held.items():
                rings.setdefault(job, {})[slot] = sum(ring.workers.values()), len(ring.order)
        rows.append(SlotRow(label, rings, objective(instance, embedding)))
    arrivals = {job.id: job.arrival_slot for job in instance.jobs}
    return draw_slots(rows, path, slots=instance.slots, arrivals=arrivals, title=instance.name, width=width_in)
