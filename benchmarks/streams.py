"""How fast elastic_stream is: events a second on the Philly trace, growth with the jobs present, exact search beside HiGHS.

Seconds are of the processor for trace and growth, on the wall for the exact methods (HiGHS runs in a process of its own).

- Trace: all jobs of the Philly trace, each on all the units it asked for, shortest remaining time first, on 400 and on
  480 units. The clock runs over ``elastic_stream.run`` with a ``keep`` that notes the last end of each job, from which flow
  times follow; the instance is read before. Three turns. Equal share and doubling once. Against the queue, on a prefix, a policy
  that makes the pass it stands for at every event: sort all jobs present, go through them; and SimPy and ciw (not
  dependencies: what is not installed is left out, with a word). The same mean flow time is asserted. Memory: the peak
  of tracemalloc above what is held before ``run``, in runs of their own, over prefixes and rates of arrival.
- Growth: n jobs are present on 2n units and stay, while others come and go; the time from one question to the policy to the
  next one, median of the events of a run. Five turns, each a stream of its own. Bar: linear, up to a factor of log.
- Exact: search over slots against HiGHS on the time-indexed program, each as ``solve`` runs it, policies and checks
  included; HiGHS gets 60 s. Three turns, of each method as many as start within its first 10 s. Equal optima are asserted.

The trace is not part of this repository: ``philly_jobs.csv`` of petuum/adaptdl, branch osdi21-artifact. Without it, by
default in ../shared/data beside this repository, its part is skipped.
"""

import math
import time
from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from against import WORDS, add_proofs, summary, warm
from growth import Point, draw, shown, slope
from measure import Page, peak_bytes, present
from stream_peers import add_peers
from stream_runs import ALL_UNITS, NUMBA, Stream, compile_from, first_jobs, simulated, summed_up, whole_jobs

from dlsched import elastic_stream
from dlsched.elastic_stream import Instance, Policy, View
from dlsched.elastic_stream.policies import Doubling, EqualShare, Marginal, Myopic
from dlsched.traces import import_philly

TRACE = Path(__file__).parents[2] / "shared" / "data" / "philly_jobs.csv"
CLUSTERS = (400, 480)
MEMORY_UNITS = 1000
PREFIX = 20_000  # jobs of the comparison
GROWTH = {"equal share": EqualShare, "doubling": Doubling, "marginal": Marginal, "myopic": Myopic}
MILP_LIMIT_S = 60.0


class Sorting:
    """The pass that ``whole_jobs`` stands for, made at every event: sort all jobs present, let run who fits."""

    clairvoyant = False

    def decide(self, view: View) -> dict[int, int]:
        """Shortest remaining time first."""
        sizes = {job: ALL_UNITS(view, job) for job in view}
        left, answer = view.units, {}
        for job in sorted(sizes, key=lambda job: (view.time_left_s(job, sizes[job]), job)):
            answer[job] = sizes[job] if sizes[job] <= left else 0
            left -= answer[job]
        return answer


class Enough(Exception):  # noqa: N818  a signal, not an error
    """All events that were to be timed have been."""


class Timed:
    """A policy, and when it was asked; it stops the simulation after ``events`` questions more than two."""

    clairvoyant = False

    def __init__(self, policy: Policy, events: int) -> None:
        self.policy, self.left, self.asked_s = policy, events + 2, list[float]()

    def decide(self, view: View) -> Mapping[int, int]:
        """Note the time and pass the question on."""
        self.asked_s.append(time.process_time())
        self.left -= 1
        if self.left < 0:
            raise Enough
        return self.policy.decide(view)


def add_speed(page: Page, trace: Instance) -> None:
    """Events a second of the whole trace, interpreted and compiled."""
    clusters = {units: first_jobs(trace, len(trace.jobs), units) for units in CLUSTERS}
    kinds = {"no": math.inf, "yes": 1} if NUMBA else {"no": math.inf}
    if NUMBA:
        compile_from(1)
        simulated(first_jobs(trace, 10, CLUSTERS[0]), whole_jobs())  # compiles, off the clock

    def way(units: int, least: float) -> tuple[Instance, int, int, array]:
        compile_from(least)
        return simulated(clusters[units], whole_jobs())

    ways = {f"{u} | {n}": lambda _, u=u, least=least: way(u, least) for u in CLUSTERS for n, least in kinds.items()}
    rows = []
    for name, timing in page.measure("trace", ways, 3, clock=time.process_time, keep=summed_up).items():
        found, taken = timing.answers[0], timing.median
        every = len(trace.jobs) + 2 * found.periods
        turns = ", ".join(f"{each:.2f}" for each in timing.seconds)
        rows.append(
            f"{name} | {taken:.2f} ({turns}) | {every:,} | {every / taken:,.0f} | {found.events:,} | "
            f"{found.events / taken:,.0f} | {found.flow_s / 3600:.2f}"
        )
    compile_from(math.inf)
    page.add(
        f"All {len(trace.jobs):,} jobs, in order of the shortest remaining time. *Job events*: arrivals, starts, stops, ends: "
        "jobs + 2 x periods. *Arrivals and ends* is what `run` returns. With Numba the same bits; compiling it, once, is off "
        f"the clock.{'' if NUMBA else ' Numba is not installed: its rows are left out.'} The other parts are without it."
    )
    page.table(
        "units | Numba | median (turns), s | job events | a second | arrivals and ends | a second | mean flow, h", rows
    )


