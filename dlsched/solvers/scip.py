"""SCIP (PySCIPOpt), for mixed-integer linear programs; reports incumbents and bounds while it runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.limits import Limits
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.outcome import (
    BoundCallback,
    Bounded,
    Incumbent,
    IncumbentCallback,
    Outcome,
    Standing,
    StandingCallback,
    failure,
)

if TYPE_CHECKING:
    import pyscipopt

STATUS = {
    "optimal": TerminationStatus.OPTIMAL,
    "infeasible": TerminationStatus.INFEASIBLE,
    "unbounded": TerminationStatus.UNBOUNDED,
    "inforunbd": TerminationStatus.UNBOUNDED,
    "timelimit": TerminationStatus.TIME_LIMIT,
    "nodelimit": TerminationStatus.NODE_LIMIT,
    "totalnodelimit": TerminationStatus.NODE_LIMIT,
    "userinterrupt": TerminationStatus.INTERRUPTED,
}
"""SCIP's words; every other one (memlimit, ...) is an error here: no such limit was set."""


def version() -> str:
    """Name and version."""
    import pyscipopt

    return f"SCIP {pyscipopt.Model().version()} (PySCIPOpt {pyscipopt.__version__})"


def solve(
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
    standing: StandingCallback | None = None,
) -> Outcome:
    """Solve to a gap of 0."""
    import pyscipopt

    scip = pyscipopt.Model()
    scip.hideOutput()
    variables = [
        scip.addVar(vtype="I" if integer else "C", lb=_finite(low), ub=_finite(high), obj=cost)
        for cost, low, high, integer in zip(
            model.costs.tolist(), model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True
        )
    ]
    for index, (low, high) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)):
        columns, coefficients = model.row(index)
        terms = pyscipopt.quicksum(a * variables[c] for c, a in zip(columns, coefficients, strict=True))
        scip.addCons(pyscipopt.scip.ExprCons(terms, lhs=_finite(low), rhs=_finite(high)))
    scip.addObjoffset(model.constant)
    scip.setMinimize() if model.sense is Sense.MINIMIZE else scip.setMaximize()
    scip.setParam("limits/gap", 0.0)
    scip.setParam("parallel/maxnthreads", limits.threads)
    if limits.time_s is not None:
        scip.setParam("limits/time", limits.time_s)
    if limits.nodes is not None:
        scip.setParam("limits/nodes", limits.nodes)
    if start is not None:
        point = scip.createSol()
        for name, variable in zip(model.names, variables, strict=True):
            scip.setSolVal(point, variable, start.get(name, 0.0))
        scip.addSol(point)
    _report(scip, model.names, variables, found=found, bounded=bounded, standing=standing)
    scip.optimize()
    word = scip.getStatus()
    status = STATUS.get(word, TerminationStatus.SOLVER_ERROR)
    solved = scip.getNSols() > 0
    bound = scip.getDualbound()
    return Outcome(
        status=status,
        solver=version(),
        values={n: scip.getVal(v) for n, v in zip(model.names, variables, strict=True)} if solved else None,
        objective=scip.getObjVal() if solved else None,
        bound=bound if status is not TerminationStatus.INFEASIBLE and abs(bound) < scip.infinity() else None,
        nodes=int(scip.getNTotalNodes()),
        message=failure(status, f"SCIP says {word}"),
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _report(
    scip: "pyscipopt.Model",
    names: list[str],
    variables: "list[pyscipopt.Variable]",
    *,
    found: IncumbentCallback | None,
    bounded: BoundCallback | None,
    standing: StandingCallback | None,
) -> None:
    """Have SCIP report every new best solution, every better bound, and its standing after every node and linear program."""
    from pyscipopt import SCIP_EVENTTYPE as EVENT

    name = version()

    def on_solution(program: "pyscipopt.Model") -> None:
        assert found is not None
        best = program.getBestSol()
        found({name: program.getSolVal(best, v) for name, v in zip(names, variables, strict=True)})

    def on_bound(program: "pyscipopt.Model") -> None:
        bound = program.getDualbound()
        if bounded is not None and abs(bound) < program.infinity():
            bounded(Bounded(bound, name))

    def on_node(program: "pyscipopt.Model") -> None:
        assert standing is not None
        ends = (program.getPrimalbound(), program.getDualbound())
        objective, bound = (None if abs(end) >= program.infinity() else float(end) for end in ends)
        standing(Standing(objective, bound, int(program.getNTotalNodes())))

    if found is not None:
        _on_event(scip, "incumbents", EVENT.BESTSOLFOUND, on_solution)
    if bounded is not None:
        _on_event(scip, "bounds", EVENT.DUALBOUNDIMPROVED, on_bound)
    if standing is not None:
        _on_event(scip, "nodes", EVENT.NODESOLVED | EVENT.LPSOLVED, on_node)


def _on_event(scip: "pyscipopt.Model", name: str, kinds: int, act: "Callable[[pyscipopt.Model], None]") -> None:
    """Call ``act`` on every event of these kinds."""
    import pyscipopt

    class Handler(pyscipopt.Eventhdlr):  # type: ignore[misc]  # the package is untyped
        def eventinit(self) -> None:
            self.model.catchEvent(kinds, self)

        def eventexit(self) -> None:
            self.model.dropEvent(kinds, self)

        def eventexec(self, event: "pyscipopt.Event") -> None:
            del event
            act(self.model)

    scip.includeEventhdlr(Handler(), name, "reports to dlsched")
