"""How fast matching_placement proves an optimum, against HiGHS and CP-SAT, and where it gets slow.

Each method runs as ``solve`` runs it: local search, model building and checks included, seconds on the wall; solvers are
warm. Three turns an instance, of each method as many as start within its first 10 s; the others run on the first instances
only and stop after 30 s. A gap is that of the best answer held to the bound proven; the answer can be the local search's,
with which every method starts. Equal optima are asserted.

- Even: the generator's jobs on as many workers of every type. Seeds from 0 on of ``few-types`` whose draw has that many
  types; its workers are dealt to the types anew, in equal numbers. Bars: 3 x 20 workers and 20 jobs proven in under 2 s;
  4 x 40 and 30 jobs to a gap below 0.1 % in 60 s.
- Presets: ``generate`` as it is, three seeds at each size, 30 s each. *Gave up*: there are too many labels for the search
  within the gap, and too many configurations for a program by HiGHS.
- Large: ``generate`` as it is, one seed. Bars: 300 jobs x 500 workers proven in 20 s, 1,000 x 2,000 to .1 % in 5 minutes,
  40 x 160 with a type each to 1 % in 2 minutes. HiGHS on all configurations is beside ours where it does not refuse. *First
  bound*: seconds until a bound is there, and its gap to the last one.
"""

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from against import WORDS, add_proofs, beside, gap_left, percent, proven, summary, warm, way
from measure import Page, present

from dlsched import matching_placement
from dlsched.core.gap import gap
from dlsched.core.limits import Limits, Progress
from dlsched.matching_placement import Instance
from dlsched.matching_placement.arrays import arrays, infeasible
from dlsched.matching_placement.formulations.assignment import build_assignment
from dlsched.matching_placement.formulations.milp import count_configurations

OTHERS = (("assignment", "highs"), ("milp", "highs"), ("milp", "cpsat"))
PRESETS_LIMIT_S = 30.0
PRESETS = {
    "few-types": [(80, 400)],
    "published-rates": [(80, 400)],
    "communication-heavy": [(20, 60), (40, 200), (80, 400)],
    "many-types": [(20, 60), (30, 160)],
    "distinct-workers": [(6, 18), (12, 36), (24, 72)],
}


def even(types: int, each: int, jobs: int) -> Iterator[tuple[int, Instance]]:
    """Seeds and feasible instances of ``few-types`` on exactly ``types`` types with ``each`` workers each."""
    for seed in itertools.count():
        drawn = matching_placement.generate(preset="few-types", jobs=jobs, gpus=types * each, seed=seed)
        if len(drawn.types) != types:
            continue
        firsts = [drawn.workers[held[0]] for held in drawn.types.values()]
        workers = [
            first.model_copy(update={"id": f"w{each * kind + index}"})
            for kind, first in enumerate(firsts)
            for index in range(each)
        ]
        instance = Instance(name=f"{types}x{each}-{jobs}-seed{seed}", workers=workers, jobs=drawn.jobs)
        if infeasible(instance) is None:
            yield seed, instance


def labelled(seed: int, instance: Instance) -> str:
    """Seed, and how many configurations the jobs have in all."""
    data = arrays(instance)
    return f"{seed} | {sum(count_configurations(data, job) for job in range(data.jobs)):,}"


def assignment_size(instance: Instance) -> str:
    """How large the plain model of an instance is."""
    begin = time.perf_counter()
    problem = build_assignment(instance).model
    taken = time.perf_counter() - begin
    terms = sum(len(row) for row in problem.constraints.values())
    return (
        f"The `assignment` model of the last instance has {problem.numVariables():,} variables, "
        f"{problem.numConstraints():,} rows and {terms:,} terms; PuLP builds it in {taken:.1f} s. The `milp` model has a "
        "variable for every configuration; it is refused above 200,000."
    )


@dataclass(frozen=True, slots=True)
class Large:
    """An instance of a preset, and its bar: a gap within a time."""

    preset: str
    jobs: int
    gpus: int
    limit_s: float
    gap: float


LARGE = (
    *(
        Large(preset, 300, 500, 20.0, 1e-6)
        for preset in ("few-types", "many-types", "compute-only", "communication-heavy", "published-rates")
    ),
    Large("few-types", 1000, 2000, 300.0, 1e-3),
    Large("many-types", 1000, 2000, 300.0, 1e-3),
    Large("published-rates", 1000, 2000, 300.0, 1e-3),
    Large("distinct-workers", 40, 160, 120.0, 1e-2),
)
PROMISED = {1e-6: "a proof", 1e-3: ".1 %", 1e-2: "1 %"}


def first_bound(instance: Instance, limit_s: float) -> tuple[float, float] | None:
    """Seconds until ``exact`` has a bound, and the bound."""
    seen: list[tuple[float, float]] = []

    def note(progress: Progress) -> None:
        if progress.bound is not None and not seen:
            seen.append((progress.elapsed_s, progress.bound))
            raise KeyboardInterrupt  # as a user who has seen enough: solve ends with what it holds

    matching_placement.solve(instance, limits=Limits(time_s=limit_s), progress=note)
    return seen[0] if seen else None


