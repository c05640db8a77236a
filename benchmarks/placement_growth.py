"""Time of the methods of matching_placement against the number of jobs and of workers.

Protocol: one thread, seconds on the wall, each method once as ``solve`` runs it, checks included; median of three seeds.
``exact`` and ``sampled-market`` stop after 60 s; the others take no limit. A point of which the median run did not end as
it should (a limit, or no proof) is drawn hollow and is no part of the slopes; larger ones of the same method are left out.

- Jobs: 5 to 320 of ``published-rates``, five types; 3, 4 and 5 workers a job with seeds 0, 1 and 2.
- Workers: 40 to 2,000 of four types, 20 jobs; the first three seeds whose draw of ``few-types`` has four.

    python benchmarks/placement_growth.py            # writes results/placement_growth.md and results/placement_growth.png
    python benchmarks/placement_growth.py --quick    # small, no file
"""

import argparse
import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched import matching_placement
from dlsched.core.budget import TooMany
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import Instance

RESULTS = Path(__file__).parent / "results"
LIMIT_S = 60.0
METHODS = ("exact", "configuration-lp", "beam", "local-search", "sampled-market")
JOBS = [5 * 2**power for power in range(7)]
WORKERS = [40, 100, 200, 400, 1000, 2000]
FITTED = 4  # points at the end that slopes are fitted to


@dataclass(frozen=True)
class Point:
    """Median seconds of a method at a size, and how many of ``runs`` runs ended as they should."""

    size: int
    seconds: float
    ended: int
    runs: int

    @property
    def whole(self) -> bool:
        """Whether the median is of a run that ended as it should."""
        return 2 * self.ended > self.runs


Curves = dict[str, list[Point]]


def more_jobs(jobs: int) -> list[Instance]:
    """Five published types, 3 to 5 workers a job."""
    return [
        matching_placement.generate(preset="published-rates", jobs=jobs, gpus=(3 + seed) * jobs, seed=seed)
        for seed in range(3)
    ]


def more_workers(workers: int) -> list[Instance]:
    """20 jobs, four types."""
    drawn = (matching_placement.generate(jobs=20, gpus=workers, seed=seed) for seed in itertools.count())
    return list(itertools.islice((instance for instance in drawn if len(instance.types) == 4), 3))


