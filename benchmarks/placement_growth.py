"""How the time of the methods of matching_placement grows with the jobs and with the workers.

Seconds on the wall, each method as ``solve`` runs it, checks included; three turns, each a seed of its own. ``exact`` and
``sampled-market`` stop after 60 s; the others take no limit. A point of which the median run did not end as it should (a
limit, a refusal or, of ``exact``, no proof) is drawn hollow and is no part of the slopes; larger ones of that method are
left out. A run cut short counts as longer than any that was not.

- Jobs: 5 to 320 of ``published-rates``, five types; 3, 4 and 5 workers a job with seeds 0, 1 and 2.
- Workers: 40 to 2,000 of four types, 20 jobs; the first three seeds whose draw of ``few-types`` has four.
"""

import itertools
import math
from collections.abc import Callable, Sequence

from against import Run, proven, warm, way
from growth import Curves, Point, draw, shown, slope
from measure import Page, present

from dlsched import matching_placement
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import Instance

LIMIT_S = 60.0
METHODS = ("exact", "configuration-lp", "beam", "local-search", "sampled-market")
JOBS = [5 * 2**power for power in range(7)]
WORKERS = [40, 100, 200, 400, 1000, 2000]
FITTED = 4  # points at the end that slopes are fitted to


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


def whole(method: str, run: Run) -> bool:
    """Whether a run ended as it should."""
    return proven(run) if method == "exact" else run is not None and run.status is TerminationStatus.FEASIBLE


def cell(seconds: float, ended: int, runs: int) -> str:
    """Seconds, and how many runs ended where not all did."""
    digits = max(0, min(4, 2 - math.floor(math.log10(seconds)))) if seconds < 100 else 0
    return f"{seconds:.{digits}f}" + ("" if ended == runs else f" ({ended} of {runs} ended)")


def add_growth(
    page: Page, what: str, words: str, sizes: Sequence[int], make: Callable[[int], list[Instance]]
) -> Curves:
    """Append the table of every method at growing sizes, up to the first at which its median run is cut short."""
    curves: dict[str, list[Point]] = {method: [] for method in METHODS}
    cells: dict[str, list[str]] = {method: [] for method in METHODS}
    for size in sizes:
        instances = make(size)[: 1 if page.quick else 3]
        calls = {
            method: [way(matching_placement, instance, method, None, LIMIT_S) for instance in instances]
            for method, points in curves.items()
            if not points or points[-1].whole
        }
        ways = {method: lambda turn, runs=runs: runs[turn](turn) for method, runs in calls.items()}
        for method, timing in page.measure(f"{size} {what}", ways, len(instances)).items():
            ended = [whole(method, run) for run in timing.answers]
            ordered = sorted(zip((not each for each in ended), timing.seconds, strict=True))
            cut, seconds = ordered[len(ordered) // 2]
            curves[method].append(Point(size, seconds, not cut))
            cells[method].append(cell(seconds, sum(ended), len(ended)))
    rows = [
        " | ".join(
            [f"`{method}`", *cells[method], *["left out"] * (len(sizes) - len(points)), shown(slope(points, FITTED))]
        )
        for method, points in curves.items()
    ]
    page.add(f"## {what.capitalize()}", f"Seconds by number of {what}. {words}")
    page.table(" | ".join(["method", *(f"{size:,}" for size in sizes), "slope"]), rows)
    return curves


def fill(page: Page) -> None:
    """Measure both; the answers and the picture first."""
    warm(matching_placement, [(method, None) for method in METHODS])
    generated = "`dlsched generate matching_placement"
    words = (
        f"{generated} --preset published-rates --jobs ... --gpus ... --seed ...`: five types, 3, 4 and 5 workers a job."
    )
    by_jobs = add_growth(page, "jobs", words, JOBS[:2] if page.quick else JOBS, more_jobs)
    words = f"{generated} --jobs 20 --gpus ... --seed ...`, the first three seeds whose draw has four types."
    by_workers = add_growth(page, "workers", words, WORKERS[:1] if page.quick else WORKERS, more_workers)
    answers = []
    for what, curves in (("jobs", by_jobs), ("workers", by_workers)):
        slopes = ", ".join(f"`{method}` {shown(slope(points, FITTED))}" for method, points in curves.items())
        answers.append(
            f"- Slopes against {what}, of the last {FITTED} points that ended, with 95 % intervals: {slopes}."
        )
    if picture := page.picture(""):
        panels = {"jobs, 3 to 5 workers each": by_jobs, "workers, 20 jobs": by_workers}
        draw(panels, picture, what="seconds, median of 3 seeds", last=FITTED, limit_s=LIMIT_S)
        answers.append(f"\n![Time of the methods against jobs and workers]({picture.name})")
    page.text.insert(0, "\n".join(answers))


if __name__ == "__main__":
    present("Growth of the methods of matching_placement", __doc__, fill)
