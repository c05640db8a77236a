"""Does redistributing beat fixed allocations? Mean flow times of all policies of elastic_stream at three loads.

Protocol: 64 units, identical ResNet-110 jobs (160 epochs, at most 8 units, 10 s restart), Poisson arrivals with mean gaps
of 250, 500 and 1000 s and 206, 114 and 44 jobs; a cluster that is empty at first, and the flow times of all jobs. All
policies see the same 100 streams. Intervals are Student's t over seeds at 95 %; those of differences are paired.

    python benchmarks/trend.py               # 100 seeds in two processes, minutes; writes benchmarks/results/trend.md
    python benchmarks/trend.py --seeds 5     # fewer, no file
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import t
from table import machine, markdown

from dlsched import elastic_stream
from dlsched.core.arrays import FloatArray
from dlsched.elastic_stream.generator import RESNET110_S
from dlsched.elastic_stream.heuristics import ALIASES, GRID, PLAIN
from dlsched.elastic_stream.solution import Stream

UNITS, MOST, EPOCHS = 64, 8, 160
LOADS = ((250, 206), (500, 114), (1000, 44))
"""Mean gap between arrivals in seconds, and number of jobs."""

FIXED = (8, 4, 2, 1)
POLICIES: dict[str, Callable[..., Stream | None]] = {
    "doubling": PLAIN["doubling"],
    "marginal": PLAIN["marginal"],
    **{
        f"fixed, {units} unit{'s' * (units > 1)}": partial(elastic_stream.fixed, units_per_job=units) for units in FIXED
    },
    **{name: PLAIN[name] for name in ("equal", "exploratory", "myopic")},
    **GRID,
}
BOUND = "bound"
EARLIER = {
    "doubling": (6.6, 2.3, 1.4),
    "fixed, 8 units": (10.8, 2.9, 1.3),
    "fixed, 4 units": (8.0, 2.4, 2.1),
    "fixed, 2 units": (7.6, 3.7, 3.6),
    "fixed, 1 unit": (8.1, 6.1, 6.1),
}
"""Mean hours of an earlier simulation of ours, rounded."""


def load_of(gap_s: float) -> float:
    """Load at which the generator's mean gap is ``gap_s``."""
    area = EPOCHS * min(units * time_s for units, time_s in RESNET110_S.items())
    return area / (UNITS * gap_s)


def hours(seed: int) -> list[list[float]]:
    """Mean flow time in hours by load, of every policy and at last the bound."""
    rows = []
    for gap_s, jobs in LOADS:
        instance = elastic_stream.generate(
            preset="resnet110", jobs=jobs, gpus=UNITS, seed=seed, max_gpus=MOST, load=load_of(gap_s)
        )
        streams = [policy(instance) for policy in POLICIES.values()]
        flows = [elastic_stream.objective(instance, stream) for stream in streams if stream is not None]
        rows.append([seconds / 3600 for seconds in (*flows, elastic_stream.bound(instance).value)])
    return rows


def interval(values: FloatArray) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


def shown(values: FloatArray, sign: str = "") -> str:
    """Mean and interval in words."""
    mean, half = interval(values)
    return f"{mean:{sign}.2f} ± {half:.2f}"


def details(flows: FloatArray, load: int) -> str:
    """Table of all policies at one load; ``flows`` has the shape (seeds, policies and bound)."""
    names = [*POLICIES, BOUND]
    rows = []
    for index, name in enumerate(names):
        values = flows[:, index]
        difference = "-" if name in ("doubling", BOUND) else shown(values - flows[:, 0], "+")
        ratio = "1" if name == BOUND else f"{(values / flows[:, -1]).mean():.2f}"
        earlier = f"{EARLIER[name][load]}" if name in EARLIER else "-"
        rows.append([name, shown(values), difference, ratio, earlier])
    columns = ["policy", "mean flow time, h", "minus doubling, h", "over the bound, at most", "earlier simulation, h"]
    return markdown(columns, rows)


