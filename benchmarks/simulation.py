"""The simulation of asynchronous SGD: events a second, and the error of the product form.

Protocol: one thread, one process, processor time. Events: a service that ends is one. ``simulate`` with 1, 32 and 128
replications takes turns with two loops in plain Python, one replication each, and the best of three counts. The *loop* is
what one writes first: a heap of events; at a shared station, an arrival or a departure takes from everyone what was
served, and schedules the next to end anew. The *tags* are the better one: a heap a shared station, ordered by its
virtual time. All draw the same kinds of times, and their throughput must be that of the mean value analysis within 10%:
nearly nothing is thrown away as warm-up here.

Errors: (analysis - simulation) / simulation in per cent, with the half width of the simulation's interval of 95%.

    python benchmarks/simulation.py            # writes benchmarks/results/simulation.md
    python benchmarks/simulation.py --quick    # fewer events, no file
"""

import argparse
import heapq
import random
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched.async_sgd.instance import Job
from dlsched.queueing.cycle import Stage, cycle_of
from dlsched.queueing.network import network_of
from dlsched.queueing.simulation import simulate
from dlsched.queueing.throughput import mean_values

BAR = 300_000  # events a second
REPLICATIONS = (1, 32, 128)
SPEED_WORKERS = (1, 4, 16, 64, 256)
ERROR_WORKERS = (1, 2, 4, 8, 16, 32)
FIXED = {"compute": "deterministic", "transfer": "deterministic", "update": "deterministic"}
SETTINGS = {
    "all exponential": {"transfer": "exponential"},
    "fixed updates": {"update": "deterministic"},
    "all fixed, together": FIXED | {"start": "together"},
    "all fixed, spread": FIXED,
    "overlap": {"in_flight": 2},
}


def job(compute_s: float, transfer_s: float, update_s: float) -> Job:
    """A job with these times of one worker that is alone."""
    return Job(
        id="a",
        epochs=1,
        dataset_examples=50_000,
        batch_examples=128,
        parameter_bytes=transfer_s * 1e9,
        bandwidth_bytes_per_s=1e9,
        compute_s=compute_s,
        update_s=update_s,
    )


JOBS = {
    "bottleneck: network": job(0.25, 0.08, 0.01),
    "bottleneck: update": job(0.25, 0.01, 0.08),
    "no bottleneck": job(1.0, 0.02, 0.02),
}


def loop(stages: tuple[Stage, ...], workers: int, cycles: int, drawn: random.Random) -> tuple[float, int]:
    """Throughput and events of a heap of events; a shared station goes through all its customers at every change."""
    events: list[tuple[float, int, int, int]] = []  # time, station, version, customer
    left: dict[int, dict[int, float]] = {stage.station: {} for stage in stages if stage.discipline == "sharing"}
    since, version = dict.fromkeys(left, 0.0), dict.fromkeys(left, 0)
    waiting: dict[int, deque[int]] = {stage.station: deque() for stage in stages if stage.discipline == "queue"}
    at = [0] * workers
    now = 0.0

    def serve(station: int) -> None:
        here = left[station]
        for customer in here:
            here[customer] -= (now - since[station]) / len(here)
        since[station] = now

    def schedule(station: int) -> None:
        here = left[station]
        version[station] += 1
        if here:
            soonest = min(here, key=here.__getitem__)
            heapq.heappush(events, (now + here[soonest] * len(here), station, version[station], soonest))

    def arrive(customer: int) -> None:
        stage = stages[at[customer]]
        if stage.discipline == "sharing":
            serve(stage.station)
            left[stage.station][customer] = stage.mean_s
            schedule(stage.station)
        elif stage.discipline == "queue":
            waiting[stage.station].append(customer)
            if len(waiting[stage.station]) == 1:
                heapq.heappush(events, (now + drawn.expovariate(1 / stage.mean_s), stage.station, 0, customer))
        else:
            heapq.heappush(events, (now + drawn.expovariate(1 / stage.mean_s), stage.station, 0, customer))

    for customer in range(workers):
        at[customer] = [stage.work for stage in stages].index("compute")
        arrive(customer)
    ended = 0
    while ended < cycles * len(stages):
        now, station, number, customer = heapq.heappop(events)
        if station in left:
            if number != version[station]:
                continue
            serve(station)
            del left[station][customer]
            schedule(station)
        elif station in waiting:
            waiting[station].popleft()
            if waiting[station]:
                seconds = drawn.expovariate(1 / stages[at[customer]].mean_s)
                heapq.heappush(events, (now + seconds, station, 0, waiting[station][0]))
        ended += 1
        at[customer] = (at[customer] + 1) % len(stages)
        arrive(customer)
    return cycles / now, ended


