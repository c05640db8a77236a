"""How fast rings over a whole horizon are bounded and planned, how that grows, and what a shorter limit leaves.

Presets ``paper`` (sigmoids) and ``paper-sqrt`` (square roots); gaps are of the total utility to the bound proven.

- Growth: seconds on the wall until ``exact`` has proven a gap of 0.5 %, as its progress states them, at 125, 250 and 500 jobs on
  50, 100 and 200 servers in 250, 500 and 1,000 slots; seeds 0 and 1, limit 120 s, which ends what has no proof. Slopes are of
  the seconds over jobs times slots, to which the rings of an answer are proportional, and over jobs alone, all three sizes
  growing together.
- Limits: the largest size, seed 0, ended after 5 s to 80 s.
- Solvers: 6 jobs on 4 servers in 6 slots, seeds 0 to 3; HiGHS on the span model (``milp``) and CP-SAT on circuits stop after
  30 s. Equal optima are asserted.
"""

from collections.abc import Callable
from dataclasses import dataclass

from against import WORDS, add_proofs, ending, percent, summary, warm
from growth import Point, shown, slope
from measure import Page, present

from dlsched import ring_embedding
from dlsched.core.gap import gap
from dlsched.core.limits import Limits, Progress
from dlsched.ring_embedding import Instance

PRESETS = {"paper": "sigmoids", "paper-sqrt": "square roots"}
OTHERS = (("milp", "highs"), ("circuit", "cpsat"))
LIMIT_S = 120.0
GAP_BAR = 0.005
GROWTH_BAR = 1.7


@dataclass(frozen=True)
class Reached:
    """A run: its gap, when it had proven the gap of the bar, when it ended and why."""

    gap: float | None
    bar_s: float | None
    seconds: float
    ended: str

    @property
    def known_s(self) -> float:
        """Seconds to the bar, or to the end."""
        return self.seconds if self.bar_s is None else self.bar_s


def drawn(preset: str, size: tuple[int, int, int], seed: int) -> Instance:
    """An instance of so many jobs, servers and slots."""
    jobs, servers, slots = size
    return ring_embedding.generate(preset=preset, jobs=jobs, servers=servers, slots=slots, seed=seed)


def reaching(instance: Instance, limit_s: float) -> Callable[[int], Reached]:
    """Make the call of ``reach``."""
    return lambda turn: reach(instance, limit_s)


def reach(instance: Instance, limit_s: float) -> Reached:
    """Run ``exact`` and note when the gap of the bar was proven."""
    times: list[float] = []

    def hear(progress: Progress) -> None:
        left = gap(progress.objective, progress.bound)
        if not times and left is not None and left <= GAP_BAR:
            times.append(progress.elapsed_s)

    result = ring_embedding.solve(instance, limits=Limits(time_s=limit_s), progress=hear)
    return Reached(result.gap, times[0] if times else None, result.runtime_s, ending(result))


def add_growth(page: Page, sizes: list[tuple[int, int, int]], seeds: int) -> list[str]:
    """Append the table of growth and return its answers."""
    rows, answers = [], []
    for preset, words in PRESETS.items():
        by_rings, by_jobs = [], []
        last: list[Reached] = []
        for size in sizes:
            ways = {str(seed): reaching(drawn(preset, size, seed), LIMIT_S) for seed in range(seeds)}
            name = f"{preset} {'x'.join(map(str, size))}"
            last = [
                found.answers[0] for found in page.measure(name, ways, 1, stated_s=lambda run: run.known_s).values()
            ]
            for seed, run in enumerate(last):
                whole = run.bar_s is not None
                by_rings.append(Point(size[0] * size[2], run.known_s, whole))
                by_jobs.append(Point(size[0], run.known_s, whole))
                bar = f"{run.bar_s:.1f}" if run.bar_s is not None else "-"
                label = " x ".join(f"{each:,}" for each in size)
                rows.append(
                    f"`{preset}` | {label} | {seed} | {bar} | {percent(run.gap)} | {run.seconds:.1f} | {run.ended}"
                )
        exponent, of_jobs = slope(by_rings, len(by_rings)), slope(by_jobs, len(by_jobs))
        met = sum(run.bar_s is not None for run in last)
        grows = "-" if exponent is None else "yes" if exponent.value < GROWTH_BAR else "NO"
        largest = " x ".join(f"{each:,}" for each in sizes[-1])
        answers.append(
            f"- {words}, {largest}: gap of {percent(GAP_BAR)} proven within {LIMIT_S:g} s {met} of {seeds}, after "
            f"{max(run.known_s for run in last):.1f} s at most; growth n^{shown(exponent)} with n = jobs x slots (below "
            f"n^{GROWTH_BAR}: {grows}), n^{shown(of_jobs)} with n = jobs, when servers and slots grow with them."
        )
    head = "preset | jobs x servers x slots | seed | seconds to a gap of 0.5 % | gap at the end | ended after, s | ended by"
    page.add("## Growth")
    page.table(head, rows)
    return answers


def add_limits(page: Page, size: tuple[int, int, int], limits: list[float]) -> None:
    """Append what shorter limits leave."""
    rows = []
    for preset in PRESETS:
        instance = drawn(preset, size, 0)
        for limit_s in limits:
            way = {"exact": reaching(instance, limit_s)}
            run = page.measure(f"{preset} within {limit_s:g} s", way, 1)["exact"].answers[0]
            rows.append(f"`{preset}` | {limit_s:g} | {run.seconds:.1f} | {percent(run.gap)} | {run.ended}")
    page.add("## Shorter limits", f"{' x '.join(f'{each:,}' for each in size)}, seed 0.")
    page.table("preset | limit, s | ended after, s | gap | ended by", rows)


def add_solvers(page: Page, size: tuple[int, int, int], seeds: int) -> str:
    """Append solvers on small instances and return the answer."""
    page.add("## Solvers on small instances", WORDS)
    instances = {str(seed): drawn("paper-sqrt", size, seed) for seed in range(seeds)}
    ours = add_proofs(page, ring_embedding, "seed", instances, limit_s=LIMIT_S, others=OTHERS)
    return f"- {' x '.join(map(str, size))}, square roots, beside solvers: {summary(ours)}."


def fill(page: Page) -> None:
    """Measure everything; the answers first."""
    warm(ring_embedding, [("exact", None), *OTHERS])
    sizes = [(125, 50, 250), (250, 100, 500), (500, 200, 1000)]
    limits, seeds, small, few = [5.0, 10.0, 20.0, 40.0, 80.0], 2, (6, 4, 6), 4
    if page.quick:
        sizes, limits, seeds, small, few = [(10, 4, 20), (20, 8, 40)], [0.2, 1.0], 1, (3, 2, 2), 1
    answers = add_growth(page, sizes, seeds)
    add_limits(page, sizes[-1], limits)
    answers.append(add_solvers(page, small, few))
    page.text.insert(0, "\n".join(["## Answers\n", *answers]))


if __name__ == "__main__":
    present("ring_embedding over a horizon", __doc__, fill)
