"""How fast is elastic_stream: simulation of a trace, growth with the jobs present, exact search against HiGHS.

Protocol: one thread; times of one run on one machine, compared only with each other: CPU seconds of the process for
trace and growth, as other processes may run beside it, and seconds on the wall for the exact methods (HiGHS runs in a
process of its own).

- Trace: all jobs of the Philly trace, each on all the units it asked for, shortest remaining time first, on 400 and on
  480 units. The clock runs over ``simulator.run`` with a ``keep`` that notes the last end of each job, from which flow
  times follow; the instance is read before. Best of three. Against it, on a prefix, a policy that makes the pass it
  stands for at every event: sort all jobs present, go through them; the same mean flow time is asserted. Memory: the
  peak of tracemalloc above what is held before ``run``, in runs of their own, over prefixes and rates of
  arrival.
- Growth: n jobs are present on 2n units and stay, while others come and go; the time from one question to the policy to
  the next one, median of the events of a run, median of five runs. Bar: linear in the jobs present, up to a factor of log.
- Exact: search over slots against HiGHS on the time-indexed program, each as ``solve`` runs it, policies and checks
  included; HiGHS gets 60 s. Equal optima are asserted.

    python benchmarks/streams.py [philly_jobs.csv]    # ten minutes; results/streams.md and results/streams_growth.png
    python benchmarks/streams.py --quick              # small, no file

The trace is not part of this repository: ``philly_jobs.csv`` of petuum/adaptdl, branch osdi21-artifact. Without it, by
default in ../shared/data beside this repository, its part is skipped.
"""

import argparse
import itertools
import math
import statistics
import time
import tracemalloc
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched import elastic_stream
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import Instance, Policy, View
from dlsched.elastic_stream.policies import Doubling, EqualShare, Fixed, Marginal, Myopic, Queue
from dlsched.traces.philly import import_philly

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
TRACE = ROOT.parent / "shared" / "data" / "philly_jobs.csv"
CLUSTERS = (400, 480)
ALL_UNITS = Fixed(1024)
MEMORY_UNITS = 1000
PREFIX = 20_000  # jobs of the comparison
GROWTH: dict[str, Callable[[], Policy]] = {
    "equal share": EqualShare,
    "doubling": Doubling,
    "marginal": Marginal,
    "myopic": Myopic,
}
MILP_LIMIT_S = 60.0


def whole_jobs() -> Policy:
    """Shortest remaining time first, every job on all the units it asked for."""
    return Queue("srpt", ALL_UNITS)


class Sorting:
    """The pass that ``whole_jobs`` stands for, made at every event: sort all jobs present, let run who fits."""

    clairvoyant = False

    def decide(self, view: View) -> dict[int, int]:
        """Shortest remaining time first."""
        sizes = {job: ALL_UNITS(view, job) for job in view}
        left = view.units
        answer = {}
        for job in sorted(sizes, key=lambda job: (view.time_left_s(job, sizes[job]), job)):
            answer[job] = sizes[job] if sizes[job] <= left else 0
            left -= answer[job]
        return answer


class Watched:
    """A policy, and the largest number of jobs that it has seen at once."""

    def __init__(self, policy: Policy) -> None:
        self.clairvoyant = policy.clairvoyant
        self.policy, self.most = policy, 0

    def decide(self, view: View) -> Mapping[int, int]:
        """Pass the question on."""
        self.most = max(self.most, len(view))
        return self.policy.decide(view)


class Enough(Exception):  # noqa: N818  a signal, not an error
    """All events that were to be timed have been."""


class Timed:
    """A policy, and the seconds from one question to the next one; it stops the simulation after so many."""

    clairvoyant = False

    def __init__(self, policy: Policy, events: int) -> None:
        self.policy, self.left = policy, events + 2
        self.asked_s: list[float] = []

    def decide(self, view: View) -> Mapping[int, int]:
        """Note the time and pass the question on."""
        self.asked_s.append(time.process_time())
        self.left -= 1
        if self.left < 0:
            raise Enough
        return self.policy.decide(view)

    def median_s(self) -> float:
        """Median over the events, without the first one, at which all jobs arrive."""
        return statistics.median(later - sooner for sooner, later in itertools.pairwise(self.asked_s[1:]))


