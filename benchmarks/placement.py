"""How fast is the optimum of matching_placement proven? The default method against HiGHS and CP-SAT, and where it gets slow.

Protocol: one thread, seconds on the wall, each method as ``solve`` runs it: local search, model building and checks
included; solvers are warm. Ours is the best of three (once where it takes more than 10 s), the others run once and stop
after 30 s. A gap is that of the best answer held to the bound proven; the answer can be the local search's, with which
every method starts. Equal optima are asserted.

- Even: the generator's jobs on as many workers of every type. Seeds from 0 on whose draw has that many types; its workers
  are dealt to the types anew, in equal numbers. Bars: 3 x 20 workers and 20 jobs proven in under 2 s; 4 x 40 and 30 jobs
  to a gap below 0.1 % in 60 s.
- Presets: ``generate`` as it is, three seeds at each size, 30 s each.

    python benchmarks/placement.py            # a quarter of an hour; writes benchmarks/results/placement.md
    python benchmarks/placement.py --quick    # small, no file
"""

import argparse
import itertools
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from table import machine, markdown

from dlsched import matching_placement
from dlsched.core.budget import TooMany
from dlsched.core.errors import UsageError
from dlsched.core.gap import gap
from dlsched.core.limits import Limits
from dlsched.core.result import Result
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import Instance
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.configurations.listing import count_configurations
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.formulations.assignment import build_assignment

OTHERS = (("assignment", "highs"), ("milp", "highs"), ("milp", "cpsat"))
NAMES = {"highs": "HiGHS", "cpsat": "CP-SAT"}
OTHERS_LIMIT_S = 30.0
EVEN_LIMIT_S = 60.0
PRESETS_LIMIT_S = 30.0
SLOW_S = 10.0  # what takes longer is not repeated
PRESETS = (
    ("few-types", 80, 400),
    ("published-rates", 80, 400),
    ("communication-heavy", 20, 60),
    ("communication-heavy", 40, 200),
    ("communication-heavy", 80, 400),
    ("many-types", 20, 60),
    ("many-types", 30, 160),
    ("distinct-workers", 6, 18),
    ("distinct-workers", 12, 36),
    ("distinct-workers", 24, 72),
)


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


def ours(instance: Instance, limit_s: float) -> Result[Any]:
    """Best of three; one run is enough of what is slow."""
    best = matching_placement.solve(instance, limits=Limits(time_s=limit_s))
    for _ in range(0 if best.runtime_s > SLOW_S else 2):
        again = matching_placement.solve(instance, limits=Limits(time_s=limit_s))
        best = min(best, again, key=lambda result: result.runtime_s)
    return best


def proven(result: Result[Any]) -> bool:
    """Whether it holds a proven optimum."""
    return result.status is TerminationStatus.OPTIMAL


def percent(value: float | None) -> str:
    """A gap, two digits."""
    return "no bound" if value is None else f"{100 * value:.2g} %"


def other(instance: Instance, method: str, solver: str, best: Result[Any]) -> str:
    """What a solver makes of the instance, in a cell."""
    try:
        limits = Limits(time_s=OTHERS_LIMIT_S)
        result = matching_placement.solve(instance, method=method, solver=solver, limits=limits)
    except UsageError:
        return "refused"
    ratio = result.runtime_s / best.runtime_s
    if proven(result) and proven(best):
        if not math.isclose(result.objective, best.objective, rel_tol=1e-6):
            raise RuntimeError(f"{instance.name}: optima differ, {best.objective} and {result.objective}")
        return f"{result.runtime_s:.2f} s, x {ratio:,.0f}"
    held = "-" if best.bound is None else f"+{percent(result.objective / best.bound - 1)}"
    stopped = f"> {OTHERS_LIMIT_S:g} s, > x {OTHERS_LIMIT_S / best.runtime_s:,.0f}"
    return f"{stopped}: {percent(gap(result.objective, result.bound))}, {held}"


def even_text(types: int, each: int, jobs: int, seeds: int, compared: int, bar: str) -> tuple[str, str]:
    """The answer, and the table of the default method on even instances, a few of them with the solvers beside it."""
    rows, times, gaps = [], [], []
    for index, (seed, instance) in enumerate(itertools.islice(even(types, each, jobs), seeds)):
        data = arrays(instance)
        result = ours(instance, EVEN_LIMIT_S)
        times.append(result.runtime_s)
        gaps.append(gap(result.objective, result.bound) or 0.0)
        cells = [other(instance, *which, result) if index < compared else "-" for which in OTHERS]
        columns = sum(count_configurations(data, job) for job in range(data.jobs))
        rows.append([str(seed), f"{columns:,}", f"{result.runtime_s:.3f}", percent(gaps[-1]), *cells])
        print(" | ".join(rows[-1]), flush=True)
    names = [f"`{method}`, {NAMES[solver]}" for method, solver in OTHERS]
    size = f"{jobs} jobs on {types} types of {each} workers"
    answer = (
        f"{size}, communication included: {sum(value == 0 for value in gaps)} of {seeds} instances proven optimal, "
        f"in {statistics.median(times):.2f} s in the median and {max(times):.2f} s at most, worst gap {percent(max(gaps))}. "
        f"The bar: {bar}.\n"
    )
    table = markdown(["seed", "configurations", "ours, s", "gap", *names], rows)
    return answer, f"## {size}\n\n{table}\n{assignment_size(instance)}"


