"""Time ``intervals`` beside the same idea in forty plain lines of CP-SAT.

Plain: an optional interval for every layout of a job, a cumulative constraint for every server, least sum of ends; times are
rounded to whole multiples of a horizon over 2^11, 2^14 or 2^20. Its speed depends much on that unit, so all three run, and the
best counts: the soonest proof, else the least sum of flow times. CP-SAT is as it comes, with one thread. Nothing else is
like ours: its sums are of rounded times, 2^-11 of a horizon can be .1 % of a sum, and prove nothing of the true ones. Listing
the layouts is part of the time of both. Where runs end at the limit, sums are what to compare. Ratios are ours over plain.
"""

import argparse
import math
import time

from against import warm
from ortools.sat.python import cp_model
from table import machine, markdown

from dlsched import srpt_mapping
from dlsched.core.limits import Limits
from dlsched.srpt_mapping.layouts import layouts, lengths_s

CASES = [
    *(("mixed", 6, 8, seed, 3.0) for seed in range(6)),
    *(("mixed", 10, 16, seed, 2.0) for seed in (2, 3)),
    *(("published", 8, 16, seed, 2.0) for seed in range(3)),
    *(("data-parallel", 20, 8, seed, 3.0) for seed in range(3)),
]
"""Preset, jobs, GPUs, seed and load."""


BITS = (11, 14, 20)
"""Of the horizon in units of time of the plain model."""


def plain(instance: srpt_mapping.Instance, limit_s: float, bits: int) -> tuple[float, bool]:
    """Sum of flow times, infinite without an answer, and whether it is proven."""
    found, first_s = layouts(instance), min(job.release_s for job in instance.jobs)
    seconds = lengths_s(instance, found)
    horizon_s = max(job.release_s for job in instance.jobs) - first_s + math.fsum(map(min, seconds))
    unit_s, model = horizon_s / 2**bits, cp_model.CpModel()
    releases = [round((job.release_s - first_s) / unit_s) for job in instance.jobs]
    used, ends = [[] for _ in instance.servers], []
    for release, held, lengths in zip(releases, found, seconds, strict=True):
        start, end = (model.new_int_var(release, 2 ** (bits + 1), "") for _ in range(2))
        picks = [model.new_bool_var("") for _ in held]
        model.add_exactly_one(picks)
        for pick, layout, length_s in zip(picks, held, lengths, strict=True):
            interval = model.new_optional_interval_var(start, round(length_s / unit_s), end, pick, "")
            for server, gpus in enumerate(layout.usage):
                if gpus:
                    used[server].append((interval, gpus))
        ends.append(end)
    for server, runs in zip(instance.servers, used, strict=True):
        model.add_cumulative([interval for interval, _ in runs], [gpus for _, gpus in runs], server.gpus)
    model.minimize(sum(ends))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, limit_s
    code = solver.solve(model)
    held = code in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return (solver.objective_value - sum(releases)) * unit_s if held else math.inf, code == cp_model.OPTIMAL


def main() -> None:
    """Run both on every case, one after the other, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each run (default: 20)")
    options = parser.parse_args()
    warm(srpt_mapping, [("intervals", None)])
    rows = []
    for preset, jobs, gpus, seed, load in CASES:
        instance = srpt_mapping.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed, load=load)
        peers = []
        for bits in BITS:
            began = time.perf_counter()
            peer_flow_s, peer_proven = plain(instance, options.limit, bits)
            peer_s = time.perf_counter() - began
            peers.append((not peer_proven, peer_s if peer_proven else peer_flow_s, peer_s, peer_flow_s, bits))
        plain_open, _, plain_s, plain_flow_s, bits = min(peers)
        began = time.perf_counter()
        result = srpt_mapping.solve(instance, method="intervals", limits=Limits(time_s=options.limit))
        ours_s, flow_s = time.perf_counter() - began, result.objective - result.constant
        proofs = ["proven" if proven else "limit" for proven in (not plain_open, result.status == "optimal")]
        name = f"{preset} {jobs}x{gpus} seed {seed} load {load:g}"
        shown = (f"{plain_s:.2f} s, {proofs[0]}, 2^{bits}", f"{ours_s:.2f} s, {proofs[1]}", f"{ours_s / plain_s:.2f}")
        rows.append([name, *shown, f"{flow_s / plain_flow_s:.4f}"])
        print(*rows[-1], sep=" | ", flush=True)
    print(
        markdown(["gangs", "plain", "intervals", "ratio of seconds", "ratio of flow times"], rows), machine(), sep="\n"
    )


if __name__ == "__main__":
    main()
