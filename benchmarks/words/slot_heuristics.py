"""What the study ``slot_heuristics`` found: G-VNE as published and repaired over the optimum of a slot, by kind and jobs."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from cases import shown

from dlsched.core.arrays import FloatArray
from dlsched.core.messages import listed
from dlsched.reproduce.gadget import OVER_OPTIMUM, shape_of
from dlsched.ring_embedding import Instance, checker
from dlsched.ring_embedding.heuristics.slot_greedy import Progress, g_vne
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

COLUMNS = (
    "jobs; optimum; proven; LP tight; as published; draws that overuse; server use: mean, most; link use: mean, most; repaired; "
    "least; the paper's"
)


class Slot(NamedTuple):
    """One instance: its optimum or bound, whether it is proven and the LP's, and by draw shares of it and use."""

    optimum: float
    proven: bool
    tight: bool
    published: FloatArray
    repaired: FloatArray
    servers: FloatArray
    links: FloatArray


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    found: dict[str, dict[int, list[Slot]]] = {}
    for _, (exact, *draws) in groupby(rows, key=lambda row: row.instance):
        jobs, servers, _ = shape_of(exact)
        kind = found.setdefault(f"`{exact.preset}` on {servers} servers", {})
        kind.setdefault(jobs, []).append(_slot(study.instance(exact.key), exact, draws))
    return {
        "kinds": "\n".join(
            _kind(name, _together([slot for each in sizes.values() for slot in each])) for name, sizes in found.items()
        ),
        "paper": listed([f"{share} at {jobs} jobs" for jobs, share in OVER_OPTIMUM.items()]),
        "tables": "\n".join(f"## {name}\n\n{_table(sizes)}" for name, sizes in found.items()),
    }


def _slot(instance: Instance, exact: Row, repaired: Sequence[Row]) -> Slot:
    """Draw again as published, on the side: what overuses a server is no solution, and has no utility in a row."""
    nothing = math.fsum(checker.worth(job, 0) for job in instance.jobs)
    optimum, proven = (exact.bound or 0.0) - nothing, exact.status == "optimal"
    network = Network(instance)
    progress, program = Progress(network), MappingProgram(network)
    gains = {job: gain for job in progress.available(1) if (gain := progress.gains(job)).max() > 0}
    draws = [g_vne(network, gains, np.random.default_rng(draw), program=program) for draw in range(len(repaired))]
    return Slot(
        optimum,
        proven,
        proven and draws[0].bound <= optimum * (1 + 1e-5),
        np.array([each.drawn for each in draws]) / optimum,
        (np.array([row.objective for row in repaired]) - nothing) / optimum,
        np.array([each.capacity for each in draws]),
        np.array([each.bandwidth for each in draws]),
    )


def _together(slots: Sequence[Slot]) -> Slot:
    """Figures of all, each with an axis more."""
    return Slot(*map(np.array, zip(*slots, strict=True)))


def _over(slots: Slot) -> str:
    return f"{(np.maximum(slots.servers, slots.links) > 1 + 1e-9).mean():.0%}"


def _kind(name: str, slots: Slot) -> str:
    return (
        f"- {name}: as published {slots.published.mean():.3f} of the slot optimum, {_over(slots)} of the draws overuse a server "
        f"(up to {slots.servers.max():.1f} times) or a link (up to {slots.links.max():.1f} times); "
        f"repaired {slots.repaired.mean():.3f}; the linear program's value is the optimum in {slots.tight.sum()} of "
        f"{len(slots.tight)} slots."
    )


def _table(sizes: Mapping[int, Sequence[Slot]]) -> str:
    table = []
    for jobs, of in sizes.items():
        slots = _together(of)
        table.append(
            [
                *(str(jobs), f"{slots.optimum.mean():.1f}"),
                *(f"{each.sum()} of {len(of)}" for each in (slots.proven, slots.tight)),
                *(shown(slots.published.mean(axis=1), digits=3), _over(slots)),
                *(f"{each.mean():.2f}, {each.max():.2f}" for each in (slots.servers, slots.links)),
                *(shown(slots.repaired.mean(axis=1), digits=3), f"{slots.repaired.mean(axis=1).min():.3f}"),
                str(OVER_OPTIMUM.get(jobs, "-")),
            ]
        )
    return markdown_table(COLUMNS.split("; "), table)
