"""On which workload patterns does doubling more than halve the mean flow time of a fixed allocation? A search.

The abstract of Capes et al. 2018 claims "more than halving of average job time on some workload patterns", names no
pattern, and not what was halved. Three readings are looked for: (a) a given fixed allocation, k units a job; (b) the
strong one, the best of k = 1, 2, 4, 8, 16 in hindsight, chosen anew for every single stream; (c) that with jobs served
in order of arrival or shortest first, whichever is better.

Protocol: a grid of patterns (arrivals x mix of jobs x cluster x load), four streams each. From the best of the grid for
(b) and for (c) a hill climb: one knob moved at random, kept if the mean ratio of six fixed streams grows; 150 steps. As a
search flatters what it finds, the best are then run on 30 streams that it has not seen; their intervals are Student's t
at 95 %. All random numbers come from seeds.

    python benchmarks/patterns.py            # minutes in two processes; writes benchmarks/results/patterns.md
    python benchmarks/patterns.py --quick    # a part of the grid and few steps, no file
"""

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import numpy as np
from table import machine, markdown
from trend import interval, shown

from dlsched import elastic_stream
from dlsched.core.arrays import FloatArray
from dlsched.elastic_stream.generator import RESNET110_S
from dlsched.elastic_stream.policies import Fixed, Queue

FIXED = (1, 2, 4, 8, 16)
LOADS = (0.3, 0.45, 0.6, 0.75, 0.9, 1.05, 1.2)
CLUSTERS = (16, 64)
JOBS = {16: 100, 64: 200}
SEEDS = range(4)  # of the grid
CLIMB_SEEDS = range(100, 106)
FRESH_SEEDS = range(1000, 1030)
STEPS = 150
MORE = 4  # times the jobs of a pattern that was found
HALVED = 2.0
ORDERS = ("fifo", "srpt")

Reading = Callable[[FloatArray], FloatArray]
"""From ratios of shape (streams, orders, fixed allocations) to one ratio a stream."""

Key = tuple[str, str, int, float]
"""Mix, arrivals, units, load."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A way in which jobs arrive, and what they are.

    Parameters
    ----------
    units, jobs, load
        Of the cluster; of one stream; as ``generate`` defines it, with the jobs' own most efficient counts.
    burst
        Mean number of jobs that arrive together, uniform on 1 .. 2 burst - 1.
    swing, period_h
        The rate of bursts is in proportion to 1 + swing sin(2 pi t / period).
    exponent
        Speed on n units is n^exponent, n = 1, 2, 4, 8, 16; None: the tables of ``mix``.
    mix
        ``resnet110``: identical jobs; ``published``: the generator's tables and durations; else as follows.
    median_s, sigma
        Durations of short jobs on one unit, lognormal.
    long, ratio
        The share of jobs that are long, and how many times longer they are.
    """

    mix: str
    units: int
    load: float
    jobs: int
    burst: int = 1
    swing: float = 0.0
    period_h: float = 24.0
    exponent: float | None = None
    median_s: float = 7200.0
    sigma: float = 1.3
    long: float = 0.0
    ratio: float = 1.0

    def __str__(self) -> str:
        """Every knob that matters, in words."""
        arrivals = "one by one" if self.burst == 1 else f"in bursts of {self.burst} on average"
        if self.swing:
            arrivals += f", rate 1 + {self.swing:.2g} sin(2 pi t / {self.period_h:.3g} h)"
        if self.exponent is None:
            jobs = self.mix
        else:
            jobs = (
                f"speed n^{self.exponent:.2f}, median {self.median_s / 60:.0f} min on one unit, sigma {self.sigma:.2f}"
            )
            if self.long:
                jobs += f", {100 * self.long:.0f} % of them {self.ratio:.0f} times longer"
        return f"{self.jobs} jobs on {self.units} units, load {self.load:.2f}; arrivals {arrivals}; {jobs}"


ARRIVALS: dict[str, dict[str, Any]] = {"Poisson": {}, "bursts of 8": {"burst": 8}, "day/night": {"swing": 0.9}}
MIXES: dict[str, dict[str, Any]] = {
    "identical ResNet-110": {"mix": "resnet110"},
    "published": {"mix": "published"},
    "sub-linear": {"mix": "law", "exponent": 0.5},
    "near-linear": {"mix": "law", "exponent": 0.9},
    "short and long, sub-linear": {
        "mix": "law", "exponent": 0.5, "median_s": 600.0, "sigma": 0.0, "long": 0.1, "ratio": 60.0
    },
    "short and long, near-linear": {
        "mix": "law", "exponent": 0.9, "median_s": 600.0, "sigma": 0.0, "long": 0.1, "ratio": 60.0
    },
}  # fmt: skip


