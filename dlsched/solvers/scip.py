"""SCIP (PySCIPOpt), for mixed-integer linear programs; reports incumbents and bounds while it runs."""

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
    if found is not None:
        _watch(scip, model.names, variables, found)
    if bounded is not None:
        _watch_bound(scip, bounded)
    if standing is not None:
        _watch_nodes(scip, standing)
    scip.optimize()
    word = scip.getStatus()
    status = STATUS.get(word, TerminationStatus.SOLVER_ERROR)
    held = scip.getNSols() > 0
    bound = scip.getDualbound()
    return Outcome(
        status=status,
        solver=version(),
        values={n: scip.getVal(v) for n, v in zip(model.names, variables, strict=True)} if held else None,
        objective=scip.getObjVal() if held else None,
        bound=bound if status is not TerminationStatus.INFEASIBLE and abs(bound) < scip.infinity() else None,
        nodes=int(scip.getNTotalNodes()),
        message="" if status is not TerminationStatus.SOLVER_ERROR else f"SCIP says {word}",
    )


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _watch(
    scip: "pyscipopt.Model", names: list[str], variables: "list[pyscipopt.Variable]", found: IncumbentCallback
) -> None:
    """Report every new best solution."""
    import pyscipopt

    class Watch(pyscipopt.Eventhdlr):  # type: ignore[misc]  # the package is untyped
        def eventinit(self) -> None:
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexit(self) -> None:
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexec(self, event: "pyscipopt.Event") -> None:
            del event
            best = self.model.getBestSol()
            found({name: self.model.getSolVal(best, v) for name, v in zip(names, variables, strict=True)})

    scip.includeEventhdlr(Watch(), "incumbents", "reports every new best solution")


def _watch_bound(scip: "pyscipopt.Model", bounded: BoundCallback) -> None:
    """Report every better bound, from that of the first linear relaxation on."""
    import pyscipopt

    name = version()

    class Watch(pyscipopt.Eventhdlr):  # type: ignore[misc]  # the package is untyped
        def eventinit(self) -> None:
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.DUALBOUNDIMPROVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.DUALBOUNDIMPROVED, self)

        def eventexec(self, event: "pyscipopt.Event") -> None:
            del event
            bound = self.model.getDualbound()
            if abs(bound) < self.model.infinity():
                bounded(Bounded(bound, name))

    scip.includeEventhdlr(Watch(), "bounds", "reports every better bound")


def _watch_nodes(scip: "pyscipopt.Model", standing: StandingCallback) -> None:
    """Report where SCIP stands after every node and every linear program."""
    import pyscipopt

    kinds = pyscipopt.SCIP_EVENTTYPE.NODESOLVED | pyscipopt.SCIP_EVENTTYPE.LPSOLVED

    class Watch(pyscipopt.Eventhdlr):  # type: ignore[misc]  # the package is untyped
        def eventinit(self) -> None:
            self.model.catchEvent(kinds, self)

        def eventexit(self) -> None:
            self.model.dropEvent(kinds, self)

        def eventexec(self, event: "pyscipopt.Event") -> None:
            del event
            ends = (self.model.getPrimalbound(), self.model.getDualbound())
            least, most = (None if abs(end) >= self.model.infinity() else float(end) for end in ends)
            standing(Standing(least, most, int(self.model.getNTotalNodes())))

    scip.includeEventhdlr(Watch(), "nodes", "reports where SCIP stands")
