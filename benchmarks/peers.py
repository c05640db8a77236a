"""Compare ``exact`` with plain models in CP-SAT, HiGHS, SCIP and PyJobShop on every shipped instance, 60 s each.

``exact`` runs as ``solve`` runs it, on the one core that all methods have (``taskset -c 0``). Peers get the plain models of
``plain_models.py``, one thread each, without a start; building the model is part of their time. A peer without a model of
an instance (alpha-fair placements, streams without ticks, gangs that have begun, models of over 200,000 columns) has no
run there. Answers are decoded and judged by the checker of the family.

*Proves*: it says that its answer is optimal within the limit, and that answer is within 1e-5 of the best of all methods.
CP-SAT and PyJobShop prove of rounded times, HiGHS and SCIP within their tolerances. *Gap*: of its own answer to its own
bound. *Off*: its answer beside the best of all. Both means are over the instances of which the method has a model, whose
number stands under *proves*, so those of ``exact`` are over more instances than those beside it. All three leave out what
all solutions share, such as releases. A profile says in how many of the instances that any method proves a method is
within a factor of the fastest proof (Dolan and More 2002); proofs of less than .1 s count as .1 s.

Every run is written to ``results/peers.json`` as it ends, so the command goes on where it was stopped; ``--again GLOB``
forgets the runs of some instances. PyJobShop is the extra ``peers``.
"""

import argparse
import fnmatch
import importlib.util
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from plain_models import Answer, by_cpsat, by_milp, gangs_by_cpsat, gangs_by_pyjobshop, linear
from table import machine, markdown

import dlsched
from dlsched import srpt_mapping
from dlsched.core.status import Sense

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
CLOSE, QUICK_S = 1e-5, 0.1
FACTORS = (1, 2, 5, 10, 100, 1000)


def by_exact(instance: Any, limit_s: float) -> Answer:
    """The library's exact method."""
    result = dlsched.solve(instance, time_limit=limit_s)
    return Answer(result.objective, result.bound, str(result.status) == "optimal", result.constant)


def peer(name: str) -> Callable[[Any, float], Answer | None]:
    """The call of a peer on an instance within a limit; None: it has no model."""

    def run(instance: Any, limit_s: float) -> Answer | None:
        began = time.perf_counter()
        gangs = {"CP-SAT": gangs_by_cpsat, "PyJobShop": gangs_by_pyjobshop}.get(name)
        if gangs is not None and isinstance(instance, srpt_mapping.Instance):
            return gangs(instance, limit_s)
        plain = None if name == "PyJobShop" else linear(instance)
        if plain is None:
            return None
        left_s = max(1.0, limit_s - (time.perf_counter() - began))
        return by_cpsat(instance, plain, left_s) if name == "CP-SAT" else by_milp(instance, plain, name.lower(), left_s)

    return run


PEERS = ["HiGHS", "SCIP", "CP-SAT", *(["PyJobShop"] if importlib.util.find_spec("pyjobshop") else [])]
METHODS: dict[str, Callable[[Any, float], Answer | None]] = {
    "exact": by_exact,
    **{name: peer(name) for name in PEERS},
}

Run = dict[str, Any]
"""``seconds``, ``objective``, ``bound`` and ``proven``, or ``none``: no model."""


def measure(runs: dict[str, dict[str, Run]], only: str, limit_s: float, save: Callable[[], None]) -> None:
    """Run what has not been run, the smallest files first."""
    warm()
    files = [path for path in (ROOT / "instances").glob("*/*.json") if fnmatch.fnmatch(name_of(path), only)]
    for path in sorted(files, key=lambda path: (path.stat().st_size, path)):
        done = runs.setdefault(name_of(path), {})
        for method, call in METHODS.items():
            if method in done:
                continue
            instance, began = dlsched.read(path), time.perf_counter()
            answer = call(instance, limit_s)
            seconds = round(time.perf_counter() - began, 3)
            done[method] = {"none": True} if answer is None else {"seconds": seconds, **answer._asdict()}
            print(f"{name_of(path)}, {method}: {done[method]}", file=sys.stderr)
            save()


def warm() -> None:
    """Have every solver imported off the clock."""
    for family in dlsched.FAMILIES:
        for call in METHODS.values():
            call(import_module(f"dlsched.{family}").example(), 5.0)


def name_of(path: Path) -> str:
    """Path below instances/."""
    return path.relative_to(ROOT / "instances").with_suffix("").as_posix()