def add_large(page: Page, cases: Sequence[Large]) -> str:
    """Append the table of large instances, and return the answer."""
    page.add("## Large instances", WORDS)
    rows, met = [], 0
    for case in cases:
        instance = matching_placement.generate(preset=case.preset, jobs=case.jobs, gpus=case.gpus, seed=0)
        first = first_bound(instance, case.limit_s)
        ways = {"exact": way(matching_placement, instance, "exact", None, case.limit_s)}
        ways["highs"] = way(matching_placement, instance, "milp", "highs", min(case.limit_s, 30.0))
        timings = page.measure(f"{case.preset} {case.jobs} x {case.gpus}", ways, 1)
        ours = timings["exact"]
        run = ours.answers[-1]
        kept = gap_left(run) <= case.gap and ours.median <= 1.1 * case.limit_s
        met += kept
        early = (
            "none"
            if first is None or run is None or run.bound is None
            else f"{first[0]:.2f} s, {percent(gap(first[1], run.bound))}"
        )
        bar = f"{PROMISED[case.gap]} in {case.limit_s:g} s"
        rows.append(
            f"{case.preset} | {case.jobs:,} x {case.gpus:,} | {len(instance.types)} | {bar} | "
            f"{'yes' if kept else 'no'} | {ours.median:.2f} s | {percent(None if run is None else run.gap)} | {early} | "
            f"{beside(timings['highs'], ours)}"
        )
    page.table("preset | jobs x workers | types | bar | met | exact | gap | first bound | HiGHS", rows)
    return f"- Large instances: {met} of {len(cases)} bars met."


def add_even(
    page: Page, types: int, each: int, jobs: int, seeds: int, compared: int, *, limit_s: float, near: float
) -> str:
    """Append a table of even instances, and return the answer, with its bar: that gap within that time."""
    drawn = list(itertools.islice(even(types, each, jobs), seeds))
    page.add(f"## {jobs} jobs on {types} types of {each} workers", WORDS)
    instances = {labelled(*pair): pair[1] for pair in drawn}
    how = {"limit_s": max(limit_s, 60.0), "others": OTHERS, "compared": compared}
    found = add_proofs(page, matching_placement, "seed | configurations", instances, **how)
    page.add(assignment_size(drawn[-1][1]))
    within = sum(ours.median <= limit_s and gap_left(ours.answers[-1]) <= max(near, 1e-6) for ours in found)
    bar = f"{'proven' if near == 0 else f'a gap below {100 * near:g} %'} in {limit_s:g} s"
    return (
        f"- {jobs} jobs on {types} types of {each} workers, communication included: {summary(found)}. The bar, {bar}: met by "
        f"{within} of {seeds}."
    )


def add_presets(page: Page, presets: Mapping[str, Sequence[tuple[int, int]]], seeds: int) -> str:
    """Append the table of the exact method on presets at growing sizes, and return the answer."""
    page.add(
        "## Where it gets slow", "`dlsched generate matching_placement --preset ... --jobs ... --gpus ... --seed ...`."
    )
    instances = {}
    for preset, sizes in presets.items():
        for (jobs, gpus), seed in itertools.product(sizes, range(seeds)):
            instance = matching_placement.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
            instances[f"{preset} | {jobs} x {gpus} | {seed} | {len(instance.types)}"] = instance
    head = "preset | jobs x workers | seed | types"
    found = add_proofs(page, matching_placement, head, instances, limit_s=PRESETS_LIMIT_S)
    proofs = Counter()
    for label, ours in zip(instances, found, strict=True):
        proofs[" ".join(label.split(" | ")[:2])] += proven(ours.answers[-1])
    slow = ", ".join(f"{case} ({count} of {seeds} proven)" for case, count in proofs.items() if count < seeds)
    return f"- Not all proven in {PRESETS_LIMIT_S:g} s, jobs x workers: {slow or 'none'}."


def fill(page: Page) -> None:
    """Measure everything; the answers first."""
    warm(matching_placement, [("exact", None), *OTHERS])
    if page.quick:
        answers = [
            add_even(page, 3, 4, 5, 1, 1, limit_s=2, near=0),
            add_presets(page, {"few-types": [(6, 18)]}, 2),
            add_large(page, [Large("published-rates", 20, 40, 20.0, 1e-6)]),
        ]
    else:
        answers = [
            add_even(page, 3, 20, 20, 10, 3, limit_s=2, near=0),
            add_even(page, 4, 40, 30, 5, 1, limit_s=60, near=0.001),
            add_presets(page, PRESETS, 3),
            add_large(page, LARGE),
        ]
    page.text.insert(0, "\n".join(answers))


if __name__ == "__main__":
    present("How fast an optimal placement is proven", __doc__, fill)