def drawn_jobs(pattern: Pattern, generator: np.random.Generator, seed: int) -> list[dict[str, Any]]:
    """Epochs, speeds and restarts of the jobs."""
    if pattern.mix == "published":
        source = elastic_stream.generate(jobs=pattern.jobs, gpus=pattern.units, seed=seed)
        return [
            {
                "epochs": job.epochs,
                "epoch_time_s": {units: job.speed.epoch_time_s(units) for units in job.counts(pattern.units)},
                "restart_s": job.restart_s,
            }
            for job in source.jobs
        ]
    if pattern.exponent is None:
        return [{"epochs": 160.0, "epoch_time_s": RESNET110_S, "restart_s": 10.0} for _ in range(pattern.jobs)]
    times = {units: units**-pattern.exponent for units in FIXED if units <= pattern.units}
    long = generator.random(pattern.jobs) < pattern.long
    seconds = pattern.median_s * np.exp(pattern.sigma * generator.standard_normal(pattern.jobs))
    seconds = np.where(long, pattern.ratio, 1.0) * seconds
    return [{"epochs": epochs, "epoch_time_s": times, "restart_s": 10.0} for epochs in seconds.tolist()]


def stream_of(pattern: Pattern, seed: int) -> elastic_stream.Instance:
    """One stream of the pattern."""
    generator = np.random.default_rng(seed)
    jobs = drawn_jobs(pattern, generator, seed)
    areas = [job["epochs"] * min(count * time_s for count, time_s in job["epoch_time_s"].items()) for job in jobs]
    gap_s = math.fsum(areas) / (pattern.load * pattern.units) / pattern.jobs
    arrivals: list[float] = []
    now = 0.0
    while len(arrivals) < pattern.jobs:  # by thinning
        now += float(generator.exponential(pattern.burst * gap_s / (1 + pattern.swing)))
        rate = 1 + pattern.swing * math.sin(2 * math.pi * now / (3600 * pattern.period_h))
        if generator.random() * (1 + pattern.swing) < rate:
            arrivals += [now] * int(generator.integers(1, 2 * pattern.burst))
    records = [job | {"id": f"j{index}", "arrival_s": arrivals[index]} for index, job in enumerate(jobs)]
    return elastic_stream.Instance(name="pattern", units=pattern.units, jobs=records)


def mean_flow_s(instance: elastic_stream.Instance, policy: elastic_stream.Policy) -> float:
    """Mean flow time under a policy."""
    return elastic_stream.objective(instance, elastic_stream.simulate(instance, policy))


def ratios(pattern: Pattern, seed: int) -> list[list[float]]:
    """Mean flow time of every fixed allocation by order, over that of doubling, on one stream."""
    instance = stream_of(pattern, seed)
    doubling = mean_flow_s(instance, elastic_stream.policies.Doubling())
    return [[mean_flow_s(instance, Queue(order, Fixed(units))) / doubling for units in FIXED] for order in ORDERS]


def on_streams(pool: Pool, pattern: Pattern, seeds: range) -> FloatArray:
    """Ratios of shape (streams, orders, fixed allocations)."""
    return np.array(pool.map(partial(ratios, pattern), seeds, chunksize=1))


def on_grid(pattern: Pattern) -> FloatArray:
    """Ratios of the streams of one pattern of the grid."""
    return np.array([ratios(pattern, seed) for seed in SEEDS])


def strong(found: FloatArray) -> FloatArray:
    """(b): ratio of the best fixed allocation of each stream, served in order of arrival."""
    return found[:, 0].min(axis=1)


def strongest(found: FloatArray) -> FloatArray:
    """(c): ratio of the best fixed allocation of each stream in the better of the orders."""
    return found.min(axis=(1, 2))


def moved(pattern: Pattern, generator: np.random.Generator) -> Pattern:
    """The pattern with one knob moved, within the range that is searched."""
    factor = math.exp(generator.normal(0, 0.4))
    step = float(generator.normal(0, 0.15))
    assert pattern.exponent is not None
    knobs: list[dict[str, Any]] = [
        {"load": min(max(pattern.load * factor, LOADS[0]), LOADS[-1])},
        {"exponent": min(max(pattern.exponent + step, 0.3), 0.95)},
        {"sigma": min(max(pattern.sigma + 2 * step, 0.0), 1.5)},
        {"long": min(max((pattern.long or 0.05) * factor, 0.01), 0.5)},
        {"ratio": min(max(pattern.ratio * factor**2, 1.0), 200.0)},
        {"burst": min(max(round(pattern.burst * factor**2 + step), 1), 32)},
        {"swing": min(max(pattern.swing + 2 * step, 0.0), 1.0)},
        {"period_h": min(max(pattern.period_h * factor**2, 1.0), 96.0)},
    ]
    return replace(pattern, **knobs[int(generator.integers(len(knobs)))])


