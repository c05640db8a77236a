"""How many events a second the simulation of asynchronous SGD does, and how wrong the product form is.

Events: a service that ends is one. Seconds are of the processor, medians of three turns, each with a seed of its own.
``simulate`` runs with one replication, interpreted and compiled by Numba, and with 32 and 128, in lock-step and compiled;
interpreted or compiled the figures must be the same in every bit. Numba is loaded, and the loop compiled, off the clock; what
that takes is said beside it. Beside these, one replication each: two loops in plain Python, and SimPy and ciw, where they are
installed (``pip install simpy ciw``); ``benchmarks/simulators.py`` describes them. All draw the same kinds of times, and their
throughput must be that of the mean value analysis within 10 % (with 1 replication the run is too short to compare; ciw
begins with all workers computing, and is compared up to 16 workers): nearly nothing is thrown away as warm-up here.

Errors: (analysis - simulation) / simulation in per cent, with the half width of the simulation's interval of 95 %.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from unittest import mock

import numpy as np
from measure import Page, present
from simulators import PEERS, Found, by_ciw, by_simpy, installed, loop, tags

from dlsched.async_sgd.instance import Job
from dlsched.core.imports import compiled
from dlsched.queueing import simulation
from dlsched.queueing.cycle import cycle_of
from dlsched.queueing.network import network_of
from dlsched.queueing.simulation import advance, simulate
from dlsched.queueing.throughput import mean_values

BAR = 300_000  # events a second, with 128 replications, by NumPy
BAR_OF_ONE = 100_000  # with one, interpreted
BAR_FAST = 5_000_000  # with one, compiled
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


def run(some: Job, workers: int, events: int, replications: int, fast: bool, seed: int) -> Found:
    """``simulate``, nearly without a warm-up: the speed is asked for here."""
    cycles = max(events // 4 // replications, 32 * workers)
    how = {"replications": replications, "cycles": cycles, "warm_up": workers}
    with mock.patch.object(simulation, "_COMPILED_FROM", 0 if fast else float("inf")):
        found = simulate(some, workers, generator=np.random.default_rng(seed), **how)
    return found.mean_per_s, found.events


def ways_of(some: Job, workers: int, events: int, fast: bool) -> dict[str, Callable[[int], Found]]:
    """What takes turns, by label."""
    stages, expected = cycle_of(some), mean_values(network_of(some), workers).throughput
    cycles = max(events // 16, 40 * workers)
    ways: dict[str, Callable[[int], Found]] = {}
    for each in REPLICATIONS:
        ways[f"{each}"] = partial(run, some, workers, events, each, False)
        if fast:
            ways[f"{each}, fast"] = partial(run, some, workers, events, each, True)
    ways |= {"loop": partial(loop, stages, workers, cycles), "tags": partial(tags, stages, workers, cycles)}
    few = max(events // 100, 10 * workers)
    peers = {"simpy": partial(by_simpy, stages, workers, cycles // 2)}
    peers["ciw"] = lambda seed: by_ciw(stages, workers, few, seed, expected)
    return ways | {PEERS[module]: peers[module] for module in installed()}


def require_right(name: str, workers: int, answers: list[Found], expected: float) -> None:
    """RuntimeError if a throughput is not that of the analysis, where the run is long enough to say so."""
    if name.split(",")[0] == "1" or (name == "ciw" and workers > 16):
        return
    off = max(abs(throughput / expected - 1) for throughput, _ in answers)
    if off > 0.1:
        raise RuntimeError(f"{name}: throughput off by {off:.0%} from the analysis")


def add_speed(page: Page, workers: tuple[int, ...], events: int) -> None:
    """Events a second, and whether the bars are met."""
    some = JOBS["bottleneck: network"]
    begin = time.process_time()
    fast = compiled(advance) is not None
    if fast:
        run(some, 1, 4, 1, True, 0)
    loading_s = time.process_time() - begin
    rows, slowest = [], {"1": float("inf"), "1, fast": float("inf"), "128": float("inf")}
    for count in workers:
        expected = mean_values(network_of(some), count).throughput
        rates = {}
        timings = page.measure(
            f"{count} workers", ways_of(some, count, events, fast), 3, clock=time.process_time, enough_s=10
        )
        for name, timing in timings.items():
            found = zip(timing.answers, timing.seconds, strict=True)
            rates[name] = statistics.median(ended / seconds for (_, ended), seconds in found)
            require_right(name, count, list(timing.answers), expected)
            if name.endswith("fast") and not same(timing.answers, timings[name.removesuffix(", fast")].answers):
                raise RuntimeError(f"{name}: not the bits without Numba")
        slowest = {name: min(least, rates.get(name, float("inf"))) for name, least in slowest.items()}
        others = [name for name in rates if not name[0].isdigit()]
        best = rates["1, fast" if fast else "1"]
        ratios = [f"{best / rates[name]:.1f}" for name in others]
        rows.append(" | ".join([str(count), *(f"{each:,.0f}" for each in rates.values()), *ratios]))
    page.add(
        "## Events a second",
        "Of processor time, one core, medians. *n*: `simulate` with n replications; *fast*: compiled by Numba, the same bits; "
        "*loop* and *tags*: plain Python; these and peers: one replication. The ratios are of one replication"
        f"{', fast,' if fast else ''} to the others.",
    )
    page.table(" | ".join(["workers", *rates, *(f"/ {name}" for name in others)]), rows)
    missing = [name for module, name in PEERS.items() if module not in installed()]
    words = (
        f"Loading Numba and the compiled loop (or compiling it) took {loading_s:.1f} s."
        if fast
        else "Numba is not installed."
    )
    page.add(words + (f" Not installed: {', '.join(missing)}." if missing else ""))
    bars = {"1, fast": BAR_FAST} if fast else {}
    for name, bar in (bars | {"1": BAR_OF_ONE, "128": BAR}).items():
        met = "yes" if slowest[name] >= bar else "NO"
        page.add(f"Slowest of *{name}* {slowest[name]:,.0f}, at least {bar:,} wanted: {met}.")


def same(first: Sequence[Found], second: Sequence[Found]) -> bool:
    """Whether the turns that both took part in found the same."""
    return all(ours == theirs for ours, theirs in zip(first, second, strict=False))


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