def simulated(instance: Instance, policy: Policy) -> tuple[float, int, int, float]:
    """Seconds of a run, its arrivals and ends, its periods, and the mean flow time in seconds."""
    ends = array("d", [job.arrival_s for job in instance.jobs])
    periods = 0

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        nonlocal periods
        ends[job] = end_s
        periods += 1

    begin = time.process_time()
    events = elastic_stream.run(instance, policy, keep)
    taken = time.process_time() - begin
    flow_s = math.fsum(ends) - math.fsum(job.arrival_s for job in instance.jobs)
    return taken, events, periods, flow_s / len(ends)


def first_jobs(instance: Instance, jobs: int, units: int) -> Instance:
    """A prefix of the stream on a cluster."""
    return Instance(name=instance.name, units=units, jobs=instance.jobs[:jobs])


def speed_text(trace: Instance) -> str:
    """Events a second of the whole trace."""
    rows = []
    for units in CLUSTERS:
        instance = first_jobs(trace, len(trace.jobs), units)
        runs = [simulated(instance, whole_jobs()) for _ in range(3)]
        taken, events, periods, flow_s = min(runs)
        every = len(instance.jobs) + 2 * periods
        rows.append(
            [
                str(units),
                f"{taken:.2f} ({', '.join(f'{run[0]:.2f}' for run in runs)})",
                f"{events:,}",
                f"{events / taken:,.0f}",
                f"{every:,}",
                f"{every / taken:,.0f}",
                f"{flow_s / 3600:.2f}",
            ]
        )
    columns = ["units", "best of three, s", "arrivals and ends", "a second", "all events", "a second", "mean flow, h"]
    return (
        f"All {len(trace.jobs):,} jobs. *Arrivals and ends* is what `run` returns. *All events*: arrivals, starts, stops "
        "and ends, that is jobs + 2 x periods.\n\n" + markdown(columns, rows)
    )


def against_sorting(trace: Instance, jobs: int) -> str:
    """The queue against a pass at every event, on a prefix."""
    rows = []
    for units in CLUSTERS:
        instance = first_jobs(trace, jobs, units)
        watched = Watched(whole_jobs())
        simulated(instance, watched)
        ours, events, _, flow_s = min(simulated(instance, whole_jobs()) for _ in range(3))
        theirs, their_events, _, their_flow_s = simulated(instance, Sorting())
        if events != their_events or not math.isclose(flow_s, their_flow_s, rel_tol=1e-9):
            raise RuntimeError(f"streams differ: {flow_s} and {their_flow_s} s of mean flow time")
        rows.append(
            [
                str(units),
                f"{watched.most:,}",
                f"{ours:.2f}",
                f"{events / ours:,.0f}",
                f"{theirs:.1f}",
                f"{events / theirs:,.0f}",
                f"{theirs / ours:.0f}",
            ]
        )
    columns = [
        "units",
        "most jobs present",
        "queue, s",
        "arrivals and ends a second",
        "sorting at every event, s",
        "arrivals and ends a second",
        "sorting / queue",
    ]
    return f"The first {jobs:,} jobs; both give the same mean flow time.\n\n" + markdown(columns, rows)


def peak_bytes(instance: Instance) -> tuple[int, int]:
    """Peak memory of a run, and the largest number of jobs present."""
    policy = Watched(whole_jobs())
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    elastic_stream.run(instance, policy, _forget)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak, policy.most


def _forget(job: int, start_s: float, end_s: float, units: int) -> None:
    """Keep nothing."""


def memory_text(trace: Instance, prefixes: list[int], faster: list[int]) -> str:
    """Peak memory when jobs in all grow and when jobs present grow."""
    streams = [(first_jobs(trace, jobs, MEMORY_UNITS), 1) for jobs in prefixes]
    for factor in faster:
        jobs = [job.model_copy(update={"arrival_s": job.arrival_s / factor}) for job in trace.jobs[: prefixes[0]]]
        streams.append((Instance(name=trace.name, units=MEMORY_UNITS, jobs=jobs), factor))
    rows, counts, peaks = [], [], []
    for instance, factor in streams:
        peak, most = peak_bytes(instance)
        counts.append((most, len(instance.jobs)))
        peaks.append(peak)
        rows.append([f"{len(instance.jobs):,}", str(factor), f"{most:,}", f"{peak / 1e6:.2f}"])
    fit, *_ = np.linalg.lstsq(np.array(counts, dtype=float), np.array(peaks, dtype=float))
    error = max(abs(float(fit @ count) / peak - 1) for count, peak in zip(counts, peaks, strict=True))
    return (
        f"On {MEMORY_UNITS} units: prefixes of the trace, and the first of them with arrivals so many times as fast.\n\n"
        + markdown(["jobs in all", "times as fast", "most jobs present", "peak, MB"], rows)
        + f"\nLeast squares: {fit[0]:,.0f} bytes a job present and {fit[1]:,.0f} bytes a job in all, off by at most "
        f"{error:.0%}. What goes with all jobs is their order of arrival, which is made first: a list of numbers; the "
        "rest is of jobs present and their entries in queues.\n"
    )