def climb(pool: Pool, pattern: Pattern, steps: int, reading: Reading) -> tuple[Pattern, float, float]:
    """Climb by the mean of a reading over streams; return the end, and the means of start and end."""
    generator = np.random.default_rng(0)
    start = best = float(reading(on_streams(pool, pattern, CLIMB_SEEDS)).mean())
    for _ in range(steps):
        other = moved(pattern, generator)
        value = float(reading(on_streams(pool, other, CLIMB_SEEDS)).mean()) if other != pattern else best
        if value > best:
            pattern, best = other, value
    return pattern, start, best


def grid_text(grid: dict[Key, Pattern], found: list[FloatArray]) -> str:
    """Shares, and ratios by mix, arrivals and cluster."""
    means = dict(zip(grid, (each[:, 0].mean(axis=0) for each in found), strict=True))
    groups = list(dict.fromkeys(key[:3] for key in grid))
    loads = list(dict.fromkeys(key[3] for key in grid))
    table = np.array(list(means.values()))
    hits = table > HALVED
    share = [_spread(f"(a) k = {units}", table[:, index]) for index, units in enumerate(FIXED)]
    share.append(["(a) At least one of them", f"{hits.any(axis=1).mean():.1%}", "", "", ""])
    hardest = {}
    for name, reading in READINGS.items():
        hardest[name] = dict(zip(grid, (float(reading(each).mean()) for each in found), strict=True))
        share.append(_spread(name, np.array(list(hardest[name].values()))))
    names = ["mix", "arrivals", "units"]
    text = [
        f"{len(grid)} patterns, {len(SEEDS)} streams each: mean flow time of the fixed allocation over that of doubling, "
        "mean over the streams. Above 2 (bold), doubling more than halves it; below 1, doubling is worse.\n\n"
        + markdown(["fixed allocation", "patterns where it is more than halved", "median", "least", "largest"], share)
    ]
    weak = []
    for group in groups:
        most = np.array([means[(*group, load)] for load in loads]).max(axis=0)
        weak.append([*map(str, group), *map(_bold, most)])
    text.append(
        f"### (a) Each fixed allocation, at the load (of {', '.join(f'{load:g}' for load in loads)}) where its ratio is "
        "largest\n\n" + markdown([*names, *(f"k = {units}" for units in FIXED)], weak)
    )
    for name, values in hardest.items():
        rows = [[*map(str, group), *(_bold(values[(*group, load)]) for load in loads)] for group in groups]
        text.append(f"### {name}, by load\n\n" + markdown([*names, *(f"{load:g}" for load in loads)], rows))
    return "\n".join(text)


def _spread(name: str, values: FloatArray) -> list[str]:
    shares = f"{(values > HALVED).mean():.1%}"
    return [name, shares, f"{np.median(values):.2f}", f"{values.min():.2f}", f"{values.max():.2f}"]


def _bold(value: float) -> str:
    return f"**{value:.2f}**" if value > HALVED else f"{value:.2f}"


def fresh_rows(name: str, found: FloatArray) -> list[str]:
    """One pattern on streams that the search has not seen, as a row."""
    values = strong(found)
    return [
        name,
        *(f"{value:.2f}" for value in found[:, 0].mean(axis=0)),
        shown(values),
        f"{values.min():.2f} .. {values.max():.2f}",
        f"{(values > HALVED).mean():.0%}",
        shown(strongest(found)),
    ]


def verdict(values: FloatArray) -> str:
    """Say whether halving was found."""
    mean, half = interval(values)
    words = "found" if mean - half > HALVED else "not certain" if mean > HALVED else "not found"
    return f"{words}, {mean:.2f} ± {half:.2f}"


READINGS: dict[str, Reading] = {
    "(b) The best fixed allocation in hindsight": strong,
    "(c) The same in the better of two orders": strongest,
}


