"""How many events a second the simulation of asynchronous SGD does, and how wrong the product form is.

Events: a service that ends is one. Seconds are of the processor. ``simulate`` with 1, 32 and 128 replications takes turns with
two loops in plain Python, one replication each; three turns, each with a seed of its own. The *loop* is what one writes
first: a heap of events; at a shared station, an arrival or a departure takes from everyone what was served, and schedules
the next to end anew. The *tags* are the better one: a heap a shared station, ordered by its virtual time. All draw the same
kinds of times, and their throughput must be that of the mean value analysis within 10 % (with 1 replication the run is too
short to compare): nearly nothing is thrown away as warm-up here.

Errors: (analysis - simulation) / simulation in per cent, with the half width of the simulation's interval of 95 %.
"""

import heapq
import random
import statistics
import time
from collections import deque
from functools import partial

import numpy as np
from measure import Page, present

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
Found = tuple[float, int]  # throughput and events


def job(compute_s: float, transfer_s: float, update_s: float) -> Job:
    """A job with these times of one worker that is alone."""
    rates = {
        "parameter_bytes": transfer_s * 1e9,
        "bandwidth_bytes_per_s": 1e9,
        "compute_s": compute_s,
        "update_s": update_s,
    }
    return Job(id="a", epochs=1, dataset_examples=50_000, batch_examples=128, **rates)


JOBS = {
    "bottleneck: network": job(0.25, 0.08, 0.01),
    "bottleneck: update": job(0.25, 0.01, 0.08),
    "no bottleneck": job(1.0, 0.02, 0.02),
}


def loop(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int) -> Found:
    """A heap of events; a shared station goes through all its customers at every change."""
    drawn = random.Random(seed)
    events: list[tuple[float, int, int, int]] = []  # time, station, version, customer
    left: dict[int, dict[int, float]] = {stage.station: {} for stage in stages if stage.discipline == "sharing"}
    since, version = dict.fromkeys(left, 0.0), dict.fromkeys(left, 0)
    waiting: dict[int, deque[int]] = {stage.station: deque() for stage in stages if stage.discipline == "queue"}
    at = [[stage.work for stage in stages].index("compute")] * workers
    now = 0.0

    def begin(customer: int) -> None:
        stage = stages[at[customer]]
        heapq.heappush(events, (now + drawn.expovariate(1 / stage.mean_s), stage.station, 0, customer))

    def share(station: int, *, joins: tuple[int, float] | None = None, leaves: int | None = None) -> None:
        here = left[station]
        for customer in here:
            here[customer] -= (now - since[station]) / len(here)
        since[station] = now
        if joins is not None:
            here[joins[0]] = joins[1]
        if leaves is not None:
            del here[leaves]
        version[station] += 1
        if here:
            soonest = min(here, key=here.__getitem__)
            heapq.heappush(events, (now + here[soonest] * len(here), station, version[station], soonest))

    def arrive(customer: int) -> None:
        stage = stages[at[customer]]
        if stage.station in left:
            share(stage.station, joins=(customer, stage.mean_s))
            return
        line = waiting.get(stage.station)
        if line is not None:
            line.append(customer)
        if line is None or len(line) == 1:
            begin(customer)

    for customer in range(workers):
        arrive(customer)
    ended = 0
    while ended < cycles * len(stages):
        now, station, number, customer = heapq.heappop(events)
        if station in left:
            if number != version[station]:
                continue
            share(station, leaves=customer)
        elif station in waiting:
            waiting[station].popleft()
            if waiting[station]:
                begin(waiting[station][0])
        ended += 1
        at[customer] = (at[customer] + 1) % len(stages)
        arrive(customer)
    return cycles / now, ended


def tags(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int) -> Found:
    """The one layout of these jobs: pull, compute, push, update, in virtual time, written out."""
    drawn = random.Random(seed)
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


