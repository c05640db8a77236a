"""How far from the optimum the heuristics of matching_placement are, and what they cost.

Protocol: every instance is solved by ``exact``, with a limit of 60 s; those without a proof are left out and named. The
others have no limit. Gaps are objective / optimum - 1. Times are of one run as ``solve`` makes it, checks included, as
ratios to ``exact`` on the same instance, in one process of two that run side by side. Jain's index is that of completion
times over those at equal shares.

- Generated: seeds 0 to 499, presets by turns, 3 to 8 jobs and 6 to 24 workers (never fewer than jobs), drawn alike.
- Shipped: all of instances/matching_placement.
- The market over all categories, where there are at most 20,000, on the first 120 of the generated (its time is most of
  the run's; ``--markets 500`` for all) and on the shipped.

Bars: sampled-market 2.04 % on average, the figure of the paper's abstract (on its own instances, which we do not have);
beam 0.5 % on average.

    python benchmarks/placement_heuristics.py            # writes benchmarks/results/placement_heuristics.md
    python benchmarks/placement_heuristics.py --quick    # small, no file
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched import matching_placement, read
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.matching_placement import Instance
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.generator import PRESETS
from dlsched.matching_placement.markets.categories import count_categories
from dlsched.matching_placement.markets.placing import MOST_CATEGORIES
from dlsched.matching_placement.markets.sampling import DRAWS

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "instances" / "matching_placement"
LIMIT_S = 60.0
SAMPLED, MARKET, BEAM = "sampled-market", "market", "beam"
METHODS = (BEAM, "local-search", "marginal", SAMPLED, MARKET, "equal", "fastest-first")
BARS = {SAMPLED: 0.0204, BEAM: 0.005}


@dataclass(frozen=True)
class Answer:
    """Gap, seconds over those of ``exact``, and Jain's index."""

    gap: float
    ratio: float
    jain: float


@dataclass(frozen=True)
class Case:
    """An instance of proven optimum, and what the methods that found an answer made of it."""

    name: str
    preset: str
    categories: int
    exact_s: float
    jain: float
    answers: dict[str, Answer | None]


Cases = Sequence[Case]


def generated(seed: int) -> tuple[str, Instance]:
    """Preset and instance of a seed."""
    generator = np.random.default_rng(seed)
    jobs = int(generator.integers(3, 9))
    gpus = int(generator.integers(max(6, jobs), 25))
    preset = list(PRESETS)[seed % len(PRESETS)]
    return preset, matching_placement.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)


def solved(instance: Instance, preset: str, *, market: bool) -> Case | str:
    """All methods on an instance, or its name when no optimum is proven."""
    exact = matching_placement.solve(instance, limits=Limits(time_s=LIMIT_S))
    if exact.status is not TerminationStatus.OPTIMAL:
        return instance.name
    count = count_categories(arrays(instance))
    answers: dict[str, Answer | None] = {}
    for method in METHODS:
        if method == MARKET and not (market and count <= MOST_CATEGORIES):
            continue
        result = matching_placement.solve(instance, method=method)
        answers[method] = None
        if result.solution is not None:
            gap = result.objective / exact.objective - 1
            if gap < -1e-6:
                raise RuntimeError(f"{instance.name}: {method} is better than the optimum by {-gap}")
            answers[method] = Answer(max(gap, 0.0), result.runtime_s / exact.runtime_s, result.figures["jain_index"])
    return Case(instance.name, preset, count, exact.runtime_s, exact.figures["jain_index"], answers)


def solved_seed(task: tuple[int, bool]) -> Case | str:
    """``solved`` of a generated instance."""
    preset, instance = generated(task[0])
    return solved(instance, preset, market=task[1])


def solved_file(path: Path) -> Case | str:
    """``solved`` of a shipped instance."""
    instance = read(str(path))
    assert isinstance(instance, Instance)
    return solved(instance, "shipped", market=True)


