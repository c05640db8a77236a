"""How far from the best placement of one job Heavy-Edge is, and how fast the best one is proven.

Protocol: jobs are chains drawn by turns (four stages of 8 replicas, eight of 4, sixteen of 2, 32 of 1, one of 32, or mixed
ones of 4 to 32 GPUs), compute .05 to .3 s, activations of 4 MB to 300 MB, parameters of 10 to 800 MB, all of our choice;
b_in 300 GB/s, NICs of 3, 12.5 or 50 GB/s. Servers: by turns empty ones of 8 GPUs, ones of 8 GPUs of which 0 to 8 are free,
and empty ones of 1, 2, 4 or 8. CP-SAT proves the best placement (one thread, limit 60 s). Ratios are seconds of an
iteration over those of the best placement. Times are of one run, Heavy-Edge's without its memory of earlier jobs.

    python benchmarks/heavy_edge.py            # writes benchmarks/results/heavy_edge.md
    python benchmarks/heavy_edge.py --quick    # small, no file
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched.cluster.grouping import grouped, improved
from dlsched.cluster.job_graph import JobGraph
from dlsched.core.limits import Limits
from dlsched.srpt_mapping import Instance, Servers, best_placement, compact, heavy_edge

INSIDE = 3e11
NICS = (3e9, 1.25e10, 5e10)
SHAPES = ((8,) * 4, (4,) * 8, (2,) * 16, (1,) * 32, (32,))
SERVERS = ("8 GPUs, empty", "8 GPUs, some busy", "1 to 8 GPUs, empty")


@dataclass
class Case:
    """A job, servers with free GPUs, and what was found; seconds an iteration and seconds of work."""

    graph: JobGraph
    servers: Servers
    kind: str
    proven: bool
    best_s: float
    proof_s: float
    heavy_s: float
    heavy_work_s: float
    compact_s: float


def drawn_job(generator: np.random.Generator, turn: int) -> JobGraph:
    """A chain of stages."""
    replicas = list(SHAPES[turn % 6]) if turn % 6 < 5 else []
    left = 0 if replicas else int(generator.integers(4, 33))
    while left:
        count = min(left, int(generator.choice([1, 2, 3, 4, 6, 8])))
        replicas.append(count)
        left -= count
    stages = len(replicas)
    outputs = [*generator.choice([4e6, 6.4e7, 3e8], size=stages - 1).tolist(), 0.0]
    compute, parameters = generator.uniform(0.05, 0.3, stages), generator.uniform(1e7, 8e8, stages)
    return JobGraph(tuple(replicas), tuple(compute.tolist()), tuple(outputs), tuple(parameters.tolist()))


def drawn_servers(generator: np.random.Generator, turn: int, gpus: int, nic: float) -> Servers:
    """Servers that hold so many GPUs."""
    sizes = [8] * 16 if turn % 3 < 2 else generator.choice([1, 2, 4, 8], size=24).tolist()
    stage = {"replicas": 1, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}
    instance = Instance(
        name="servers",
        intra_bandwidth_bytes_per_s=INSIDE,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=[{"id": "j", "release_s": 0.0, "iterations": 1.0, "stages": [stage]}],
    )
    servers = Servers(instance)
    if turn % 3 == 1:
        free = generator.integers(0, 9, size=len(sizes)).tolist()
        servers.free[:] = free if sum(free) >= gpus else [4] * 16
        servers.total = sum(servers.free)
    return servers


def solved(generator: np.random.Generator, turn: int) -> Case:
    """Draw a case and solve it."""
    graph = drawn_job(generator, turn)
    servers = drawn_servers(generator, int(generator.integers(3)), graph.gpus, float(generator.choice(NICS)))
    kind = SERVERS[0 if len(set(servers.free)) == 1 and servers.free[0] == 8 else 2 if len(servers.free) == 24 else 1]
    if servers.total < graph.gpus:
        return solved(generator, turn)
    grouped.cache_clear()
    improved.cache_clear()
    began = time.perf_counter()
    placed = heavy_edge(graph, servers)
    heavy_work_s = time.perf_counter() - began
    began = time.perf_counter()
    best = best_placement(graph, servers.free, servers.shares, INSIDE, start=placed, limits=Limits(time_s=60.0))
    proof_s = time.perf_counter() - began
    assert best.iteration_s is not None
    assert best.bound_s is not None
    return Case(
        graph,
        servers,
        kind,
        best.iteration_s <= best.bound_s * (1 + 1e-6),
        best.iteration_s,
        proof_s,
        servers.iteration_s(graph, placed),
        heavy_work_s,
        servers.iteration_s(graph, compact(graph, servers)),
    )


def ratio_row(name: str, ratios: list[float]) -> list[str]:
    """Distribution of ratios, as a row."""
    cuts = np.quantile(ratios, [0.5, 0.75, 0.9, 0.99, 1.0])
    best = sum(ratio <= 1 + 1e-6 for ratio in ratios) / len(ratios)
    return [name, str(len(ratios)), f"{100 * best:.0f} %", f"{np.mean(ratios):.3f}", *(f"{cut:.3f}" for cut in cuts)]


def page(cases: list[Case]) -> str:
    """Write the page."""
    held = [case for case in cases if case.proven]
    rows = []
    for kind in (*SERVERS, "all"):
        chosen = [case for case in held if kind in (case.kind, "all")]
        if chosen:
            rows.append(ratio_row(f"Heavy-Edge, {kind}", [case.heavy_s / case.best_s for case in chosen]))
            rows.append(ratio_row(f"compact, {kind}", [case.compact_s / case.best_s for case in chosen]))
    columns = ("rule, servers", "cases", "is the best", "mean ratio", "median", "75 %", "90 %", "99 %", "worst")
    large = [case.proof_s for case in held if case.graph.gpus == 32 and len(case.servers.free) == 16]
    worst = max(held, key=lambda case: case.heavy_s / case.best_s)
    work = statistics.median(case.proof_s / case.heavy_work_s for case in held)
    free = ", ".join(map(str, worst.servers.free))
    return (
        "# Heavy-Edge against the best placement of one job\n\n"
        "Seconds of an iteration over those of the best placement; the protocol stands in `benchmarks/heavy_edge.py`.\n\n"
        + markdown(columns, rows)
        + f"\nProven: {len(held)} of {len(cases)} cases. Jobs of 32 GPUs on 16 servers: {len(large)} cases, proof in "
        f"{statistics.median(large):.2f} s in the median, {max(large):.2f} s at most (bar: 10 s). A proof takes "
        f"{work:,.0f} times as long as Heavy-Edge in the median.\n\n"
        f"The worst case of Heavy-Edge, {worst.heavy_s / worst.best_s:.2f} times the best: replicas "
        f"{worst.graph.replicas}, free GPUs {free} ({worst.kind}).\n\n"
        f"Command: `python benchmarks/heavy_edge.py`. Machine: {machine()}.\n"
    )


def main() -> None:
    """Run and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    generator = np.random.default_rng(0)
    cases = [solved(generator, turn) for turn in range(24 if quick else 500)]
    text = page(cases)
    print(text)
    if not quick:
        (Path(__file__).parent / "results" / "heavy_edge.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
