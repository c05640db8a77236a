"""The exact method beside solvers: runs on instance after instance, whether optima agree, the words of a table.

Every method runs as ``solve`` runs it, model building and checks included, seconds on the wall, solvers warm. Three turns an
instance, of each method as many as start within its first 10 s.
"""

import math
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

from measure import Page, Timing

from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.errors import UsageError
from dlsched.core.gap import gap
from dlsched.core.limits import Limits
from dlsched.core.result import Result
from dlsched.core.status import TerminationStatus

Run = Result[Any] | None  # None: refused
Method = tuple[str, str | None]  # and solver
WORDS = (
    "*x 20*: 20 times as long as `exact`. Of a solver that ended without a proof: its own gap, and how far its answer is from "
    "the bound of `exact`."
)


def way(
    family: ModuleType, instance: Any, method: str, solver: str | None, limit_s: float | None
) -> Callable[[int], Run]:
    """Make the call that runs a method within a limit; every method but ``exact`` may refuse."""

    def run(turn: int) -> Run:
        try:
            return family.solve(instance, method=method, solver=solver, limits=Limits(time_s=limit_s))
        except UsageError:
            if method == "exact":
                raise
            return None

    return run


def warm(family: ModuleType, methods: Collection[Method]) -> None:
    """Load every solver once, off the clock."""
    for method, solver in methods:
        family.solve(family.example(), method=method, solver=solver)


def proven(run: Run) -> bool:
    """Whether it holds a proven optimum."""
    return run is not None and run.status is TerminationStatus.OPTIMAL


def agree(first: Run, second: Run, tolerance: float = 3e-6) -> bool:
    """Whether two proven optima are the same, up to the solvers' tolerance; others say nothing of each other."""
    if first is None or second is None or not (proven(first) and proven(second)):
        return True
    return math.isclose(first.objective or 0.0, second.objective or 0.0, rel_tol=tolerance)


def ending(run: Run) -> str:
    """Why it stopped."""
    if run is None:
        return "refused"
    return "proof" if proven(run) else "the limit" if run.status is TerminationStatus.TIME_LIMIT else "gave up"


def gap_left(run: Run) -> float:
    """The gap that a run leaves, infinite where it proves nothing or finds nothing."""
    return math.inf if run is None or run.gap is None else run.gap


def percent(value: float | None) -> str:
    """A gap, two digits; below 1e-6 objective and bound meet."""
    return "no bound" if value is None else "0 %" if value < 1e-6 else f"{100 * value:.2g} %"


def times(ratio: float) -> str:
    """How many times as long."""
    return f"x {ratio:,.0f}" if ratio >= 10 else f"x {ratio:.2g}"


def beside(timing: Timing[Run], ours: Timing[Run]) -> str:
    """What a solver makes of an instance, in a cell."""
    run, best = timing.answers[-1], ours.answers[-1]
    if run is None:
        return "refused"
    ratio = times(timing.over(ours).value)
    if proven(run):
        return f"{timing.median:.2f} s, {ratio}"
    bound = None if best is None else best.bound
    held = "nothing" if run.objective is None or bound is None else percent(gap(run.objective, bound, run.constant))
    return f"{ending(run)}, > {ratio}: {percent(run.gap)}, {held}"


def add_proofs(
    page: Page,
    family: ModuleType,
    head: str,
    instances: Mapping[str, Any],
    *,
    limit_s: float | None,
    others: Sequence[Method] = (),
    others_limit_s: float = 30.0,
    compared: int | None = None,
    tolerance: float = 3e-6,
) -> list[Timing[Run]]:
    """Append the table of the exact method on instances, the first few (None: all) with other methods beside it.

    ``instances`` are known by the first cells of their rows, of which ``head`` has the heads. Proven optima must agree to
    ``tolerance``.
    """
    rows, found = [], []
    for index, (label, instance) in enumerate(instances.items()):
        ways = {"exact": way(family, instance, "exact", None, limit_s)}
        if compared is None or index < compared:
            ways |= {f"{m}, {s}": way(family, instance, m, s, others_limit_s) for m, s in others}
        how = {"same": partial(agree, tolerance=tolerance), "enough_s": 10}
        ours, *theirs = page.measure(instance.name, ways, 3, **how).values()
        cells = [beside(each, ours) for each in theirs] or ["-"] * len(others)
        run = ours.answers[-1]
        objective = "-" if run.objective is None else f"{run.objective:,.4f}"
        rows.append(" | ".join([label, objective, f"{ours.median:.3f}", percent(run.gap), ending(run), *cells]))
        found.append(ours)
    names = (f"`{method}`" + (f", {SOLVERS[solver].full_name}" if solver else "") for method, solver in others)
    page.table(" | ".join([head, "objective", "`exact`, s", "gap", "ended by", *names]), rows)
    return found


def summary(found: Sequence[Timing[Run]]) -> str:
    """How many were proven, in what time, and the gaps of the others."""
    times_s = [each.median for each in found if proven(each.answers[-1])]
    left = [gap_left(each.answers[-1]) for each in found if not proven(each.answers[-1])]
    text = f"{len(times_s)} of {len(found)} proven optimal"
    if times_s:
        text += f", in {statistics.median(times_s):.2f} s in the median and {max(times_s):.2f} s at most"
    if left:
        text += f"; gap of the others {percent(statistics.fmean(left))} in the mean, {percent(max(left))} at most"
    return text
