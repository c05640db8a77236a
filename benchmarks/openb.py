"""Tasks of Alibaba's trace openb on its GPUs: what rules leave unallocated, beside what any placement has to leave.

The plan is that of ``dlsched reproduce openb-fragmentation``, whose page says what differs from the paper. A run goes on where
it was stopped.

    python benchmarks/openb.py            # writes results/openb.md
    python benchmarks/openb.py --quick    # a twentieth of the nodes, printed
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from table import machine, markdown

from dlsched.core.quantities import mean
from dlsched.reproduce.entries import entry_named, plan_of
from dlsched.reproduce.findings import Findings
from dlsched.reproduce.openb import BOUND, PLANNED, RULES
from dlsched.study.leader import run

HERE = Path(__file__).parent
NAME, SMALL = "openb-fragmentation", "openb-optimum"
HEAD = """# GPUs that rules for slices leave unallocated

*Tasks of the trace openb arrive on its GPUs until they have asked for as many as there are; none leaves.*

Commands: `python benchmarks/openb.py`, `dlsched reproduce openb-fragmentation`, `dlsched reproduce openb-optimum`, {machine}.
"""
WORDS = """## What any placement has to leave

Per cent of the GPUs, means of {seeds} seeds with their 95 % intervals. In brackets the means of the paper's repository
(hkust-adsl/kubernetes-scheduler-simulator, `experiments/analysis/expected_results/analysis_allo_discrete.csv`, column 100), which
counts CPUs. *No placement leaves less* is proven for the same draws, in integers.
"""


def table(found: Findings) -> str:
    """The means, a row for each variant."""
    (panel,) = found.panels
    texts: dict[tuple[str, str], str] = {}
    for series in panel.series:
        for mark in series.marks:
            key = str(mark.at), series.label.removesuffix(", the paper's")
            texts[key] = texts[key] + f" ({mark.estimate.value:.2f})" if series.whose == "paper" else mean(mark.estimate)
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


def listed(lines: Sequence[str]) -> str:
    """Lines as a list."""
    return "".join(f"- {line}\n" for line in lines)


def page(stores: Path, *, quick: bool) -> str:
    """The page of both reproductions."""
    found, differs, seeds = section(NAME, stores, quick=quick)
    small, remark, _ = section(SMALL, stores, quick=quick)
    parts = [HEAD.format(machine=machine()), WORDS.format(seeds=seeds), table(found), listed(found.conclusions)]
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