def add_sharing(page: Page, trace: Instance) -> None:
    """Policies that look at all jobs present at every event, on the whole trace."""
    instance = first_jobs(trace, len(trace.jobs), CLUSTERS[0])
    ways = {name: lambda _, make=GROWTH[name]: simulated(instance, make()) for name in ("equal share", "doubling")}
    rows = []
    for name, timing in page.measure("all jobs", ways, 1, clock=time.process_time, keep=summed_up).items():
        found = timing.answers[0]
        every = len(trace.jobs) + 2 * found.periods
        rows.append(
            f"{name} | {timing.median:.1f} | {found.most:,} | {every:,} | {every / timing.median:,.0f} | "
            f"{found.flow_s / 3600:.2f}"
        )
    page.add(
        "### Shares of all jobs present", f"All {len(trace.jobs):,} jobs on {CLUSTERS[0]} units, looked at as arrays."
    )
    page.table("policy | s | most jobs present | job events | a second | mean flow, h", rows)


def add_sorting(page: Page, trace: Instance, jobs: int) -> None:
    """The queue against a pass at every event, on a prefix."""
    rows = []
    for units in CLUSTERS:
        instance = first_jobs(trace, jobs, units)
        policies = {"queue": whole_jobs, "sorting": Sorting}
        ways = {name: lambda _, i=instance, make=make: simulated(i, make()) for name, make in policies.items()}
        how = {"clock": time.process_time, "enough_s": 10, "keep": summed_up, "same": Stream.same}
        queue, sorting = page.measure(f"sorting, {units} units", ways, 3, **how).values()
        events, most = queue.answers[0].events, queue.answers[0].most
        rows.append(
            f"{units} | {most:,} | {queue.median:.2f} | {events / queue.median:,.0f} | {sorting.median:.1f} | "
            f"{events / sorting.median:,.0f} | {sorting.over(queue):.0f}"
        )
    words = f"The first {jobs:,} jobs; both give the same mean flow time. *A second*: arrivals and ends."
    page.add("### Against sorting all jobs present at every event", words)
    page.table("units | most jobs present | queue, s | a second | sorting, s | a second | sorting / queue", rows)


def forget(job: int, start_s: float, end_s: float, units: int) -> None:
    """Keep nothing."""


def add_memory(page: Page, trace: Instance, prefixes: Sequence[int], faster: Sequence[int]) -> None:
    """Peak memory when jobs in all grow and when jobs present grow."""
    rows, counts, peaks = [], [], []
    for jobs, factor in [*((jobs, 1) for jobs in prefixes), *((prefixes[0], factor) for factor in faster)]:
        instance = first_jobs(trace, jobs, MEMORY_UNITS, factor)
        most = summed_up(simulated(instance, whole_jobs())).most
        peaks.append(peak_bytes(partial(elastic_stream.run, instance, whole_jobs(), forget)))
        counts.append((most, jobs))
        rows.append(f"{jobs:,} | {factor} | {most:,} | {peaks[-1] / 1e6:.2f}")
    page.raw["memory: jobs present, jobs, bytes"] = [[*count, peak] for count, peak in zip(counts, peaks, strict=True)]
    fit, *_ = np.linalg.lstsq(np.array(counts, dtype=float), np.array(peaks, dtype=float))
    error = max(abs(float(fit @ count) / peak - 1) for count, peak in zip(counts, peaks, strict=True))
    words = (
        f"On {MEMORY_UNITS} units: prefixes of the trace, and the first of them with arrivals so many times as fast."
    )
    page.add("### Memory", words)
    page.table("jobs in all | times as fast | most jobs present | peak, MB", rows)
    page.add(
        f"Least squares: {fit[0]:,.0f} bytes a job present and {fit[1]:,.0f} bytes a job in all, off by at most "
        f"{error:.0%}. What goes with all jobs is what the loop for queues knows of each, made first; the rest is of jobs "
        "present and their entries in queues."
    )


