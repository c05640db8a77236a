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
"""

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from against import WORDS, add_proofs, gap_left, proven, summary, warm
from measure import Page, present

from dlsched import matching_placement
from dlsched.matching_placement import Instance
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.configurations.listing import count_configurations
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.formulations.assignment import build_assignment

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


def add_even(
    page: Page, types: int, each: int, jobs: int, seeds: int, compared: int, *, limit_s: float, gap: float
) -> str:
    """Append a table of even instances, and return the answer, with its bar: that gap within that time."""
    drawn = list(itertools.islice(even(types, each, jobs), seeds))
    page.add(f"## {jobs} jobs on {types} types of {each} workers", WORDS)
    instances = {labelled(*pair): pair[1] for pair in drawn}
    how = {"limit_s": max(limit_s, 60.0), "others": OTHERS, "compared": compared}
    found = add_proofs(page, matching_placement, "seed | configurations", instances, **how)
    page.add(assignment_size(drawn[-1][1]))
    within = sum(ours.median <= limit_s and gap_left(ours.answers[-1]) <= max(gap, 1e-6) for ours in found)
    bar = f"{'proven' if gap == 0 else f'a gap below {100 * gap:g} %'} in {limit_s:g} s"
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
        answers = [add_even(page, 3, 4, 5, 1, 1, limit_s=2, gap=0), add_presets(page, {"few-types": [(6, 18)]}, 2)]
    else:
        answers = [
            add_even(page, 3, 20, 20, 10, 3, limit_s=2, gap=0),
            add_even(page, 4, 40, 30, 5, 1, limit_s=60, gap=0.001),
            add_presets(page, PRESETS, 3),
        ]
    page.text.insert(0, "\n".join(answers))


if __name__ == "__main__":
    present("How fast an optimal placement is proven", __doc__, fill)