def measured(method: str, size: int, instances: Sequence[Instance]) -> Point:
    """Run a method on all instances of a size; runs cut short count as longest, and two of them are enough."""
    taken, ended = [], 0
    for instance in instances:
        begin = time.perf_counter()
        try:
            status = matching_placement.solve(instance, method=method, limits=Limits(time_s=LIMIT_S)).status
        except TooMany:  # the pricing has too many labels, which ``solve`` ought to catch
            status = TerminationStatus.SOLVER_ERROR
        whole = status is (TerminationStatus.OPTIMAL if method == "exact" else TerminationStatus.FEASIBLE)
        ended += whole
        taken.append((not whole, time.perf_counter() - begin))
        if 2 * (len(taken) - ended) > len(instances):
            break
    seconds = sorted(taken)[min(len(taken) - 1, len(instances) // 2)][1]
    print(method, size, *(f"{each:.3f}{'*' * cut}" for cut, each in taken), flush=True)
    return Point(size, seconds, ended, len(instances))


def curves(sizes: Sequence[int], make: Callable[[int], list[Instance]]) -> Curves:
    """Every method at growing sizes, up to the first at which its median run is cut short."""
    found: Curves = {method: [] for method in METHODS}
    for size in sizes:
        instances = make(size)
        for method, points in found.items():
            if not points or points[-1].whole:
                points.append(measured(method, size, instances))
    return found


def slope(points: Sequence[Point]) -> float | None:
    """Exponent of the power law through the last points, by least squares of the logarithms."""
    fitted = [point for point in points if point.whole][-FITTED:]
    if len(fitted) < 2:
        return None
    return float(np.polyfit(np.log([each.size for each in fitted]), np.log([each.seconds for each in fitted]), 1)[0])


def shown(value: float | None) -> str:
    """A slope."""
    return "-" if value is None else f"{round(value, 2) + 0.0:.2f}"


def table(found: Curves, sizes: Sequence[int]) -> str:
    """Seconds by size."""
    rows = []
    for method, points in found.items():
        at = {point.size: point for point in points}
        cells = [cell(at.get(size)) for size in sizes]
        rows.append([f"`{method}`", *cells, shown(slope(points))])
    return markdown(["method", *(f"{size:,}" for size in sizes), "slope"], rows)


def cell(point: Point | None) -> str:
    """Seconds, and how many runs ended where not all did."""
    if point is None:
        return "left out"
    digits = max(0, 2 - math.floor(math.log10(point.seconds))) if point.seconds < 100 else 0
    text = f"{point.seconds:.{min(digits, 4)}f}"
    return text if point.ended == point.runs else f"{text} ({point.ended} of {point.runs} ended)"


def sentence(found: Curves, what: str) -> str:
    """The slopes in words."""
    parts = [f"`{method}` {shown(slope(points))}" for method, points in found.items()]
    return f"Slopes against {what}, of the last {FITTED} points that ended: {', '.join(parts)}."


def draw(panels: Sequence[tuple[str, Curves]], picture: Path) -> None:
    """Draw both panels on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from dlsched.plots.comparison import COLOURS

    figure, every = plt.subplots(1, len(panels), figsize=(10.4, 4.6), sharey=True, layout="constrained")
    for axes, (label, found) in zip(every, panels, strict=True):
        for (method, points), colour, marker in zip(found.items(), COLOURS, "os^Dv", strict=False):
            axes.loglog(
                [point.size for point in points],
                [point.seconds for point in points],
                color=colour,
                marker=marker,
                markersize=5.5,
                label=f"{method}, {shown(slope(points))}",
            )
            cut = [point for point in points if not point.whole]
            axes.loglog(
                [point.size for point in cut],
                [point.seconds for point in cut],
                color=colour,
                marker=marker,
                markersize=7,
                markerfacecolor="white",
                linestyle="",
            )
        sizes = sorted({point.size for points in found.values() for point in points})
        axes.axhline(LIMIT_S, color="0.5", linestyle=":", linewidth=1)
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel(label)
        axes.grid(color="0.9")
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False, loc="upper left", title="method, slope", alignment="left", fontsize="small")
    every[0].set_ylim(top=every[0].get_ylim()[1] * 60)
    every[0].set_ylabel("seconds, median of 3 seeds")
    figure.savefig(picture, dpi=150, metadata={"Software": None})
    plt.close(figure)


def growth_text(jobs: Sequence[int], workers: Sequence[int], picture: Path | None) -> str:
    """Both questions."""
    by_jobs, by_workers = curves(jobs, more_jobs), curves(workers, more_workers)
    if picture is not None:
        draw([("jobs, 3 to 5 workers each", by_jobs), ("workers, 20 jobs", by_workers)], picture)
    return (
        f"{sentence(by_jobs, 'jobs')}\n{sentence(by_workers, 'workers')}\n\n"
        "![Time of the methods against jobs and workers](placement_growth.png)\n\n"
        "## Jobs\n\n"
        "Seconds by number of jobs. `dlsched generate matching_placement --preset published-rates --jobs ... --gpus ... "
        "--seed ...`: five types, 3, 4 and 5 workers a job with seeds 0, 1 and 2.\n\n"
        f"{table(by_jobs, jobs)}\n"
        "## Workers\n\n"
        "Seconds by number of workers. `dlsched generate matching_placement --jobs 20 --gpus ... --seed ...`, the first "
        f"three seeds whose draw has four types.\n\n{table(by_workers, workers)}"
    )


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for method in METHODS:
        matching_placement.solve(matching_placement.example(), method=method)
    begin = time.perf_counter()
    text = growth_text(
        JOBS[:3] if quick else JOBS,
        WORKERS[:2] if quick else WORKERS,
        None if quick else RESULTS / "placement_growth.png",
    )
    page = (
        f"# Growth of the methods of matching_placement\n\n{text}\n"
        "## Protocol\n\n"
        f"`python benchmarks/placement_growth.py`, {machine()}, {time.perf_counter() - begin:.0f} s in all. One thread; "
        "seconds on the wall, checks included, each method once, median of three seeds. `exact` and `sampled-market` stop "
        f"after {LIMIT_S:g} s (dotted), which the others do not. Where the median run did not end, by a limit, an error or, of "
        "`exact`, without a proof, the point is hollow and no part of the slope, and larger sizes of that method are left "
        "out.\n"
    )
    print(page, end="")
    if not quick:
        RESULTS.joinpath("placement_growth.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
