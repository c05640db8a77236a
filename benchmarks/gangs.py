"""What every policy of srpt_mapping costs, and reaches, on the whole Philly trace.

Protocol: one thread; CPU seconds of the process, as other processes may run beside it, one run each. All 82,247 jobs of the
trace, as gangs on the GPUs that their users asked for, with perfect predictions, on 60 and on 50 servers of 8 GPUs. The
clock runs over the policy, and over ``srpt_mapping.check`` of what it returns; placements that are remembered are forgotten
before. The instance is read before the clock. Against it, the combined bound of the cluster.

    python benchmarks/gangs.py [philly_jobs.csv]    # results/gangs.md; some minutes
    python benchmarks/gangs.py --quick              # 4,000 jobs, no file

The trace is not part of this repository: ``philly_jobs.csv`` of petuum/adaptdl, branch osdi21-artifact, by default in
../shared/data beside this repository.
"""

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from table import machine, markdown

from dlsched.cluster.grouping import grouped, improved
from dlsched.srpt_mapping import Waiting, bounds, checker
from dlsched.srpt_mapping.heuristics import POLICIES, a_srpt, least_work_first
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule
from dlsched.traces.gang_traces import import_philly_gangs

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
TRACE = ROOT.parent / "shared" / "data" / "philly_jobs.csv"
SERVERS = (60, 50)
BAR_S = 60.0
T = TypeVar("T")
PATIENCES = (0.0, 0.5, 2.0, 10.0, 30.0)
PATIENTS: dict[str, Callable[[Instance, Waiting], Schedule | None]] = {
    "A-SRPT, Heavy-Edge": lambda instance, waiting: a_srpt(instance, waiting=waiting),
    "A-SRPT, compact": lambda instance, waiting: a_srpt(instance, waiting=waiting, place="compact"),
    "least work, Heavy-Edge": lambda instance, waiting: least_work_first(instance, waiting=waiting),
    "least work, compact": lambda instance, waiting: least_work_first(instance, waiting=waiting, place="compact"),
}
COLUMNS = [
    "policy",
    "seconds",
    "checker",
    "its seconds",
    "total completion time, 1e9 s",
    "/ bound",
    "mean flow, h",
    "/ bound's",
    "mean wait, h",
]


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a call, and its answer."""
    begin = time.process_time()
    answer = call()
    return time.process_time() - begin, answer


def row(instance: Instance, name: str, bound_s: float, releases_s: float) -> tuple[float, list[str]]:
    """Seconds of a policy, and its line of the table."""
    grouped.cache_clear()
    improved.cache_clear()
    taken_s, schedule = timed(lambda: POLICIES[name](instance))
    if not isinstance(schedule, Schedule):
        raise RuntimeError(f"{name}: no schedule")
    checked_s, broken = timed(lambda: checker.check(instance, schedule))
    total_s = checker.objective(instance, schedule)
    reached = checker.figures(instance, schedule)
    cells = [
        f"{taken_s:.1f}",
        f"{len(broken)} broken rules" if broken else "feasible",
        f"{checked_s:.1f}",
        f"{total_s / 1e9:.3f}",
        f"{total_s / bound_s:.5f}",
        f"{reached['mean_flow_s'] / 3600:.2f}",
        f"{(total_s - releases_s) / (bound_s - releases_s):.3f}",
        f"{reached['mean_wait_s'] / 3600:.2f}",
    ]
    print(name, *cells, flush=True)
    return taken_s, [f"`{name}`", *cells]


def cluster_text(instance: Instance) -> tuple[str, float]:
    """Every policy on one cluster, and the seconds of the slowest."""
    count = len(instance.jobs)
    releases_s = math.fsum(job.release_s for job in instance.jobs)
    bound_taken_s, certificate = timed(lambda: bounds.bound(instance))
    bound_s = float(certificate.value)
    rows = [row(instance, name, bound_s, releases_s) for name in POLICIES]
    text = (
        f"## {len(instance.servers)} servers\n\n{count:,} jobs on {instance.total_gpus} GPUs. Bound: {bound_s / 1e9:.3f}e9 s "
        f"of total completion time, {(bound_s - releases_s) / count / 3600:.2f} h of mean flow; computed in "
        f"{bound_taken_s:.0f} s.\n\n"
    )
    return text + markdown(COLUMNS, [cells for _, cells in rows]), max(taken_s for taken_s, _ in rows)


def waiting_text(instance: Instance) -> str:
    """Mean flow, hours, over the longest wait for a better placement."""
    rows = []
    for name, policy in PATIENTS.items():
        cells = []
        for patience in PATIENCES:
            schedule = policy(instance, Waiting(threshold=1.2, patience=patience, quality=1.2))
            assert schedule is not None
            cells.append(f"{checker.figures(instance, schedule)['mean_flow_s'] / 3600:.2f}")
        print(name, *cells, flush=True)
        rows.append([name, *cells])
    return (
        f"## Waiting for a better placement, {len(instance.servers)} servers\n\nMean flow, h, over ``patience``: the longest "
        "wait of a communication-heavy job over its predicted length; ``threshold`` and ``quality`` 1.2.\n\n"
        + markdown(["policy", *(f"{patience:g}" for patience in PATIENCES)], rows)
    )


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?", type=Path, default=TRACE)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if not options.trace.exists():
        print(f"Skipped: {options.trace} was not found; give its path as the argument.")
        return
    import_s, (trace, audit) = timed(lambda: import_philly_gangs(str(options.trace), gpus=8 * SERVERS[0]))
    if options.quick:
        trace = trace.model_copy(update={"jobs": trace.jobs[:4000]})
    texts, slowest_s = [], 0.0
    for servers in SERVERS:
        instance = trace.model_copy(update={"servers": trace.servers[:servers]})
        text, most_s = cluster_text(instance)
        texts += [text, waiting_text(instance)]
        slowest_s = max(slowest_s, most_s)
    page = "\n".join(
        [
            f"# Policies of srpt_mapping on the Philly trace\n\n`python benchmarks/gangs.py`, {machine()}. One thread; CPU "
            "seconds, one run each. Predictions are perfect. The bound is proven of every schedule; its mean flow is the bound "
            "minus the sum of the releases, a job.\n",
            f"`dlsched import philly-gangs {options.trace.name} --gpus {8 * SERVERS[0]}` took {import_s:.1f} s, and says: "
            f"{' '.join(audit)}\n",
            f"Slowest policy {slowest_s:.1f} s, at most {BAR_S:g} wanted: {'yes' if slowest_s <= BAR_S else 'NO'}.\n",
            *texts,
        ]
    )
    print(page, end="")
    if not options.quick:
        RESULTS.joinpath("gangs.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
