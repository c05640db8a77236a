"""How fast prices over time bound a stream, how that grows, and what the whole Philly trace takes.

Seconds on the wall, from the instance as it was read to the certificate; the streams of two fast policies, from whose events
the prices begin, are part of it. Verification is ``certificate.verify``, which shares no code with the search.

- 200 jobs: seconds until the bound is within 1 % of what it ends at, until the search ends by itself, and of verification. Three
  turns, of each way as many as start within its first 30 s. Bars: 10 s to 1 %, verification at most as long as finding.
- Growth: Poisson arrivals at load 0.9 on 64 units, 50 to 800 jobs, turns as before.
- Philly: all jobs of the trace on 400 units, each on at most 8 or what it asked for, in a process of its own, once. Its memory is
  the peak of its resident memory after verification, Python and the trace included. Then every policy, 10 s each, checks
  included; its ratio to the bound is at most its ratio to the best stream. Bars: 10 minutes, 4 GB, verification at most as long
  as finding.
- Peers. There is no other program that bounds such streams, to our knowledge. A user would take ``area`` or ``length``: all
  tables have the larger of them. With ticks there is the linear relaxation of the time-indexed program of ``milp``, by HiGHS,
  its integrality dropped, building included; the horizon is what the better of two fast policies allows. Both hold for the
  same streams.

The trace is not part of this repository: ``philly_jobs.csv`` of petuum/adaptdl, branch osdi21-artifact. Without it, by
default in ../shared/data beside this repository, its part is skipped.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from growth import Point, draw, shown, slope
from measure import Page, Timing, present

from dlsched import elastic_stream, read
from dlsched.certificates import PricesCertificate
from dlsched.core.gap import ratio
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import Instance, bounds
from dlsched.elastic_stream.certificate import verify
from dlsched.elastic_stream.checker import objective
from dlsched.elastic_stream.formulations.milp import build_milp
from dlsched.elastic_stream.heuristics import POLICIES
from dlsched.solvers.linear import from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.study.reproduce.streams import pattern
from dlsched.traces import import_philly

HERE = Path(__file__).parent
TRACE = HERE.parents[1] / "shared" / "data" / "philly_jobs.csv"
SHIPPED = HERE.parent / "instances" / "elastic_stream"
NEAR = 0.01
"""Of its last value: how near a bound is to it."""
BAR_S, TRACE_BAR_S, TRACE_BAR_GB = 10.0, 600.0, 4.0
POLICY_S = 10.0
ENOUGH_S = 30.0
GROWTH = (50, 100, 200, 400, 800)
TICKED = ((5, 4), (10, 4), (20, 8))
"""Jobs and units."""


class Found(NamedTuple):
    """A certificate, and what was proven after how many seconds."""

    certificate: PricesCertificate
    path: Sequence[tuple[float, float]]

    @property
    def near_s(self) -> float:
        """Seconds until what was proven was within ``NEAR`` of what it is in the end."""
        return next(seconds for seconds, value in self.path if value >= (1 - NEAR) * self.certificate.value)


def found(instance: Instance) -> Found:
    """Search for prices, and note when they got better."""
    path, begin = [], time.perf_counter()

    def better(certificate: PricesCertificate) -> None:
        path.append((time.perf_counter() - begin, certificate.value))

    certificate = bounds.prices(instance, better=better)
    return Found(certificate, [*path, (time.perf_counter() - begin, certificate.value)])


def simple(instance: Instance) -> float:
    """The larger of area and length."""
    return max(bounds.area(instance).value, bounds.length(instance).value)


def verified(instance: Instance, certificate: PricesCertificate) -> float:
    """What a verifier finds proven; a claim beyond it is an error."""
    value = float(verify(instance, certificate))
    if not value >= certificate.value:
        raise RuntimeError(f"{instance.name}: claimed {certificate.value!r}, proven {value!r}")
    return value


def measured(page: Page, instance: Instance) -> tuple[Timing[Found], Timing[float], Timing[float]]:
    """Search, verification, and area and length, in turns."""
    last: list[Found] = []

    def search(turn: int) -> Found:
        last[:] = [found(instance)]
        return last[0]

    ways: dict[str, Callable[[int], object]] = {
        "prices": search,
        "verify": lambda turn: verified(instance, last[0].certificate),
        "area, length": lambda turn: simple(instance),
    }
    searched, checked, others = page.measure(instance.name, ways, 1 if page.quick else 3, enough_s=ENOUGH_S).values()
    return searched, checked, others  # type: ignore[return-value]


def kept(what: str, value: float, bar: float, unit: str) -> str:
    """A figure against what was wanted."""
    return f"{what}: {value:.3g} {unit}, at most {bar:.3g} wanted: {'yes' if value <= bar else 'NO'}"


def streams(quick: bool) -> list[Instance]:
    """Streams of 200 jobs, or so, of several kinds."""
    if quick:
        return [elastic_stream.generate(preset="poisson", jobs=15, gpus=16, seed=7, load=0.9)]
    return [
        elastic_stream.generate(preset="poisson", jobs=200, gpus=64, seed=7, load=0.9),
        elastic_stream.generate(preset="search", jobs=200, gpus=64, seed=7, load=0.9),
        pattern(mix="short-long-sub-linear", arrivals="bursts", units=64, load=0.9, jobs=200, seed=7),
        *(read(SHIPPED / f"{name}.json") for name in ("daynight-200x64-seed3", "resnet110-206x64")),
    ]


def add_streams(page: Page) -> None:
    """Streams of 200 jobs."""
    rows, nears, longest = [], [], []
    for instance in streams(page.quick):
        searched, checked, others = measured(page, instance)
        value, near_s = searched.answers[-1].certificate.value, statistics.median(x.near_s for x in searched.answers)
        nears.append(near_s)
        longest.append(checked.median / searched.median)
        rows.append(
            f"{instance.name} | {value:,.1f} | {near_s:.2f} | {searched.median:.2f} | {checked.median:.2f} | "
            f"{others.answers[-1]:,.1f} ({others.answers[-1] / value:.0%}) | {1e3 * others.median:.1f}"
        )
    page.add("## Streams of 200 jobs", "Bounds on the mean flow time, s; in brackets area and length over prices.")
    page.table("stream | prices | to within 1 %, s | to the end, s | verified, s | area, length | ms", rows)
    said = [kept("slowest to within 1 %", max(nears), BAR_S, "s")]
    page.add("; ".join([*said, kept("verifying over finding, at most", max(longest), 1.0, "times")]) + ".")


def add_growth(page: Page, sizes: Sequence[int]) -> None:
    """Seconds against jobs."""
    rows, last = [], 4
    curves: dict[str, list[Point]] = {"prices": [], "to within 1 %": [], "verify": []}
    for jobs in sizes:
        instance = elastic_stream.generate(preset="poisson", jobs=jobs, gpus=64, seed=0, load=0.9)
        searched, checked, others = measured(page, instance)
        near_s = statistics.median(each.near_s for each in searched.answers)
        for points, seconds in zip(curves.values(), (searched.median, near_s, checked.median), strict=True):
            points.append(Point(jobs, seconds))
        value = searched.answers[-1].certificate.value
        cells = f"{near_s:.2f} | {searched.median:.2f} | {checked.median:.2f} | {others.answers[-1] / value:.0%}"
        rows.append(f"{jobs:,} | {value:,.1f} | {cells}")
    page.add(
        "## Growth with the jobs", "`dlsched generate elastic_stream --preset poisson --gpus 64 --load 0.9 --seed 0`."
    )
    page.table("jobs | prices | to within 1 %, s | to the end, s | verified, s | area, length / prices", rows)
    slopes = ", ".join(f"{name} {shown(slope(points, last))}" for name, points in curves.items())
    page.add(f"Slopes of the last {last} sizes, 1 is linear: {slopes}.")
    if picture := page.picture("_growth"):
        draw({"jobs": curves}, picture, what="seconds", last=last)
        page.add(f"![Seconds against jobs]({picture.name})")


def whole_trace(path: str, jobs: int, quick: int) -> None:
    """Bound the trace, or its first jobs, and run every policy; print it all as JSON. It is called in a process of its own."""
    trace, _ = import_philly(path, gpus=400, max_gpus=8)
    instance = Instance(name=trace.name, units=trace.units, jobs=trace.jobs[:jobs])
    searched = found(instance)
    begin = time.perf_counter()
    verified(instance, searched.certificate)
    verified_s = time.perf_counter() - begin
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    policies = {}
    for name in list(POLICIES)[:3] if quick else POLICIES:
        ran = elastic_stream.solve(instance, method=name, limits=Limits(time_s=POLICY_S))
        whole = ran.status is not TerminationStatus.TIME_LIMIT
        policies[name] = (ran.objective if whole else None, ran.runtime_s)
        print(f"{name}: {ran.runtime_s:.1f} s", file=sys.stderr)
    said = {"jobs": len(instance.jobs), "value": searched.certificate.value, "path": searched.path}
    said |= {"intervals": len(searched.certificate.prices), "verified_s": verified_s, "peak_gb": peak_gb}
    print(json.dumps(said | {"simple": simple(instance), "policies": policies}))


def add_trace(page: Page) -> None:
    """The whole Philly trace, or that it is not there."""
    path = page.options.trace
    page.add("## The Philly trace")
    if not path.exists():
        page.add(f"Skipped: `{path.name}` was not found; give its path with `--trace`.")
        return
    jobs = 200 if page.quick else 10**6
    program = f"import stream_bounds; stream_bounds.whole_trace({str(path.resolve())!r}, {jobs}, {int(page.quick)})"
    command = [sys.executable, "-c", program]
    said = json.loads(subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True).stdout)
    value, path_s, verified_s = said["value"], said["path"], said["verified_s"]
    near_s = next(seconds for seconds, reached in path_s if reached >= (1 - NEAR) * value)
    taken_s = path_s[-1][0]
    page.raw["trace"] = {"prices": [taken_s], "verify": [verified_s]}
    page.add(
        f"`dlsched import {path.name} --source philly --gpus 400 --max-gpus 8`: {said['jobs']:,} jobs. "
        f"Prices on {said['intervals']:,} "
        f"intervals prove a mean flow time of {value / 3600:,.3f} h, area and length {said['simple'] / 3600:,.3f} h "
        f"({said['simple'] / value:.0%}). Found in {taken_s:.1f} s, within 1 % after {near_s:.1f} s, verified in "
        f"{verified_s:.1f} s; peak memory {said['peak_gb']:.2f} GB.",
        "; ".join(
            [
                kept("To the end", taken_s, TRACE_BAR_S, "s"),
                kept("memory", said["peak_gb"], TRACE_BAR_GB, "GB"),
                kept("verifying over finding", verified_s / taken_s, 1.0, "times"),
            ]
        )
        + ".",
    )
    ended = {name: (flow_s, seconds) for name, (flow_s, seconds) in said["policies"].items() if flow_s is not None}
    rows = [
        f"{name} | {seconds:.1f} | {flow_s / 3600:,.2f} | {ratio(flow_s, value):.3f} | {ratio(flow_s, said['simple']):.3f}"
        for name, (flow_s, seconds) in sorted(ended.items(), key=lambda each: each[1])
    ]
    page.table("policy | seconds | mean flow, h | / prices | / area, length", rows)
    best, (flow_s, _) = min(ended.items(), key=lambda each: each[1])
    page.add(f"The best of them, `{best}`, takes at most {ratio(flow_s, value):.3f} times as long as the best stream.")
    left_out = [f"`{name}`" for name in said["policies"] if name not in ended]
    page.add(f"Left out, as {POLICY_S:g} s were not enough: {', '.join(left_out) or 'none'}.")


def relaxed(instance: Instance) -> float:
    """What the linear relaxation of the time-indexed program proves, by HiGHS."""
    total_s = objective(instance, bounds.quick_stream(instance)) * len(instance.jobs)
    model = from_pulp(build_milp(instance, total_flow_s=total_s).model)
    outcome = solve_milp(replace(model, integer=np.zeros_like(model.integer)), isolated=False)
    if outcome.objective is None:
        raise RuntimeError(f"{instance.name}: HiGHS ended without an answer: {outcome.message}")
    return outcome.objective


def add_ticked(page: Page, sizes: Sequence[tuple[int, int]]) -> None:
    """Prices by slot beside the linear relaxation."""
    relaxed(elastic_stream.generate(preset="slots", jobs=2, gpus=2, seed=0))  # loads HiGHS
    rows = []
    for jobs, units in sizes:
        instance = elastic_stream.generate(preset="slots", jobs=jobs, gpus=units, seed=0)
        best_s = objective(instance, bounds.quick_stream(instance))
        ways: dict[str, Callable[[int], float]] = {
            "prices": lambda turn, of=instance: bounds.prices(of).value,
            "relaxation": lambda turn, of=instance: relaxed(of),
            "area, length": lambda turn, of=instance: simple(of),
        }
        ours, theirs, others = page.measure(instance.name, ways, 1 if page.quick else 3, enough_s=ENOUGH_S).values()
        values = (f"{each.answers[0]:,.2f}" for each in (ours, theirs, others))
        cells = f"{ours.median:.2f} | {theirs.median:.2f} | {theirs.over(ours):.2f}"
        rows.append(f"{jobs} x {units} | {best_s:,.2f} | {' | '.join(values)} | {cells}")
    page.add(
        "## Streams with ticks, beside the linear relaxation",
        "`dlsched generate elastic_stream --preset slots --jobs ... --gpus ... --seed 0`. Bounds on the mean flow time, s; "
        "*stream*: the better of two fast policies. Of 40 jobs on 16 units the relaxation alone takes more than ten minutes.",
    )
    heads = (
        "jobs x units | stream | prices | relaxation | area, length | prices, s | relaxation, s | relaxation / prices"
    )
    page.table(heads, rows)


def fill(page: Page) -> None:
    """Measure everything."""
    bounds.prices(elastic_stream.generate(preset="poisson", jobs=5, gpus=4, seed=0))  # loads what the search needs
    add_streams(page)
    add_growth(page, (10, 20) if page.quick else GROWTH)
    add_trace(page)
    add_ticked(page, TICKED[:1] if page.quick else TICKED)


if __name__ == "__main__":
    present("Bounds of streams by prices over time", __doc__, fill, trace=TRACE)
