"""Which order, and which sizing? Mean flow times of the grid order x sizing on jobs of asynchronous SGD that arrive over time.

Protocol: 200 jobs of the preset ``published`` of async_sgd on 16 nodes, Poisson arrivals at three loads, each with and
without early ends, restarts of 10 s; a cluster that is empty at first, and the flow times of all jobs. The cluster is small
so that jobs often outnumber nodes: on 64 nodes they seldom do, and then the order matters to no sizing that shares out. A
seed gives all policies and all six cases the same jobs and, up to the factor that sets the load, the same arrivals.
Intervals are Student's t over seeds at 95 %; those of differences are paired.

    python benchmarks/grid.py            # 40 seeds in two processes, minutes; writes benchmarks/results/grid.md
    python benchmarks/grid.py --quick    # 4 seeds, no file
"""

import argparse
import math
import multiprocessing
import time
from pathlib import Path

import numpy as np
from scipy.stats import t
from table import machine, markdown

from dlsched import async_sgd, elastic_stream
from dlsched.core.arrays import FloatArray
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS

JOBS, NODES, RESTART_S = 200, 16, 10.0
LOADS = (0.5, 0.8, 1.1)
STOPS = {"no early ends": (), "early ends": ((0.05, 0.5), (0.25, 0.3))}
SEEDS, QUICK_SEEDS = 40, 4
CASES = [(stops, load) for stops in STOPS for load in LOADS]
CELLS = [(order, sizing) for sizing in SIZINGS for order in ORDERS]
NAMES = [f"{order}-{sizing}" for order, sizing in CELLS]
COLUMNS = [f"load {load:g}{', early ends' * bool(STOPS[stops])}" for stops, load in CASES]


def jobs_of(seed: int) -> async_sgd.Instance:
    """The jobs of a seed."""
    return async_sgd.generate(preset="published", jobs=JOBS, nodes=NODES, seed=seed)


def hours(seed: int) -> list[list[float]]:
    """Mean flow time in hours by case, of every cell and at last the bound."""
    jobs = jobs_of(seed)
    rows = []
    for stops, load in CASES:
        instance = async_sgd.random_stream(
            jobs,
            load=load,
            generator=np.random.default_rng(seed),
            restart_s=RESTART_S,
            early_stop=STOPS[stops],
        )
        flows = []
        for order, sizing in CELLS:
            stream = elastic_stream.ordered(instance, order, sizing)
            assert stream is not None, "every job may run on one node"
            flows.append(elastic_stream.objective(instance, stream))
        rows.append([seconds / 3600 for seconds in (*flows, elastic_stream.bound(instance).value)])
    return rows