def crowded(jobs: int, events: int, seed: int) -> Instance:
    """So many jobs that stay, on twice the units, and others that come and go, one each 200 s."""
    generator = np.random.default_rng(seed)
    records = []
    for index in range(jobs + events):
        stays = index < jobs
        loss = float(generator.uniform(0.0, 0.4))
        epochs = float(generator.lognormal(math.log(1e8), 1.0)) if stays else 50.0
        records.append(
            {
                "id": f"j{index}",
                "arrival_s": 0.0 if stays else 1e5 + 200.0 * (index - jobs),
                "epochs": epochs,
                "epoch_time_s": {units: loss + (1 - loss) / units for units in (1, 2, 4, 8)},
                "restart_s": 10.0,
            }
        )
    return Instance(name="crowded", units=2 * jobs, jobs=records)


def seconds_an_event(policy: Policy, instance: Instance, events: int) -> float:
    """Median seconds from event to event of a crowded stream."""
    timed = Timed(policy, events)
    try:
        elastic_stream.run(instance, timed, _forget)
    except Enough:
        return timed.median_s()
    raise RuntimeError("the stream ended before all events were timed")


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Exponent of the power law through the points, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth_text(sizes: list[int], picture: Path | None) -> str:
    """Time of an event against the jobs present, as a table and a picture."""
    taken: dict[str, list[float]] = {name: [] for name in GROWTH}
    for jobs in sizes:
        streams = [crowded(jobs, 30, seed) for seed in range(5)]
        found = [{name: seconds_an_event(make(), stream, 30) for name, make in GROWTH.items()} for stream in streams]
        for name in GROWTH:
            taken[name].append(statistics.median(each[name] for each in found))
    upper = len(sizes) // 2 - 1 + len(sizes) % 2
    slopes = {name: slope(sizes[upper:], seconds[upper:]) for name, seconds in taken.items()}
    if picture is not None:
        draw(
            sizes, taken, {name: f"{name}, slope {value:.2f}" for name, value in slopes.items()}, sizes[upper], picture
        )
    rows = [
        [
            name,
            *(f"{1e3 * each:.2f}" for each in seconds),
            f"{1e6 * seconds[-1] / sizes[-1]:.1f}",
            f"{slope(sizes, seconds):.2f}",
            f"{slopes[name]:.2f}",
        ]
        for name, seconds in taken.items()
    ]
    first, last = sizes[upper], sizes[-1]
    sorting = 1 + math.log(math.log(last) / math.log(first)) / math.log(last / first)
    columns = ["policy", *(f"n = {jobs:,}" for jobs in sizes)]
    return (
        "Milliseconds an event with n jobs present on 2n units (counts 1, 2, 4, 8; pauses of 10 s), median of five "
        "streams. With equal shares every event changes the units of every job. The slope is that of the logarithms: 1 is "
        f"linear, n log n has {sorting:.2f} from {first:,} to {last:,}. Myopic solves knapsacks exactly: at few jobs "
        "their fixed cost and how hard they happen to be count for most.\n\n"
        + markdown([*columns, "last, us a job", "slope", f"slope from {first:,} on"], rows)
        + "\n![Time of an event against jobs present](streams_growth.png)\n"
    )