def lockstep(some: Job, workers: int, events: int, replications: int, seed: int) -> Found:
    """``simulate``, nearly without a warm-up: the speed is asked for here."""
    cycles = max(events // 4 // max(replications, 32), 32 * workers)  # a step of 1 takes as long as of 32
    how = {"replications": replications, "cycles": cycles, "warm_up": workers}
    found = simulate(some, workers, generator=np.random.default_rng(seed), **how)
    return found.mean_per_s, found.events


def add_speed(page: Page, workers: tuple[int, ...], events: int) -> None:
    """Events a second, and whether the bar is met."""
    some = JOBS["bottleneck: network"]
    stages, rows, slowest = cycle_of(some), [], float("inf")
    for count in workers:
        cycles = max(events // 16, 40 * count)
        ways = {f"{each} at a time": partial(lockstep, some, count, events, each) for each in REPLICATIONS}
        ways |= {"loop": partial(loop, stages, count, cycles), "tags": partial(tags, stages, count, cycles)}
        expected = mean_values(network_of(some), count).throughput
        rates = {}
        for name, timing in page.measure(f"{count} workers", ways, 3, clock=time.process_time).items():
            found = zip(timing.answers, timing.seconds, strict=True)
            rates[name] = statistics.median(ended / seconds for (_, ended), seconds in found)
            off = max(abs(throughput / expected - 1) for throughput, _ in timing.answers)
            if off > 0.1 and name != "1 at a time":
                raise RuntimeError(f"{name}: throughput off by {off:.0%} from the analysis")
        fastest = rates[f"{REPLICATIONS[-1]} at a time"]
        slowest = min(slowest, fastest)
        cells = " | ".join(f"{each:,.0f}" for each in rates.values())
        rows.append(f"{count} | {cells} | {fastest / rates['loop']:.1f} | {fastest / rates['tags']:.1f}")
    page.add(
        "## Events a second",
        "Of processor time, one core, medians. *loop* and *tags*: plain Python, one replication; *n at a time*: `simulate` with "
        f"n replications. The ratios are of {REPLICATIONS[-1]} at a time to the loops.",
    )
    page.table(" | ".join(["workers", *rates, "/ loop", "/ tags"]), rows)
    page.add(
        f"Slowest with {REPLICATIONS[-1]} at a time {slowest:,.0f}, at least {BAR:,} wanted: {'yes' if slowest >= BAR else 'NO'}."
    )


def add_errors(page: Page, workers: tuple[int, ...], cycles: int) -> None:
    """The analysis beside the simulation, job after job; nothing here is timed."""
    page.add(
        "## Error of the product form",
        "Mini-batches a second by mean value analysis and by simulation (128 replications, interval of 95%), and the error of "
        "the analysis in per cent. Where nothing else is said, computing and updates are exponential and transfers fixed. "
        "*Overlap*: each worker has two mini-batches on the way, which the analysis does not model. With all times fixed the "
        f"throughput depends on the start and need not settle: the figures are those of {cycles:,} cycles after the warm-up, "
        "and a half width of 0 only says that all replications did the same.",
    )
    held = 0
    for seed, (title, some) in enumerate(JOBS.items()):
        rows = []
        for count in workers:
            expected = mean_values(network_of(some), count).throughput
            cells = [str(count), f"{expected:.3f}"]
            for name, options in SETTINGS.items():
                generator = np.random.default_rng([seed, count])
                found = simulate(some, count, generator=generator, cycles=cycles, **options)
                error = f"{100 * (expected / found.mean_per_s - 1):+.1f}".replace("-0.0", "+0.0")
                cells += [f"{found.mean_per_s:.3f} ± {found.half_width_per_s:.3f}", error]
                held += name == "all exponential" and abs(found.mean_per_s - expected) <= found.half_width_per_s
            rows.append(" | ".join(cells))
        transfer_s = some.parameter_bytes / some.bandwidth_bytes_per_s
        times = f"compute {some.compute_s} s, pull and push {transfer_s:.2f} s each, update {some.update_s} s"
        page.add(f"### {title[0].upper()}{title[1:]}: {times}")
        page.table(" | ".join(["workers", "analysis", *(f"{name} | error" for name in SETTINGS)]), rows)
    page.add(f"All exponential: the interval holds the analysis in {held} of {len(JOBS) * len(workers)}.")


def fill(page: Page) -> None:
    """Measure everything."""
    add_speed(page, (1, 16) if page.quick else SPEED_WORKERS, 10_000 if page.quick else 1_000_000)
    add_errors(page, (2,) if page.quick else ERROR_WORKERS, 20 if page.quick else 2000)


if __name__ == "__main__":
    present("Simulation of asynchronous SGD", __doc__, fill)
