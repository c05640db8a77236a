"""Tasks of Alibaba's trace openb on its GPUs: what rules leave unallocated, beside what any placement has to leave.

The plan is that of ``dlsched reproduce openb-fragmentation``, whose page says what differs from the paper. A run goes on where
it was stopped.

    python benchmarks/openb.py            # writes results/openb.md
    python benchmarks/openb.py --quick    # a twentieth of the nodes, printed

Two rules of the paper's simulator, written down here, show what CPUs change. They run on the list of tasks itself, which is not
part of this repository; without it that part is left out.
"""

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from table import machine, markdown

from dlsched.core.quantities import mean
from dlsched.reproduce.entries import entry_named, plan_of
from dlsched.reproduce.findings import Findings
from dlsched.reproduce.openb import BOUND, PLANNED, RULES
from dlsched.study.leader import run

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data" / "openb"
TASKS, NODES = DATA / "openb_pod_list_default.csv", DATA / "openb_node_list_gpu_node.csv"
LARGEST = 104_000.0, 8_000.0
"""CPUs and GPUs of the largest node in thousandths, by which the simulator divides (best_fit_score.go)."""
SEEDS = range(42, 45)
NAME, SMALL = "openb-fragmentation", "openb-optimum"
HEAD = """# GPUs that rules for slices leave unallocated

*Tasks of the trace openb arrive until the GPUs that they ask for add up to those of the cluster; no task ends.*

Commands: `python benchmarks/openb.py`, `dlsched reproduce openb-fragmentation`, `dlsched reproduce openb-optimum`, {machine}.
"""
WORDS = """## What any placement has to leave

Per cent of the GPUs: of the default list means of {seeds} draws with their 95 % intervals, else of one draw. In brackets the
means of the paper's repository (hkust-adsl/kubernetes-scheduler-simulator,
`experiments/analysis/expected_results/analysis_allo_discrete.csv`, column 100), which counts CPUs; they were read by eye.
*No placement leaves less* is proven for the same draws, in integers.
"""

CPUS = """## What CPUs make of it

Per cent of the GPUs that two rules leave unallocated on the default list itself, scored as in the paper's simulator, for whole
GPUs, too, with the CPUs that tasks ask for and without; means of {seeds} orders.
"""


def table(found: Findings) -> str:
    """The means, a row for each variant."""
    (panel,) = found.panels
    texts: dict[tuple[str, str], str] = {}
    for series in panel.series:
        for mark in series.marks:
            key = str(mark.at), series.label.removesuffix(", the paper's")
            texts[key] = (
                texts[key] + f" ({mark.estimate.value:.2f})" if series.whose == "paper" else mean(mark.estimate)
            )
    names = [*RULES.values(), *PLANNED.values(), BOUND]
    return markdown(
        ["variant", *names],
        [[variant, *(texts.get((variant, name), "-") for name in names)] for variant in panel.categories],
    )


def section(name: str, stores: Path, *, quick: bool) -> tuple[Findings, Sequence[str], int]:
    """Run a reproduction: its findings, what differs, and how many seeds it has."""
    entry = entry_named(name)
    with run(plan_of(entry, quick=quick), stores / f"{name}.sqlite") as study:
        rows = study.rows()
    return entry.find(rows), entry.differs, len({row.seed for row in rows})


def with_cpus(rule: str, cpus: bool, seed: int) -> float:
    """Per cent of the GPUs that ``best-fit`` or ``dot-product`` leaves on the default list, as it is scored there.

    Best fit: the node on which the least is left, the mean of CPUs and GPUs as shares of the largest node. Dot product: the node
    with the least product of free and requested amounts. On that node a part goes to the GPU with the least room.
    """
    generator = np.random.default_rng(seed)
    tasks = np.array([(row["cpu_milli"], row["num_gpu"], row["gpu_milli"]) for row in rows_of(TASKS)], dtype=np.int64)
    tasks = np.concatenate([tasks, tasks[generator.integers(len(tasks), size=len(tasks) // 2)]])
    nodes = rows_of(NODES)
    free_cpu = np.array([float(row["cpu_milli"]) for row in nodes])
    free = np.array([[1000.0 * (gpu < int(row["gpu"])) for gpu in range(8)] for row in nodes])
    total, arrived, taken = free.sum(), 0, 0
    for cpu, gpus, milli in tasks[generator.permutation(len(tasks))].tolist():
        if arrived >= total:
            break
        arrived += gpus * milli
        fits = (free_cpu >= cpu if cpus else True) & ((free >= milli).sum(axis=1) >= gpus)
        if not fits.any():
            continue
        room, share = free.sum(axis=1) / LARGEST[1], gpus * milli / LARGEST[1]
        own = free_cpu / LARGEST[0], cpu / LARGEST[0]
        scores = (
            room - share + cpus * (own[0] - own[1]) if rule == "best-fit" else room * share + cpus * own[0] * own[1]
        )
        node = int(np.where(fits, scores, np.inf).argmin())
        free_cpu[node] -= cpu * cpus
        able = np.flatnonzero(free[node] >= milli)
        chosen = able[np.argsort(free[node][able], kind="stable")][:gpus] if milli < 1000 else able[:gpus]
        free[node, chosen] -= milli
        taken += gpus * milli
    return float(100 * (1 - taken / total))


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a list."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def listed(lines: Sequence[str]) -> str:
    """Lines as a list."""
    return "".join(f"- {line}\n" for line in lines)


def page(stores: Path, *, quick: bool) -> str:
    """The page of both reproductions."""
    found, differs, seeds = section(NAME, stores, quick=quick)
    small, remark, _ = section(SMALL, stores, quick=quick)
    parts = [HEAD.format(machine=machine()), WORDS.format(seeds=seeds), table(found), listed(found.conclusions)]
    if TASKS.is_file() and not quick:
        rows = [
            [name, *(f"{np.mean([with_cpus(rule, cpus, seed) for seed in SEEDS]):.2f}" for cpus in (True, False))]
            for rule, name in (("best-fit", "best fit"), ("dot-product", "dot product"))
        ]
        parts += [CPUS.format(seeds=len(SEEDS)), markdown(["rule of the simulator", "with CPUs", "without"], rows)]
    parts += ["## What differs from the paper\n", listed(differs)]
    parts += ["## Small instances, against the proven optimum\n", listed(small.conclusions), "\n".join(remark) + "\n"]
    return "\n".join(parts)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the nodes, printed; no store and no page")
    if parser.parse_args().quick:
        with TemporaryDirectory() as folder:
            print(page(Path(folder), quick=True))
        return
    stores, results = HERE / ".stores", HERE / "results"
    stores.mkdir(exist_ok=True)
    (results / "openb.md").write_text(page(stores, quick=False), encoding="utf-8")


if __name__ == "__main__":
    main()