def summary(flows: list[FloatArray]) -> str:
    """Doubling and the fixed allocations beside the earlier figures, and which of them is best at each load."""
    names = list(POLICIES)
    rows = [
        [name, *(f"{shown(flows[load][:, names.index(name)])} ({EARLIER[name][load]})" for load in range(len(LOADS)))]
        for name in EARLIER
    ]
    text = [markdown(["policy", *(f"a job every {gap_s} s" for gap_s, _ in LOADS)], rows)]
    for load, (gap_s, _) in enumerate(LOADS):
        best = min(
            (name for name in EARLIER if name != "doubling"),
            key=lambda name: flows[load][:, names.index(name)].mean(),
        )
        mean, half = interval(flows[load][:, names.index(best)] - flows[load][:, 0])
        if abs(mean) <= half:
            verdict = "no difference that the seeds show"
        else:
            verdict = "doubling is better" if mean > 0 else "doubling is worse"
        text.append(
            f"- Every {gap_s} s: the best fixed allocation is {best.removeprefix('fixed, ')}; less doubling it takes "
            f"{mean:+.2f} ± {half:.2f} h: "
            f"{verdict}."
        )
    rounded = [
        abs(round(float(flows[load][:, names.index(name)].mean()), 1) - EARLIER[name][load])
        for name in EARLIER
        for load in range(len(LOADS))
    ]
    text.append(
        f"- Of the {len(rounded)} earlier means, {sum(gap < 0.05 for gap in rounded)} agree to the digit printed; the "
        f"largest difference is {max(rounded):.1f} h."
    )
    return "\n".join(text) + "\n"


def alike(flows: list[FloatArray]) -> str:
    """Sets of policies with the same mean flow time on every stream."""
    groups: dict[bytes, list[str]] = {}
    together = np.concatenate(flows)
    for index, name in enumerate(POLICIES):
        groups.setdefault(together[:, index].round(9).tobytes(), []).append(name)
    return "\n".join(f"- {', '.join(names)}" for names in groups.values() if len(names) > 1) + "\n"


def page(seeds: int) -> str:
    """Run everything."""
    begin = time.perf_counter()
    with multiprocessing.Pool(2) as pool:
        found = np.array(pool.map(hours, range(seeds), chunksize=1))
    taken = time.perf_counter() - begin
    flows = [found[:, load] for load in range(len(LOADS))]
    text = [
        "# The trend: redistributing against fixed allocations\n\n"
        f"`python benchmarks/trend.py`, {machine()}; {taken:.0f} s in two processes.\n\n"
        f"{UNITS} units, identical ResNet-110 jobs of {EPOCHS} epochs on at most {MOST} units (seconds per epoch "
        f"{', '.join(f'{time_s:g} on {units}' for units, time_s in RESNET110_S.items())}), 10 s restart, Poisson "
        f"arrivals, {seeds} seeds. Mean flow time in hours with its 95 % interval over seeds.\n\n"
        "**What is whose.** The abstract of Capes et al. 2018 (arXiv 1908.08082) gives no such numbers, and only the "
        "abstract was available. Policies, loads and job are our reconstruction; the speeds of the job are recalled, "
        "unverified. All figures are dlsched's own. Those in brackets and in the last columns are of an earlier "
        "simulation of ours, on streams of its own: agreement with them says that dlsched does what we meant, not that "
        "it does what the paper did.\n",
        "## The trend\n\nIn brackets: an earlier simulation of ours.\n\n" + summary(flows),
    ]
    for load, (gap_s, jobs) in enumerate(LOADS):
        command = f"--preset resnet110 --jobs {jobs} --gpus {UNITS} --max-gpus {MOST} --load {load_of(gap_s):g}"
        text.append(
            f"## {jobs} jobs, one every {gap_s} s on average\n\n"
            f"`dlsched generate elastic_stream {command} --seed ...`, seeds 0 to {seeds - 1}. The bound is the larger of "
            "area and length; no stream is below it, and the best stream may be far above it.\n\n"
            + details(flows[load], load)
        )
    text.append(
        "## Policies that coincide\n\n"
        "The jobs are identical and their counts are 1, 2, 4, 8: the next count is the double, all useful units and those "
        "above an efficiency of one half are 8, and some orders differ in nothing. Equal means on every stream:\n\n"
        + alike(flows)
        + "\nOther names of cells of the grid: "
        + ", ".join(f"{alias} is {name}" for alias, name in ALIASES.items())
        + " (fixed: 8 units). `las` stops jobs at every event for those that held less, without the queues of Tiresias "
        "that would keep it from that: where alike jobs wait, it lets all end late and pays for pauses.\n"
    )
    return "\n".join(text)


def main() -> None:
    """Measure and print; write the page when run with all seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    seeds = parser.parse_args().seeds
    if seeds < 2:
        parser.error("--seeds: an interval needs at least 2")
    text = page(seeds)
    print(text, end="")
    if seeds == parser.get_default("seeds"):
        Path(__file__).parent.joinpath("results", "trend.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