def add_trace(page: Page) -> None:
    """All that is measured on the trace, or that it is not there."""
    path = page.options.trace
    page.add("## The Philly trace")
    if not path.exists():
        page.add(f"Skipped: `{path.name}` was not found; give its path with `--trace`.")
        return
    begin = time.process_time()
    trace, _ = import_philly(str(path), gpus=CLUSTERS[0])
    words = f"read and validated in {time.process_time() - begin:.1f} s, before the clock"
    page.add(f"`dlsched import {path.name} --source philly --gpus 400`, {words}.")
    if page.quick:
        trace = first_jobs(trace, 2000, CLUSTERS[0])
    jobs = len(trace.jobs)
    add_speed(page, trace)
    add_sharing(page, trace)
    add_sorting(page, trace, min(PREFIX, jobs))
    add_peers(page, first_jobs(trace, min(PREFIX, jobs), CLUSTERS[0]))
    add_memory(page, trace, [jobs // 4, jobs // 2, jobs], [4, 16, 64])


def crowded(jobs: int, events: int, seed: int) -> Instance:
    """So many jobs that stay, on twice the units, and others that come and go, one each 200 s."""
    generator = np.random.default_rng(seed)
    records = []
    for index in range(jobs + events):
        stays = index < jobs
        loss = float(generator.uniform(0.0, 0.4))
        epochs = float(generator.lognormal(math.log(1e8), 1.0)) if stays else 50.0
        speeds = {units: loss + (1 - loss) / units for units in (1, 2, 4, 8)}
        arrival_s = 0.0 if stays else 1e5 + 200.0 * (index - jobs)
        law = {"epochs": epochs, "epoch_time_s": speeds, "restart_s": 10.0}
        records.append({"id": f"j{index}", "arrival_s": arrival_s, **law})
    return Instance(name="crowded", units=2 * jobs, jobs=records)


def seconds_an_event(policy: Policy, instance: Instance, events: int) -> float:
    """Median seconds from event to event of a crowded stream, without the first one, at which all jobs arrive."""
    timed = Timed(policy, events)
    try:
        elastic_stream.run(instance, timed, forget)
    except Enough:
        return float(np.median(np.diff(timed.asked_s[1:])))
    raise RuntimeError("the stream ended before all events were timed")


def add_growth(page: Page, sizes: Sequence[int]) -> None:
    """Time of an event against the jobs present, as a table and a picture."""
    curves: dict[str, list[Point]] = {name: [] for name in GROWTH}
    for jobs in sizes:
        streams = [crowded(jobs, 30, seed) for seed in range(2 if page.quick else 5)]
        policies = GROWTH.items()
        ways = {
            name: lambda turn, s=streams, make=make: seconds_an_event(make(), s[turn], 30) for name, make in policies
        }
        for name, timing in page.measure(f"{jobs} jobs present", ways, len(streams), stated_s=float).items():
            curves[name].append(Point(jobs, timing.median))
    last = (len(sizes) + 2) // 2
    first, most = sizes[-last], sizes[-1]
    sorting = 1 + math.log(math.log(most) / math.log(first)) / math.log(most / first)
    page.add(
        "## Growth with the jobs present",
        "Milliseconds an event with n jobs present on 2n units (counts 1, 2, 4, 8; pauses of 10 s), median of "
        f"{len(streams)} streams. With equal shares every event changes the units of every job. The slope is that of the "
        f"logarithms, with its 95 % interval: 1 is linear, n log n has {sorting:.2f} from {first:,} to {most:,}. Myopic "
        "solves knapsacks exactly: at few jobs their fixed cost and how hard they happen to be count for most.",
    )
    rows = [
        f"{name} | {' | '.join(f'{1e3 * point.seconds:.2f}' for point in points)} | {1e6 * points[-1].seconds / most:.1f} | "
        f"{shown(slope(points, len(points)))} | {shown(slope(points, last))}"
        for name, points in curves.items()
    ]
    heads = " | ".join(f"n = {jobs:,}" for jobs in sizes)
    page.table(f"policy | {heads} | last, us a job | slope | slope from {first:,} on", rows)
    if picture := page.picture("_growth"):
        draw({"jobs present n, on 2n units": curves}, picture, what="seconds of an event", last=last)
        page.add(f"![Time of an event against jobs present]({picture.name})")


def add_exact(page: Page, sizes: Sequence[tuple[int, int]]) -> None:
    """Search over slots against HiGHS."""
    others = [("milp", "highs")]
    warm(elastic_stream, [("exact", None), *others])
    page.add(
        "## Exact: search over slots against HiGHS",
        "`dlsched generate elastic_stream --preset slots --jobs ... --gpus ... --seed 0`: ticks of 60 s, jobs of one to five "
        f"minutes on one unit. Both make the streams of all policies first; after {MILP_LIMIT_S:g} s HiGHS is stopped. {WORDS}",
    )
    instances = {
        f"{jobs} x {units}": elastic_stream.generate(preset="slots", jobs=jobs, gpus=units, seed=0)
        for units, jobs in sizes
    }
    how = {"limit_s": None, "others": others, "others_limit_s": MILP_LIMIT_S, "tolerance": 1e-9}
    page.add(f"Search over slots: {summary(add_proofs(page, elastic_stream, 'jobs x units', instances, **how))}.")


def fill(page: Page) -> None:
    """Measure everything."""
    add_trace(page)
    add_growth(page, [16, 32, 64] if page.quick else [2**power for power in range(5, 13)])
    add_exact(page, [(3, 3)] if page.quick else [(units, jobs) for units in (3, 4) for jobs in range(3, 9)])


if __name__ == "__main__":
    present("Speed of streams", __doc__, fill, trace=TRACE)