def page(quick: bool) -> str:
    """Run everything."""
    begin = time.perf_counter()
    grid: dict[Key, Pattern] = {
        (mix, arrivals, units, load): Pattern(
            **MIXES[mix], **ARRIVALS[arrivals], units=units, load=load, jobs=JOBS[units]
        )
        for mix in MIXES
        for arrivals in ARRIVALS
        for units in (CLUSTERS[:1] if quick else CLUSTERS)
        for load in (LOADS[3:4] if quick else LOADS)
    }
    steps = 5 if quick else STEPS
    patterns = list(grid.values())
    laws = [index for index, pattern in enumerate(patterns) if pattern.exponent is not None]
    named, climbs, said = {}, [], []
    with multiprocessing.Pool(2) as pool:
        found = pool.map(on_grid, patterns, chunksize=1)
        for letter, reading in zip("bc", READINGS.values(), strict=True):
            values = [float(reading(each).mean()) for each in found]
            named[f"best of the grid for ({letter})"] = patterns[int(np.argmax(values))]
            start = patterns[max(laws, key=lambda index: values[index])]
            end, before, after = climb(pool, start, steps, reading)
            named[f"end of the climb for ({letter})"] = end
            named[f"that for ({letter}), {MORE} times the jobs"] = replace(end, jobs=MORE * end.jobs)
            climbs.append(f"for ({letter}) from {before:.2f} to {after:.2f}")
        fresh = {name: on_streams(pool, pattern, FRESH_SEEDS) for name, pattern in named.items()}
    taken = time.perf_counter() - begin
    for letter, reading in zip("bc", READINGS.values(), strict=True):
        on = [
            verdict(reading(fresh[f"{where} ({letter})"])) for where in ("best of the grid for", "end of the climb for")
        ]
        said.append(f"best pattern of the grid: {on[0]}; after the climb: {on[1]}.")
    weak = np.array([each[:, 0].mean(axis=0) for each in found]).max(axis=0)
    halved = [f"k = {units} (up to {most:.1f} times)" for units, most in zip(FIXED, weak, strict=True) if most > HALVED]
    columns = [
        "pattern",
        *(f"k = {units}" for units in FIXED),
        "(b)",
        "(b), least and largest",
        "streams with (b) above 2",
        "(c)",
    ]
    return "\n".join(
        [
            "# Patterns on which doubling more than halves a fixed allocation\n\n"
            f"`python benchmarks/patterns.py`, {machine()}; {taken:.0f} s in two processes.\n\n"
            '**What is whose.** The abstract of Capes et al. 2018 (arXiv 1908.08082) claims "more than halving of average '
            'job time on some workload patterns". It says neither on which nor against what, and only the abstract was '
            "available. What follows is our search with our reconstruction of the doubling heuristic. One pattern is "
            "enough to confirm that some exist; those found here need not be theirs.\n\n"
            "Mean flow time of fixed allocations over that of doubling:\n\n"
            f"- (a) A given fixed allocation, k units a job. Halved on some patterns: {', '.join(halved)}.\n"
            "- (b) The strong form: the best of these k in hindsight, for every stream its own, served in order of "
            f"arrival. {said[0].capitalize()}\n"
            "- (c) Stronger still: the best k in hindsight, served in order of arrival or shortest remaining time first, "
            "whichever is better (shortest first stops jobs for shorter ones, and knows the work left, as doubling does). "
            "What (b) has over (c) is due to short jobs that wait behind long ones, not to counts that do not change. "
            f"{said[1].capitalize()}\n",
            "A fixed allocation gives each job that runs its largest allowed count of at most k units; a job may overtake "
            "one that does not fit. ResNet-110 runs on at most 8 units, so k = 16 is k = 8 for it. Sub-linear: speed n^0.5 "
            "on n = 1, 2, 4, 8, 16 units, near-linear: n^0.9, both with durations of 2 h in the median on one unit, "
            "lognormal with sigma 1.3. Short and long: 10 min, and one in ten 10 h, on one unit. Restarts take 10 s (10 "
            f"to 60 s for published speeds). {JOBS[16]} jobs on 16 units, {JOBS[64]} on 64; clusters are empty at first, "
            "and all jobs count.\n",
            "## The grid\n\n" + grid_text(grid, found),
            f"## The best, on {len(FRESH_SEEDS)} further streams\n\n"
            f"Two climbs of {steps} steps each, from the best pattern of the grid with a law of speed; the mean ratio of "
            f"their {len(CLIMB_SEEDS)} streams rose {' and '.join(climbs)}. Their range: load 0.3 .. 1.2, exponent 0.3 .. "
            "0.95, sigma 0 .. 1.5, 1 .. 50 % of the jobs up to 200 times longer, bursts of 1 .. 32, swings of 0 .. 1 with "
            "periods of 1 .. 96 h. Below: streams that neither grid nor climb has seen, mean and 95 % interval.\n\n"
            + markdown(columns, [fresh_rows(name, values) for name, values in fresh.items()]),
            "\n".join(f"- {name}: {pattern}." for name, pattern in named.items()) + "\n",
        ]
    )


def main() -> None:
    """Search and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    text = page(quick)
    print(text, end="")
    if not quick:
        Path(__file__).parent.joinpath("results", "patterns.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
