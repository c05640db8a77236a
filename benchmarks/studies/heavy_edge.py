"""One job on servers with free GPUs, and its placements: by a rule, and the best one that CP-SAT proves.

An instance is the job of one iteration on whole servers; the methods leave alone the GPUs that are busy in its case.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dlsched.core.limits import Limits
from dlsched.srpt_mapping import Instance, Schedule, Servers, best_placement, compact, heavy_edge

INSIDE = 3e11
NICS = (3e9, 1.25e10, 5e10)
SHAPES = ((8,) * 4, (4,) * 8, (2,) * 16, (1,) * 32, (32,))
KINDS = ("8 GPUs, empty", "8 GPUs, some busy", "1 to 8 GPUs, empty")
FREE = "free GPUs of the servers: "
RULES = {"heavy-edge": heavy_edge, "compact": compact}


class Case(NamedTuple):
    """What is drawn: the job's stages, GPUs of the servers, those free, and the bandwidth of their network cards."""

    kind: str
    stages: list[dict[str, Any]]
    sizes: list[int]
    free: list[int]
    nic: float


def _drawn(generator: np.random.Generator, turn: int) -> Case:
    replicas = list(SHAPES[turn % 6]) if turn % 6 < 5 else []
    left = 0 if replicas else int(generator.integers(4, 33))
    while left:
        replicas.append(min(left, int(generator.choice([1, 2, 3, 4, 6, 8]))))
        left -= replicas[-1]
    outputs = [*generator.choice([4e6, 6.4e7, 3e8], size=len(replicas) - 1).tolist(), 0.0]
    compute, parameters = (generator.uniform(*ends, len(replicas)).tolist() for ends in ((0.05, 0.3), (1e7, 8e8)))
    kind, nic = int(generator.integers(3)), float(generator.choice(NICS))
    sizes = [8] * 16 if kind < 2 else sorted(generator.choice([1, 2, 4, 8], size=24).tolist())
    free = list(sizes)
    if kind == 1:
        free = generator.integers(0, 9, size=16).tolist()
        free = free if sum(free) >= sum(replicas) else [4] * 16
    names = ("replicas", "compute_s", "output_bytes", "parameter_bytes")
    stages = [dict(zip(names, each, strict=True)) for each in zip(replicas, compute, outputs, parameters, strict=True)]
    return Case(KINDS[kind], stages, sizes, free, nic) if sum(free) >= sum(replicas) else _drawn(generator, turn)


@cache
def cases() -> list[Case]:
    """All cases, which one generator draws one after another."""
    generator = np.random.default_rng(0)
    return [_drawn(generator, turn) for turn in range(500)]


def case(*, servers: str, seed: int) -> Instance:
    """The case number ``seed`` of those with such servers."""
    turn = [index for index, each in enumerate(cases()) if each.kind == servers][seed]
    drawn = cases()[turn]
    return Instance(
        name=f"case-{turn}",
        source=f"{FREE}{', '.join(map(str, drawn.free))}",
        intra_bandwidth_bytes_per_s=INSIDE,
        nic_bandwidth_bytes_per_s=drawn.nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(drawn.sizes)],
        jobs=[{"id": "j", "release_s": 0.0, "iterations": 1.0, "stages": drawn.stages}],
    )


def _servers(instance: Instance) -> Servers:
    """The servers of a case with what is free of them."""
    servers = Servers(instance)
    servers.free[:] = map(int, str(instance.source).removeprefix(FREE).split(", "))
    servers.total = sum(servers.free)
    return servers


def by_rule(instance: Instance, *, rule: str) -> Schedule:
    """Place the job by a rule."""
    servers = _servers(instance)
    return Schedule({"j": (0.0, servers.named(RULES[rule](instance.jobs[0].graph, servers)))})


def best(instance: Instance) -> Schedule | None:
    """The best placement, None where it is not proven."""
    servers, graph = _servers(instance), instance.jobs[0].graph
    start = heavy_edge(graph, servers)
    found = best_placement(graph, servers.free, servers.shares, INSIDE, start=start, limits=Limits(time_s=60.0))
    if found.iteration_s is None or found.bound_s is None or found.iteration_s > found.bound_s * (1 + 1e-6):
        return None
    assert found.placed is not None
    return Schedule({"j": (0.0, servers.named(found.placed))})
