"""What the study ``rings`` found: what every method reaches by setting and load, and where the heuristics lose."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from cases import Cases, cases, shown

from dlsched.core.arrays import FloatArray
from dlsched.core.quantities import per_cent
from dlsched.reproduce.gadget import BASELINES, TOTAL_UTILITY, fig4, shape_of
from dlsched.ring_embedding import Instance, checker
from dlsched.ring_embedding.rings.network import Network, utility_tables
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.reproduce.published import gadget
from dlsched.study.rows import Row

BAR_S = 600.0
BARS = {"sigmoid": 0.01, "square root": 0.005}
WORTHS = {"paper": "sigmoid", "paper-sqrt": "square root"}
PUBLISHED = "gadget-published"
SETTINGS = (
    "setting; load; bound; of the ceiling; blind jobs; broken as published; rules broken, mean; proven; gap: mean; largest; "
    "seconds at most; the bar"
)
Figures = dict[str, FloatArray]
"""One figure an instance, by setting."""


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    of_exact = [row for row in rows if row.method == "exact"]
    instances = {row.instance: study.instance(row.key) for row in of_exact}
    rejected = [row.instance for row in rows if row.method == PUBLISHED and row.status == "rejected"]
    with ProcessPoolExecutor() as pool:  # what breaks a rule has no utility in its row
        broken = dict(zip(rejected, pool.map(_unrepaired, map(instances.get, rejected)), strict=True))
    needs = {name: _needs(instance) for name, instance in instances.items()}
    utility = cases(rows, lambda row: _utility(row, broken), _setting)
    bounds = _of_instances(of_exact, lambda row: row.reference)
    facts = {
        "load": _of_instances(of_exact, lambda row: needs[row.instance][0]),
        "ceiling": _of_instances(of_exact, lambda row: row.reference / needs[row.instance][1]),
        "blind": _of_instances(of_exact, lambda row: needs[row.instance][2]),
        "broken": _of_instances(of_exact, lambda row: broken.get(row.instance, (0, 0))[1]),
        "proven": _of_instances(of_exact, lambda row: row.status == "optimal"),
        "gap": _of_instances(of_exact, lambda row: max(0.0, round(1 - row.objective / row.bound, 6))),
        "seconds": _of_instances(of_exact, lambda row: row.time_s),
    }
    order = sorted(utility, key=lambda case: (_worth(case), facts["load"][case].mean()))
    shares = {case: {name: each / bounds[case] for name, each in utility[case].items()} for case in order}
    measured_s = cases(rows, lambda row: row.time_s, _setting)
    times_s = {case: measured_s[case] for case in order}
    names = list(shares[order[0]])
    return {
        "ranked": "\n".join(
            f"- {case}, load {facts['load'][case].mean():.3g}: {_ranked(shares[case])}." for case in shares
        ),
        "greedy": "\n".join(_greedy(worth, shares, facts["blind"]) for worth in dict.fromkeys(map(_worth, shares))),
        "beside": "\n".join(f"- {line}" for line in fig4([row for row in rows if row.preset == "paper"]).conclusions),
        "settings": markdown_table(SETTINGS.split("; "), [_facts(case, bounds[case], facts) for case in order]),
        "shares": _matrix(names, shares, lambda each: f"{shown(each, digits=3)} ({each.min():.3f})"),
        "seconds": _matrix(names, times_s, lambda each: f"{each.mean():.2f} ({each.max():.2f})"),
        "baselines": _baselines({case: utility[case] for case in order}, facts["load"]),
    }


def _setting(row: Row) -> str:
    jobs, servers, slots = shape_of(row)
    return f"{jobs} jobs, {servers} servers, {slots} slots, {WORTHS[row.preset]}"


def _worth(case: str) -> str:
    return case.rsplit(", ")[-1]


def _of_instances(rows: Sequence[Row], figure: Callable[[Row], float]) -> Figures:
    return {case: each["exact"] for case, each in cases(rows, figure, _setting).items()}


def _unrepaired(instance: Instance) -> tuple[float, int]:
    """Utility of an embedding that was rejected, and how many rules it breaks."""
    embedding = gadget(instance, seed=0)
    return checker.objective(instance, embedding), len(checker.check(instance, embedding))


def _utility(row: Row, broken: Mapping[str, tuple[float, int]]) -> float | None:
    return broken[row.instance][0] if row.method == PUBLISHED and row.instance in broken else row.objective


def _needs(instance: Instance) -> tuple[float, float, float]:
    """Load, ceiling, and the share of blind jobs."""
    network = Network(instance)
    wanted, ceiling, blind = 0, 0.0, 0
    for index, job in enumerate(instance.jobs):
        values = utility_tables([job], [int(network.total[index])])[0].values
        whole = values[-1] - values[0]
        wanted += int(np.argmax(values >= values[0] + 0.99 * whole))
        ceiling += float(values[-1])
        blind += bool(values[network.most[index]] - values[0] < 1e-6 * whole)
    gpus = sum((server.capacity or {})["gpu"] for server in instance.servers)
    return wanted / (gpus * instance.slots), ceiling, blind / len(instance.jobs)


def _ranked(shares: Mapping[str, FloatArray]) -> str:
    """Methods with their mean share, best first."""
    by_share: dict[str, list[str]] = {}
    for name in sorted(shares, key=lambda name: -shares[name].mean()):
        by_share.setdefault(f"{shares[name].mean():.3f}", []).append(f"`{name}`")
    return "; ".join(f"{', '.join(names)} {share}" for share, names in by_share.items())


def _greedy(worth: str, shares: Cases, blind: Figures) -> str:
    """What GADGET loses to baselines, and what it would without rounding and repair."""
    held = [case for case in shares if _worth(case) == worth]
    ours, greedy = (np.concatenate([shares[case][name] for case in held]) for name in ("gadget", "slot-greedy"))
    alike = (abs(greedy - ours) <= 1e-6).sum()
    least = np.min([np.concatenate([shares[case][name] for case in held]) for name in BASELINES], axis=0)
    return (
        f"- {worth.capitalize()}s: all of {', '.join(BASELINES)} earn more than `gadget` in {(least > ours + 1e-6).sum()} of "
        f"{len(ours)} instances. {np.concatenate([blind[case] for case in held]).mean():.0%} of the jobs are blind. The "
        f"exact slot greedy, without rounding and repair, earns the same as `gadget` in {alike}, and at most "
        f"{(greedy / ours).max():.3f} times as much."
    )


def _facts(case: str, bounds: FloatArray, facts: Mapping[str, Figures]) -> list[str]:
    load, ceiling, blind, broken, proven, gap, seconds = (each[case] for each in facts.values())
    bar = BARS[_worth(case)]
    kept = "yes" if gap.max() <= bar and seconds.max() <= BAR_S else "NO"
    return [
        *(case, f"{load.mean():.3f}", shown(bounds, digits=1), f"{ceiling.mean():.4f}", f"{blind.mean():.0%}"),
        *(f"{(broken > 0).sum()} of {len(broken)}", f"{broken.mean():,.1f}", f"{proven.sum():.0f} of {len(proven)}"),
        *(f"{per_cent(gap.mean())} %", f"{per_cent(gap.max())} %", f"{seconds.max():.1f}"),
        f"{per_cent(bar)} %, {BAR_S:g} s: {kept}",
    ]


def _matrix(names: Sequence[str], figures: Cases, cell: Callable[[FloatArray], str]) -> str:
    table = [[case, *(cell(each[name]) for name in names)] for case, each in figures.items()]
    return markdown_table(["setting", *names], table)


def _baselines(utility: Cases, loads: Figures) -> str:
    table = [
        [f"the paper's, {jobs} jobs", "?", *(f"{theirs[name] / theirs[PUBLISHED]:.2f}" for name in BASELINES)]
        for jobs, theirs in TOTAL_UTILITY.items()
    ]
    for case, each in utility.items():
        table.append([case, f"{loads[case].mean():.2f}", *(shown(each[name] / each["gadget"]) for name in BASELINES)])
    return markdown_table(["setting", "load", *(f"{name} / GADGET" for name in BASELINES)], table)