class Judged:
    """The runs of an instance beside the best answer of all of them."""

    def __init__(self, name: str, runs: dict[str, Run]) -> None:
        self.name, self.family = name, name.split("/")[0]
        self.runs = {method: run for method, run in runs.items() if "none" not in run}
        found = [run["objective"] for run in self.runs.values() if run["objective"] is not None]
        instance = dlsched.read(ROOT / "instances" / f"{name}.json")
        minimised = dlsched.FAMILIES[self.family].sense_for(instance) is Sense.MINIMIZE
        self.constant = runs["exact"]["constant"]
        self.best = (min if minimised else max)(found)

    def off(self, method: str) -> float:
        """How far the answer of a method is from the best of all, 1 without an answer."""
        return self._gap(method, self.best)

    def gap(self, method: str) -> float:
        """How far the answer of a method is from its own bound, 1 where one of them is missing."""
        return self._gap(method, self.runs[method]["bound"])

    def _gap(self, method: str, value: float | None) -> float:
        found = dlsched.gap(self.runs[method]["objective"], value, self.constant)
        return 1.0 if found is None else min(found, 1.0)

    def proven(self, method: str) -> bool:
        """Whether a method proves the best answer."""
        return method in self.runs and self.runs[method]["proven"] and self.off(method) <= CLOSE

    def seconds(self, method: str) -> float:
        """Seconds of a proof, infinite without one."""
        return max(QUICK_S, self.runs[method]["seconds"]) if self.proven(method) else math.inf


def page(runs: dict[str, dict[str, Run]], limit_s: float) -> str:
    """Tables of proofs and gaps, profiles, and every instance on which another method does better."""
    judged = [Judged(name, by_method) for name, by_method in sorted(runs.items()) if "exact" in by_method]
    rows = []
    for family in sorted({each.family for each in judged}):
        of = [each for each in judged if each.family == family]
        for method in METHODS:
            mine = [each for each in of if method in each.runs]
            if not mine:
                continue
            gap = statistics.fmean(each.gap(method) for each in mine)
            answers = statistics.fmean(each.off(method) for each in mine)
            proofs = sum(each.proven(method) for each in mine)
            rows.append([family, method, f"{proofs} of {len(mine)}", f"{gap:.2%}", f"{answers:.2%}"])
    profile = []
    for method in METHODS:
        those = [each for each in judged if method in each.runs and any(map(each.proven, each.runs))]
        if not those:
            continue
        ratios = [each.seconds(method) / min(map(each.seconds, each.runs)) for each in those]
        shares = [sum(ratio <= factor for ratio in ratios) / len(ratios) for factor in FACTORS]
        profile.append([method, str(len(ratios)), *(f"{share:.0%}" for share in shares)])
    lost = [row for each in judged for row in losses(each)]
    asked, _, protocol = (__doc__ or "").replace("``", "`").strip().partition("\n\n")
    text = [
        "# Beside plain models",
        f"*{asked}*",
        f"{len(judged)} instances, {limit_s:g} s for each method.",
        "## Proofs, gaps, answers",
        markdown(["family", "method", "proves", "mean gap", "mean off"], rows),
        "## Profiles",
        markdown(["method", "instances", *(f"within x {factor}" for factor in FACTORS)], profile),
        "## Where another method does better",
        markdown(["instance", "method", "what"], lost) if lost else "Nowhere.",
        f"## Protocol\n\n{protocol}",
        f"`taskset -c 0 python benchmarks/peers.py`, {machine()}.",
    ]
    return "\n\n".join(part.rstrip("\n") for part in text) + "\n"


def losses(each: Judged) -> list[list[str]]:
    """What other methods do better than ``exact`` on an instance: a proof, a better answer, or a proof in half the time."""
    rows = []
    for method in each.runs.keys() - {"exact"}:
        ours_s, theirs_s = each.seconds("exact"), each.seconds(method)
        if each.off("exact") > CLOSE and each.off(method) <= CLOSE:
            rows.append([each.name, method, f"its answer is better by {each.off('exact'):.2%}"])
        elif theirs_s < math.inf and ours_s == math.inf:
            rows.append([each.name, method, f"it proves the optimum, in {theirs_s:.1f} s"])
        elif theirs_s < ours_s / 2 and ours_s - theirs_s > 1:
            rows.append([each.name, method, f"it proves the optimum in {theirs_s:.1f} s, not in {ours_s:.1f} s"])
    return sorted(rows)


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", default="*", metavar="GLOB", help="instances, as elastic_stream/slots-*; all by default"
    )
    parser.add_argument("--again", metavar="GLOB", help="forget the runs of these instances first")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each method (default: 60)")
    parser.add_argument("--raw", type=Path, default=RESULTS / "peers.json", help="where runs are kept")
    options = parser.parse_args()
    raw: Path = options.raw
    kept = json.loads(raw.read_text()) if raw.is_file() else {"limit_s": options.limit, "measured": {}}
    if kept["limit_s"] != options.limit:
        parser.error(f"{raw} has runs of {kept['limit_s']:g} s; measure others with --raw elsewhere")
    runs = kept["measured"]
    for name in [name for name in runs if options.again and fnmatch.fnmatch(name, options.again)]:
        del runs[name]

    def save() -> None:
        whole = raw.with_suffix(".part")
        whole.write_text(json.dumps({"machine": machine(), **kept}, indent=1) + "\n", encoding="utf-8")
        whole.replace(raw)

    try:
        measure(runs, options.only, options.limit, save)
    finally:
        raw.with_suffix(".md").write_text(page(runs, options.limit), encoding="utf-8")


if __name__ == "__main__":
    main()