def tags(stages: tuple[Stage, ...], workers: int, cycles: int, drawn: random.Random) -> tuple[float, int]:
    """Throughput and events of this one layout: pull, compute, push, update, in virtual time, written out."""
    pull_s, compute_s, push_s, update_s = (stage.mean_s for stage in stages)
    computing = [drawn.expovariate(1 / compute_s) for _ in range(workers)]
    heapq.heapify(computing)
    down: list[float] = []
    up: list[float] = []
    now = down_clock = up_clock = 0.0
    waiting, update_ends, never = 0, float("inf"), float("inf")
    ended = 0
    while ended < cycles * 4:
        computed = computing[0] if computing else never
        pulled = now + (down[0] - down_clock) * len(down) if down else never
        pushed = now + (up[0] - up_clock) * len(up) if up else never
        then = min(computed, pulled, pushed, update_ends)
        if down:
            down_clock += (then - now) / len(down)
        if up:
            up_clock += (then - now) / len(up)
        now = then
        ended += 1
        if now == computed:
            heapq.heappop(computing)
            heapq.heappush(up, up_clock + push_s)
        elif now == pulled:
            heapq.heappop(down)
            heapq.heappush(computing, now + drawn.expovariate(1 / compute_s))
        elif now == pushed:
            heapq.heappop(up)
            waiting += 1
            if waiting == 1:
                update_ends = now + drawn.expovariate(1 / update_s)
        else:
            waiting -= 1
            update_ends = now + drawn.expovariate(1 / update_s) if waiting else never
            heapq.heappush(down, down_clock + pull_s)
    return cycles / now, ended


def rate(call: Callable[[], tuple[float, int]], expected: float) -> float:
    """Events a second of processor time; RuntimeError if the throughput is another one."""
    begin = time.process_time()
    found, events = call()
    taken = time.process_time() - begin
    if abs(found / expected - 1) > 0.1:
        raise RuntimeError(f"throughput {found}, the analysis says {expected}")
    return events / taken


