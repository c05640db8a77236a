"""prism: models on GPUs, least largest pressure. A family that is no part of dlsched; its record is ``FAMILY``."""

from functools import partial

from dlsched.core.family import Family, Method, heuristic
from dlsched.core.objective import Objective
from dlsched.core.search import Search
from dlsched.core.status import Sense
from prism import cpsat, exact, generator, heuristics
from prism.certificate import verify
from prism.checker import check, infeasible, objective
from prism.instance import Instance, Model
from prism.solution import Placement, read_solution

__all__ = ["FAMILY", "Instance", "Model", "Placement", "check", "objective", "solve"]

OBJECTIVE = Objective(
    name="", sense=Sense.MINIMIZE, unit="requests/s per GB", value=objective, quantity="largest pressure"
)


def _warm(instance: Instance, search: Search[Placement]) -> None:
    search.offer(heuristics.baseline(instance), source="baseline")


def _gpus(instance: Instance) -> int:
    return instance.gpus


_HEURISTICS = {
    "baseline": heuristics.baseline,
    "best-fit": heuristics.best_fit,
    "regret": heuristics.regret,
    "target": heuristics.target,
    "local-search": heuristics.local_search,
    "portfolio": heuristics.portfolio,
}
_ALL: tuple[Method[Instance, Placement], ...] = (
    Method("exact", "exact", exact.run, warm=_warm),
    Method("cpsat", "exact", cpsat.run, solvers=("cpsat",), warm=_warm, require=cpsat.require),
    *(Method(name, "heuristic", heuristic(name, function)) for name, function in _HEURISTICS.items()),
    Method("weights", "bound", partial(exact.run, only_bound=True)),
)

FAMILY = Family(
    name="prism",
    summary="models on GPUs, least largest pressure",
    objectives=[OBJECTIVE],
    instance=Instance,
    read_solution=read_solution,
    objective=objective,
    check=check,
    infeasible=infeasible,
    methods={method.name: method for method in _ALL},
    cross_check="cpsat",
    best_bound="weights",
    formulations={},
    verify=verify,
    presets=generator.PRESETS,
    generate=generator.generate,
    example=generator.example,
    gpus=_gpus,
    case="prism.testing:CASE",
    space={},
    space_of="prism.worst:space_of",
)

solve = FAMILY.solve