def draw(
    sizes: list[int], taken: dict[str, list[float]], labels: dict[str, str], fitted_from: int, picture: Path
) -> None:
    """Draw times against jobs present, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from dlsched.plots.comparison import COLOURS

    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for (name, seconds), colour, marker in zip(taken.items(), COLOURS, "os^D", strict=False):
        axes.loglog(
            sizes, [1e3 * each for each in seconds], marker=marker, color=colour, markersize=5, label=labels[name]
        )
    least = 1e3 * min(seconds[0] for seconds in taken.values())
    line = [0.6 * least * jobs / sizes[0] for jobs in sizes]
    axes.loglog(sizes, line, color="0.5", linestyle="--", linewidth=1, label="linear")
    axes.set_xticks(sizes, [f"{jobs:,}" for jobs in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("jobs present n, on 2n units")
    axes.set_ylabel("time of an event, ms")
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False, loc="upper left", title=f"slopes from {fitted_from:,} on", alignment="left")
    figure.savefig(picture, dpi=150, metadata={"Software": None})
    plt.close(figure)


def exact_text(sizes: list[tuple[int, int]]) -> str:
    """Search over slots against HiGHS."""
    warm = elastic_stream.example()
    for method in ("exact", "milp"):
        elastic_stream.solve(warm, method=method)
    rows = []
    for units, jobs in sizes:
        instance = elastic_stream.generate(preset="slots", jobs=jobs, gpus=units, seed=0)
        ours = min((elastic_stream.solve(instance) for _ in range(3)), key=lambda result: result.runtime_s)
        theirs = elastic_stream.solve(instance, method="milp", limits=Limits(time_s=MILP_LIMIT_S))
        if ours.status is not TerminationStatus.OPTIMAL:
            raise RuntimeError(f"{instance.name}: no proven optimum")
        proven = theirs.status is TerminationStatus.OPTIMAL
        if proven and not math.isclose(ours.objective, theirs.objective, rel_tol=1e-9):
            raise RuntimeError(f"{instance.name}: optima differ, {ours.objective} and {theirs.objective}")
        ratio = theirs.runtime_s / ours.runtime_s
        rows.append(
            [
                f"{jobs} x {units}",
                f"{ours.objective:.4f}",
                f"{ours.runtime_s:.3f}",
                "the same" if proven else f"{theirs.bound:.4f} .. {theirs.objective:.4f}",
                f"{theirs.runtime_s:.2f}" if proven else f"> {MILP_LIMIT_S:g}",
                f"{ratio:,.0f}" if proven else f"> {ratio:,.0f}",
            ]
        )
    columns = [
        "jobs x units",
        "optimum, s",
        "slots, s",
        "HiGHS: optimum, or bound and best",
        "HiGHS, s",
        "HiGHS / slots",
    ]
    return (
        "`dlsched generate elastic_stream --preset slots --jobs ... --gpus ... --seed 0`: ticks of 60 s, jobs of one to "
        "five minutes on one unit. Ours is the best of three, HiGHS runs once, both with the streams of all policies "
        f"first; after {MILP_LIMIT_S:g} s HiGHS is stopped.\n\n" + markdown(columns, rows)
    )


def trace_text(path: Path, quick: bool) -> list[str]:
    """All that is measured on the trace, or that it is not there."""
    head = "## The Philly trace\n\n"
    if not path.exists():
        return [f"{head}Skipped: `{path.name}` was not found; give its path as the argument.\n"]
    begin = time.process_time()
    trace, _ = import_philly(str(path), gpus=CLUSTERS[0])
    taken = time.process_time() - begin
    prefixes = [2000, 4000] if quick else [20_000, 40_000, len(trace.jobs)]
    if quick:
        trace = first_jobs(trace, prefixes[-1], CLUSTERS[0])
    return [
        f"{head}`dlsched import philly {path.name} --gpus 400`, read and validated in {taken:.1f} s, before the clock.\n",
        speed_text(trace),
        "### Against sorting all jobs present at every event\n\n"
        + against_sorting(trace, min(PREFIX, len(trace.jobs))),
        "### Memory\n\n" + memory_text(trace, prefixes, [4, 16, 64]),
    ]


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, default=TRACE)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    quick = options.quick
    jobs = [32, 64] if quick else [2**power for power in range(5, 13)]
    sizes = list(itertools.product((3,), (3, 4)) if quick else itertools.product((3, 4), range(3, 9)))
    text = [
        f"# Speed of streams\n\n`python benchmarks/streams.py`, {machine()}. One thread; CPU seconds, of exact "
        "methods seconds on the wall.\n",
        *trace_text(options.trace, quick),
        "## Growth with the jobs present\n\n" + growth_text(jobs, None if quick else RESULTS / "streams_growth.png"),
        "## Exact: search over slots against HiGHS\n\n" + exact_text(sizes),
    ]
    page = "\n".join(text)
    print(page, end="")
    if not quick:
        RESULTS.joinpath("streams.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