def speed(workers: int, events: int) -> tuple[list[str], float]:
    """A row of events a second, and the best of ``simulate``."""
    some = JOBS["bottleneck: network"]
    stages = cycle_of(some)
    expected = mean_values(network_of(some), workers).throughput
    best: dict[str, float] = {}

    def keep(name: str, call: Callable[[], tuple[float, int]]) -> None:
        best[name] = max(best.get(name, 0.0), rate(call, expected))

    def lockstep(replications: int, seed: int) -> tuple[float, int]:
        cycles = max(events // 4 // max(replications, 32), 32 * workers)  # a step of 1 takes as long as of 32
        generator = np.random.default_rng(seed)
        warm_up = workers  # the speed is asked for here
        found = simulate(some, workers, generator=generator, replications=replications, cycles=cycles, warm_up=warm_up)
        return found.mean_per_s, found.events

    for turn in range(3):
        for replications in REPLICATIONS:
            if replications == 1:
                began = time.process_time()
                _, ended = lockstep(1, turn)
                one = ended / (time.process_time() - began)  # too short a run to compare its throughput
                best["1"] = max(best.get("1", 0.0), one)
            else:
                keep(str(replications), lambda r=replications, t=turn: lockstep(r, t))
        cycles = max(events // 16, 40 * workers)
        keep("loop", lambda c=cycles, t=turn: loop(stages, workers, c, random.Random(t)))
        keep("tags", lambda c=cycles, t=turn: tags(stages, workers, c, random.Random(t)))
    fastest = best[str(REPLICATIONS[-1])]
    names = [*map(str, REPLICATIONS), "loop", "tags"]
    row = [str(workers), *(f"{best[name]:,.0f}" for name in names)]
    return [*row, f"{fastest / best['loop']:.1f}", f"{fastest / best['tags']:.1f}"], fastest


def errors(some: Job, cycles: int, seed: int) -> tuple[list[list[str]], int]:
    """Rows of one job, and in how many the interval with all times exponential holds the analysis."""
    rows, held = [], 0
    for workers in ERROR_WORKERS:
        expected = mean_values(network_of(some), workers).throughput
        row = [str(workers), f"{expected:.3f}"]
        for name, options in SETTINGS.items():
            found = simulate(some, workers, generator=np.random.default_rng([seed, workers]), cycles=cycles, **options)
            error = 100 * (expected / found.mean_per_s - 1)
            row += [f"{found.mean_per_s:.3f} ± {found.half_width_per_s:.3f}", f"{error:+.1f}".replace("-0.0", "+0.0")]
            if name == "all exponential":
                held += abs(found.mean_per_s - expected) <= found.half_width_per_s
        rows.append(row)
    return rows, held


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    speeds = [speed(workers, 100_000 if quick else 1_000_000) for workers in SPEED_WORKERS]
    slowest = min(value for _, value in speeds)
    columns = ["workers", *(f"{count} at a time" for count in REPLICATIONS), "loop", "tags", "/ loop", "/ tags"]
    page = [
        f"# Simulation of asynchronous SGD\n\n`python benchmarks/simulation.py`, {machine()}.\n",
        "## Events a second\n\nOf processor time, one core, best of three. *loop* and *tags*: plain Python, one replication; "
        f"*n at a time*: `simulate` with n replications. The ratios are of {REPLICATIONS[-1]} at a time to the loops.\n",
        markdown(columns, [row for row, _ in speeds]),
        f"Slowest with {REPLICATIONS[-1]} at a time {slowest:,.0f}, at least {BAR:,} wanted: "
        f"{'yes' if slowest >= BAR else 'NO'}.\n",
        "## Error of the product form\n\nMini-batches a second by mean value analysis and by simulation (128 replications, "
        "interval of 95%), and the error of the analysis in per cent. Where nothing else is said, computing and updates are "
        "exponential and transfers fixed. *Overlap*: each worker has two mini-batches on the way, which the analysis does not "
        "model. With all times fixed the throughput depends on the start and need not settle: the figures are those of 2,000 "
        "cycles after the warm-up, and a half width of 0 only says that all replications did the same.\n",
    ]
    columns = ["workers", "analysis", *(word for name in SETTINGS for word in (name, "error"))]
    inside = 0
    for seed, (name, some) in enumerate(JOBS.items()):
        rows, held = errors(some, 200 if quick else 2000, seed)
        inside += held
        transfer_s = some.parameter_bytes / some.bandwidth_bytes_per_s
        times = f"compute {some.compute_s} s, pull and push {transfer_s:.2f} s each, update {some.update_s} s"
        page += [f"### {name[0].upper()}{name[1:]}: {times}\n", markdown(columns, rows)]
    page.append(f"All exponential: the interval holds the analysis in {inside} of {len(JOBS) * len(ERROR_WORKERS)}.\n")
    text = "\n".join(page)
    print(text)
    if not quick:
        Path(__file__).parent.joinpath("results", "simulation.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