def percent(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{100 * value:,.0f} %" if value >= 1 else f"{100 * value:.3g} %"


def answers(cases: Cases, method: str) -> list[tuple[Answer, Case]]:
    """The answers that a method found."""
    pairs = [(case.answers.get(method), case) for case in cases]
    return [(answer, case) for answer, case in pairs if answer is not None]


def mean_gap(cases: Cases, method: str) -> float:
    """Mean over the answers found."""
    return statistics.fmean(answer.gap for answer, _ in answers(cases, method))


def quality(cases: Cases) -> str:
    """A row a method."""
    rows = []
    for method in METHODS:
        found = answers(cases, method)
        asked = sum(method in case.answers for case in cases)
        if not found:
            rows.append([f"`{method}`", f"0 of {asked}", *["-"] * 7])
            continue
        gaps = [answer.gap for answer, _ in found]
        ratios = [answer.ratio for answer, _ in found]
        _, worst = max(found, key=lambda each: each[0].gap)
        rows.append(
            [
                f"`{method}`",
                f"{len(found)} of {asked}",
                percent(statistics.fmean(gaps)),
                percent(statistics.median(gaps)),
                percent(max(gaps)),
                worst.name if max(gaps) > 0 else "-",
                f"{sum(gap <= 1e-6 for gap in gaps) / len(gaps):.0%}",
                f"{statistics.median(ratios):.3g}",
                f"{statistics.fmean(answer.jain for answer, _ in found):.3f}",
            ]
        )
    optimum = f"{statistics.fmean(case.jain for case in cases):.3f}"
    rows.append(["`exact`", f"{len(cases)} of {len(cases)}", "0 %", "0 %", "0 %", "-", "100%", "1", optimum])
    columns = ["method", "answers", "mean gap", "median", "worst", "worst on", "optimal", "time / exact", "Jain, mean"]
    return markdown(columns, rows)


def by_preset(cases: Cases) -> str:
    """Mean and worst gap by preset."""
    presets = list(dict.fromkeys(case.preset for case in cases))
    rows = []
    for method in METHODS:
        cells = []
        for preset in presets:
            gaps = [answer.gap for answer, _ in answers([case for case in cases if case.preset == preset], method)]
            cells.append(f"{percent(statistics.fmean(gaps))} ({percent(max(gaps))})" if gaps else "-")
        rows.append([f"`{method}`", *cells])
    return markdown(["method", *presets], rows)


def against_market(cases: Cases) -> str:
    """The sampled market beside all categories, where these were tried."""
    every = [case for case in cases if case.answers.get(MARKET) and case.answers.get(SAMPLED)]
    few, many = f"up to {DRAWS}", f"{DRAWS + 1} to {MOST_CATEGORIES:,}"
    rows = []
    for name, low, high in ((few, 0, DRAWS), (many, DRAWS + 1, MOST_CATEGORIES)):
        held = [case for case in every if low <= case.categories <= high]
        if not held:
            continue
        pairs = [(case.answers[SAMPLED], case.answers[MARKET]) for case in held]
        both = [(one, other) for one, other in pairs if one is not None and other is not None]
        rows.append(
            [
                name,
                str(len(both)),
                *(
                    f"{percent(mean_gap(held, method))} ({percent(max(a.gap for a, _ in answers(held, method)))})"
                    for method in (SAMPLED, MARKET)
                ),
                f"{sum(one.gap <= other.gap + 1e-9 for one, other in both) / len(both):.0%}",
                percent(max((1 + one.gap) / (1 + other.gap) - 1 for one, other in both)),
                f"{statistics.median(one.ratio for one, _ in both):.3g}",
                f"{statistics.median(other.ratio for _, other in both):.3g}",
                f"{statistics.median(other.ratio / one.ratio for one, other in both):.3g}",
            ]
        )
    columns = [
        "categories",
        "instances",
        "sampled: mean (worst) gap",
        "all: mean (worst) gap",
        "as good as all",
        "worst over all",
        "sampled / exact, time",
        "all / exact, time",
        "all / sampled, time",
    ]
    return markdown(columns, rows)


def verdicts(cases: Cases, where: str) -> str:
    """What became of the bars, in sentences."""
    sentences = []
    for method, bar in BARS.items():
        mean = mean_gap(cases, method)
        worst = max(answer.gap for answer, _ in answers(cases, method))
        kept = "kept" if mean <= bar else "missed"
        sentences.append(
            f"`{method}` is {percent(mean)} from the optimum on average and {percent(worst)} at worst on {where}; "
            f"the bar, {percent(bar)} on average, is {kept}."
        )
    return "\n".join(sentences)


def proven(found: Sequence[Case | str], what: str) -> tuple[list[Case], str]:
    """Those with a proven optimum, and a sentence on the others."""
    cases = [each for each in found if isinstance(each, Case)]
    others = [each for each in found if isinstance(each, str)]
    times = [case.exact_s for case in cases]
    text = f"{len(cases)} {what}; `exact` takes {statistics.median(times):.3f} s in the median and {max(times):.2f} s at most."
    if others:
        text += f" Left out, no optimum proven in {LIMIT_S:g} s: {', '.join(others)}."
    return cases, text


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markets", type=int, default=120, help="how many generated instances the full market sees")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    seeds, markets = (30, 6) if options.quick else (500, options.markets)
    files = sorted(SHIPPED.glob("*.json"), key=lambda path: path.stat().st_size)[: 3 if options.quick else None]
    begin = time.perf_counter()
    with multiprocessing.Pool(2) as pool:
        pool.map(solved_seed, [(0, False), (1, False)], chunksize=1)  # warm
        drawn, drawn_text = proven(
            pool.map(solved_seed, [(seed, seed < markets) for seed in range(seeds)], chunksize=1), "generated instances"
        )
        shipped_found = pool.map(solved_file, files, chunksize=1)
    taken = time.perf_counter() - begin
    text = [
        "# How good the heuristics of matching_placement are\n",
        verdicts(drawn, "generated instances"),
    ]
    sections = [f"## Generated\n\n{drawn_text}\n\n{quality(drawn)}\nBy preset, mean (worst) gap:\n\n{by_preset(drawn)}"]
    compared = drawn
    if shipped_found:
        shipped, shipped_text = proven(shipped_found, "shipped instances")
        text.append(verdicts(shipped, "shipped instances"))
        sections.append(f"## Shipped\n\n{shipped_text}\n\n{quality(shipped)}")
        compared = [*drawn, *shipped]
    sections.append(
        "## The sampled market against all categories\n\n"
        f"Generated instances of seeds below {markets} and shipped ones, with at most {MOST_CATEGORIES:,} categories. Where "
        f"there are at most {DRAWS} the sampled market takes them all. Times are medians of ratios.\n\n"
        + against_market(compared)
    )
    sections.append(
        "## Protocol\n\n"
        f"`python benchmarks/placement_heuristics.py --markets {markets}`, {machine()}, {taken:.0f} s in all, "
        "two processes side by side of one "
        "thread each. Optima by `exact`; the others run without a limit. "
        "Gap: objective / optimum - 1, over the answers found: "
        "`equal` and `fastest-first` can leave a job short of workers, and then have none. Time: median over "
        "instances of the seconds of one run over "
        "those of one run of `exact` on the same instance, checks included. Jain's index: of completion times over those at "
        f"equal shares. Generated: presets by turns, seeds 0 to {seeds - 1}, 3 to 8 jobs and 6 to 24 workers; "
        f"the market over all categories on seeds below {markets} only, since it takes a second for every few hundred "
        "categories. 2.04 % is from the paper's abstract, on instances that we do not have; only the abstract was available. "
        "The market's valuations are our reconstruction.\n"
    )
    page = "\n".join(text) + "\n\n" + "\n".join(sections)
    print(page, end="")
    if not options.quick:
        ROOT.joinpath("benchmarks", "results", "placement_heuristics.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