def assignment_size(instance: Instance) -> str:
    """How large the plain model of an instance is."""
    begin = time.perf_counter()
    problem = build_assignment(instance).model
    taken = time.perf_counter() - begin
    terms = sum(len(row) for row in problem.constraints.values())
    return (
        f"The `assignment` model of the last instance has {problem.numVariables():,} variables, "
        f"{problem.numConstraints():,} rows and {terms:,} terms; PuLP builds it in {taken:.1f} s. The `milp` model has a "
        "variable for every configuration; it is refused above 200,000.\n"
    )


def presets_text(sizes: Sequence[tuple[str, int, int]], seeds: int) -> tuple[str, str]:
    """The answer, and the table of the default method on presets at growing sizes."""
    rows, slow = [], []
    for preset, jobs, gpus in sizes:
        results, kinds = [], set()
        for seed in range(seeds):
            instance = matching_placement.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
            kinds.add(len(instance.types))
            results.append(attempt(instance))
        count = sum(result is not None and proven(result) for result in results)
        if count < seeds:
            slow.append(f"{preset} {jobs} x {gpus} ({count} of {seeds} proven)")
        rows.append(
            [
                preset,
                f"{jobs} x {gpus}",
                f"{min(kinds)}" if len(kinds) == 1 else f"{min(kinds)} to {max(kinds)}",
                f"{count} of {seeds}",
                ", ".join("-" if each is None else f"{each.runtime_s:.2f}" for each in results),
                ", ".join("-" if each is None else percent(gap(each.objective, each.bound)) for each in results),
                ", ".join(map(ending, results)),
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
    columns = ["preset", "jobs x workers", "types", "proven", "seconds, by seed", "gap, by seed", "ended by, by seed"]
    answer = f"Not all proven in {PRESETS_LIMIT_S:g} s, jobs x workers: {', '.join(slow) or 'none'}.\n"
    return answer, (
        "## Where it gets slow\n\n"
        f"`dlsched generate matching_placement --preset ... --jobs ... --gpus ... --seed ...`, seeds 0 to {seeds - 1}, "
        f"{PRESETS_LIMIT_S:g} s each, one run. *Gave up*: there are too many labels for the search within the gap, and too "
        "many configurations for a program by HiGHS.\n\n" + markdown(columns, rows)
    )


def attempt(instance: Instance) -> Result[Any] | None:
    """One run of the default method; None when its pricing has too many labels, which ``solve`` ought to catch."""
    try:
        return matching_placement.solve(instance, limits=Limits(time_s=PRESETS_LIMIT_S))
    except TooMany:
        return None


def ending(result: Result[Any] | None) -> str:
    """Why the default method stopped."""
    if result is None:
        return "failed"
    if result.status is TerminationStatus.TIME_LIMIT:
        return "the limit"
    return "proof" if proven(result) else "gave up"


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    for method, solver in (("exact", None), *OTHERS):
        matching_placement.solve(matching_placement.example(), method=method, solver=solver)
    begin = time.perf_counter()
    sections = (
        [even_text(3, 4, 5, 2, 2, "none"), presets_text([("few-types", 6, 18)], 2)]
        if quick
        else [
            even_text(3, 20, 20, 10, 3, "under 2 s"),
            even_text(4, 40, 30, 5, 1, "a gap below 0.1 % in 60 s"),
            presets_text(PRESETS, 3),
        ]
    )
    protocol = (
        "## Protocol\n\n"
        f"`python benchmarks/placement.py`, {machine()}, {time.perf_counter() - begin:.0f} s in all. One thread; seconds on "
        "the wall, local search, model building and checks included. Ours (`exact`) is the best of three runs, once where "
        f"it takes more than {SLOW_S:g} s; the others run once, on the first instances, and stop after "
        f"{OTHERS_LIMIT_S:g} s. *x 20*: 20 times as long as ours. A gap is that of the best answer held to the bound "
        "proven; every method starts from the local search's answer. Where a solver was stopped: its gap, or *no bound*, "
        "and how far its answer is above the optimum. Equal numbers of workers: seeds of `few-types` whose draw has that "
        "many types, the workers dealt to the types anew.\n"
    )
    answers, tables = zip(*sections, strict=True)
    page = "\n".join(["# How fast an optimal placement is proven\n", "".join(answers), *tables, protocol])
    print(page, end="")
    if not quick:
        Path(__file__).parent.joinpath("results", "placement.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