def interval(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Mean, and half the width of its interval."""
    half = t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


def shown(values: FloatArray, sign: str = "") -> str:
    """Mean and interval in words, to two digits of the latter, and no more than tenths."""
    mean, half = interval(values)
    if abs(mean) + half < 0.05:
        return "under 0.05"
    digits = 0 if half == 0 else min(1, max(0, 1 - math.floor(math.log10(half))))
    return f"{mean:{sign}z.{digits}f} ± {half:.{digits}f}"


def differs(values: FloatArray, level: float = 0.95) -> bool:
    """Whether the interval leaves out 0."""
    mean, half = interval(values, level)
    return abs(mean) > half


def alike(flows: FloatArray) -> list[list[int]]:
    """Cells with the same mean flow time on every stream, the best set first; ``flows`` has the shape (seeds, cells)."""
    groups: dict[bytes, list[int]] = {}
    for index in range(len(CELLS)):
        groups.setdefault(flows[:, index].round(6).tobytes(), []).append(index)
    return sorted(groups.values(), key=lambda places: flows[:, places[0]].mean())


def grid(found: FloatArray) -> str:
    """Table of means; ``found`` has the shape (cases, seeds, cells and bound)."""
    best = [alike(flows)[0] for flows in found]
    rows = []
    for index, (order, sizing) in enumerate(CELLS):
        means = [shown(flows[:, index]) for flows in found]
        marked = [f"**{text}**" if index in places else text for text, places in zip(means, best, strict=True)]
        rows.append([sizing, order, *marked])
    rows.append(["bound", "", *(shown(flows[:, -1]) for flows in found)])
    return markdown(["sizing", "order", *COLUMNS], rows)


def ratios(found: FloatArray) -> str:
    """Table of mean ratios to the bound."""
    rows = []
    for index, (order, sizing) in enumerate(CELLS):
        means = [(flows[:, index] / flows[:, -1]).mean() for flows in found]
        rows.append([sizing, order, *(f"{mean:.2f}" for mean in means)])
    return markdown(["sizing", "order", *COLUMNS], rows)


def winners(found: FloatArray) -> str:
    """Table of the best cells: the next ones, and all that the seeds do not tell from the best."""
    rows = []
    for column, flows in zip(COLUMNS, found, strict=True):
        best, *others = alike(flows)
        beyond = [flows[:, places[0]] - flows[:, best[0]] for places in others]
        level = 1 - 0.05 / len(others)
        same = [named(places) for places, values in zip(others, beyond, strict=True) if not differs(values, level)]
        rows.append([column, named(best), named(others[0]), shown(beyond[0], "+"), "; ".join(same) or "none"])
    columns = ["case", "best", "next", "next less best, h", "not told from the best"]
    return markdown(columns, rows)


def named(places: list[int]) -> str:
    """Names of cells, those of equal streams together."""
    return " = ".join(NAMES[index] for index in places)


def against(found: FloatArray, other: str, names: list[str]) -> str:
    """Table of paired differences from another cell of the same sizing or order; bold where the interval leaves out 0."""
    rows = []
    for name in names:
        base = name.split("-")[0] + "-" + other if other in SIZINGS else other + "-" + name.split("-")[1]
        values = [flows[:, NAMES.index(name)] - flows[:, NAMES.index(base)] for flows in found]
        texts = ["0" if not each.round(6).any() else shown(each, "+") for each in values]
        rows.append(
            [name, *(f"**{text}**" if differs(each) else text for text, each in zip(texts, values, strict=True))]
        )
    return markdown([f"less that of {other}, h", *COLUMNS], rows)


def lower(found: FloatArray, name: str, other: str) -> FloatArray:
    """By case: -1 where a cell is better than another, 1 where it is worse, 0 where the interval holds 0."""
    values = found[:, :, NAMES.index(name)] - found[:, :, NAMES.index(other)]
    return np.array([math.copysign(differs(case), case.mean()) for case in values])


def ratio(found: FloatArray, name: str, other: str) -> FloatArray:
    """By case: the mean of a cell over that of another."""
    means = found.mean(axis=1)
    return means[:, NAMES.index(name)] / means[:, NAMES.index(other)]


def findings(found: FloatArray) -> str:
    """What the figures say, counted in paired comparisons."""
    rigid, shared = ("fixed", "fastest", "knee"), ("equal", "marginal")
    early = np.array([bool(STOPS[stops]) for stops, _ in CASES])
    last = [index for index, (_, load) in enumerate(CASES) if load == LOADS[-1]]

    def counted(signs: list[FloatArray]) -> str:
        every = np.concatenate(signs)
        return f"better in {(every < 0).sum()} and worse in {(every > 0).sum()} of {every.size} comparisons"

    gain = {
        sizings: [lower(found, f"{order}-marginal", f"{order}-{sizing}") for order in ORDERS for sizing in sizings]
        for sizings in (rigid, ("equal",))
    }
    first = {
        sizings: [lower(found, f"srpt-{sizing}", f"fifo-{sizing}") for sizing in sizings] for sizings in (rigid, shared)
    }
    factor = np.array([ratio(found, f"fifo-{sizing}", f"srpt-{sizing}") for sizing in rigid])
    smaller = np.array([ratio(found, f"fifo-{sizing}", f"srpt-{sizing}") for sizing in shared])
    known = [lower(found, f"srpt-{sizing}", f"sjf-{sizing}") for sizing in rigid]
    served = ratio(found, "las-knee", "srpt-knee")[last]
    best = [np.mean(flows[:, alike(flows)[0][0]] / flows[:, -1]) for flows in found]
    return "\n".join(
        [
            f"- Sizing. In the same order, marginal gain against {', '.join(rigid[:-1])} and {rigid[-1]} is "
            f"{counted(gain[rigid])}; against equal shares it is {counted(gain[('equal',)])}.",
            f"- Order. Shortest remaining time against order of arrival is {counted(first[rigid])} where sizes are given "
            f"({', '.join(rigid)}), where arrival takes {factor.min():.1f} to {factor.max():.1f} times as long; and "
            f"{counted(first[shared])} where nodes are shared out ({', '.join(shared)}), where it takes "
            f"{smaller.min():.2f} to {smaller.max():.2f} times as long.",
            f"- Early ends. Where sizes are given, shortest remaining time against shortest job is "
            f"{counted([signs[~early] for signs in known])} without them, and {counted([signs[early] for signs in known])} "
            f"with them. At load {LOADS[-1]:g} and knee, least attained service takes {served[0]:.2f} times as long as "
            f"shortest remaining time without them and {served[1]:.2f} times with them.",
            f"- The best cells take, on average, at most {', '.join(f'{value:.2f}' for value in best)} times the best "
            f"schedule in hindsight ({'; '.join(COLUMNS)}).",
        ]
    )


def speedups(seeds: int) -> str:
    """What the jobs gain by nodes, in words."""
    jobs = [job for seed in range(seeds) for job in jobs_of(seed).jobs]
    rates = async_sgd.throughputs([async_sgd.network_of(job) for job in jobs], NODES)
    gains = np.percentile(rates[-1] / rates[0], [0, 10, 50, 90, 100])
    alone_h = np.array([job.batches * job.cycle_s for job in jobs]) / 3600
    return (
        f"A job takes {alone_h.mean():,.0f} h on one node on average ({np.median(alone_h):,.0f} h in the median). On all "
        f"{NODES} nodes it is {gains[2]:.1f} times as fast in the median; one in ten gains less than {gains[1]:.1f} times, "
        f"one in ten more than {gains[3]:.1f} ({gains[0]:.2f} to {gains[4]:.1f} in all): one worker nearly fills the slow "
        "links of some"
    )


def page(seeds: int) -> str:
    """Run everything."""
    begin = time.perf_counter()
    with multiprocessing.Pool(2) as pool:
        found = np.array(pool.map(hours, range(seeds), chunksize=1)).swapaxes(0, 1)
    taken = time.perf_counter() - begin
    stops = " and ".join(f"{chance:.0%} of the jobs at {at:.0%} of their work" for at, chance in STOPS["early ends"])
    return "\n".join(
        [
            "# Order and sizing: jobs of asynchronous SGD that arrive over time\n\n"
            f"`python benchmarks/grid.py`, {machine()}; {taken:.0f} s in two processes.\n\n"
            f"{JOBS} jobs, `dlsched generate async_sgd --preset published --jobs {JOBS} --nodes {NODES} --seed ...`, "
            f"seeds 0 to {seeds - 1}; speeds by mean value analysis, each job on at most all {NODES} nodes. "
            f"{speedups(seeds)}. Poisson arrivals, a cluster that is empty at first, all jobs count; restarts of "
            f"{RESTART_S:g} s, little beside such jobs, so that stopping one is not free. So few nodes that jobs often "
            "outnumber them: otherwise the order matters to no sizing that shares out.\n\n"
            "The load is the work that is really done, in node-seconds on one node each, where nodes are best used, over "
            f"those that the cluster has while jobs arrive. Early ends: {stops}, the others run to the end. Policies see "
            "the nominal work only, and none of the grid uses the distribution. A seed gives all cases the same jobs and, "
            "up to a factor, the same arrivals.\n\n"
            "**What is whose.** Of Lin, Paolieri, Chou, Golubchik (MASCOTS 2018) only the abstract was available; no "
            "number of theirs is quoted. The grid of orders and sizings, loads, and ends are our reading, and all figures "
            "are dlsched's own.\n",
            "## What the figures say\n\n"
            "A comparison is one of two cells in one case, by the paired 95 % interval of its difference, each by itself.\n\n"
            + findings(found)
            + "\n",
            "## Mean flow time, h\n\n"
            f"Mean over {seeds} seeds with its 95 % interval. Bold: the best cell, and those with the same streams. The "
            "intervals show how far streams differ; whether two cells do is for the paired differences below. Under equal "
            "and marginal the order only says who waits when jobs outnumber nodes; then it takes each at one node, where "
            "all have efficiency 1, so that `efficiency` is order of arrival.\n\n" + grid(found),
            "## The best cells\n\n"
            "Paired difference with its 95 % interval. Last column: cells whose paired interval from the best holds 0, at "
            "95 % for all cells together (Bonferroni). The best was picked by the same seeds, which favours it a little. "
            "Joined by =: the same streams.\n\n" + winners(found),
            "## What the order does\n\n"
            "Paired differences from shortest remaining time at the same sizing, h; bold where the 95 % interval, each by "
            "itself, leaves out 0.\n\n"
            + against(found, "srpt", [name for name in NAMES if not name.startswith("srpt")]),
            "## What the sizing does\n\n"
            "Paired differences from marginal gain in the same order, h.\n\n"
            + against(found, "marginal", [name for name in NAMES if not name.endswith("marginal")]),
            "## Over the bound, at most\n\n"
            "Mean ratio to the larger of the bounds area and length, which no schedule of the same stream beats, even one "
            "that knows arrivals and ends beforehand; the best schedule may be far above it.\n\n" + ratios(found),
        ]
    )


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    text = page(QUICK_SEEDS if quick else SEEDS)
    print(text, end="")
    if not quick:
        Path(__file__).parent.joinpath("results", "grid.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
