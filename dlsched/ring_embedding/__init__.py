"""ring_embedding: rings of all-reduce jobs in a network, slot by slot (GADGET, Yu et al., INFOCOM 2022)."""

import pathlib
from collections.abc import Sequence

from dlsched.catalogue.ring_embedding import LISTED
from dlsched.cluster.network import Link, Node, Path
from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.core.family import Family
from dlsched.ring_embedding.bounds import columns
from dlsched.ring_embedding.checker import check, figures, infeasible, objective, worker_slots, worth
from dlsched.ring_embedding.formulations.circuit import build_circuit
from dlsched.ring_embedding.formulations.linear import build_arc, build_span
from dlsched.ring_embedding.generator import example, generate
from dlsched.ring_embedding.heuristics.baselines import density, drf, fifo, las
from dlsched.ring_embedding.heuristics.slot_greedy import g_vne, gadget, slot_greedy
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.objectives import MAX_MIN, NET, SUM, aggregated, horizon, objective_of, plan
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.exact_slot import best_slot
from dlsched.ring_embedding.solution import Embedding, Ring

__all__ = [
    "Capped",
    "Embedding",
    "Instance",
    "Job",
    "Link",
    "Log",
    "Network",
    "Node",
    "Path",
    "Ring",
    "Sigmoid",
    "Slot",
    "Sqrt",
    "aggregated",
    "best_slot",
    "build_arc",
    "build_circuit",
    "build_span",
    "check",
    "columns",
    "density",
    "drf",
    "example",
    "fifo",
    "g_vne",
    "gadget",
    "generate",
    "horizon",
    "las",
    "objective",
    "plan",
    "slot_greedy",
    "solve",
    "worker_slots",
    "worth",
]


def draw(
    instance: Instance, answers: Sequence[tuple[str, Embedding]], path: pathlib.Path, width_in: float
) -> pathlib.Path:
    """Draw labelled embeddings, one below the other."""
    from dlsched.plots import SlotRow, draw_slots

    rows = []
    for label, embedding in answers:
        rings: dict[str, dict[int, tuple[int, int]]] = {}
        for slot, in_slot in embedding.slots.items():
            for job, ring in in_slot.items():
                rings.setdefault(job, {})[slot] = sum(ring.workers.values()), len(ring.order)
        rows.append(SlotRow(label, rings, objective(instance, embedding)))
    arrivals = {job.id: job.arrival_slot for job in instance.jobs}
    return draw_slots(rows, path, slots=instance.slots, arrivals=arrivals, title=instance.name, width=width_in)


FAMILY = Family(
    **LISTED.stated(),
    summary="rings in a network, slot by slot",
    objectives=[SUM, NET, MAX_MIN],
    objective_of=objective_of,
    infeasible=infeasible,
    best_bound="bound",
    gpus=lambda instance: int(sum(node.capacity.get("gpu", 0) for node in instance.nodes if node.capacity)) or None,
    figures=figures,
    draw=draw,
)

solve = FAMILY.solve
