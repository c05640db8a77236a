"""Records of the objectives of matching_placement: their functions, and the methods that cannot serve them.

A further objective needs a name in ``instance.Instance.objective``, a record here, and the functions that
the record names: costs like those of ``algorithms.time_costs``, values and bounds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.objective import Late, Objective, served_by
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

if TYPE_CHECKING:
    from dlsched.algorithms.time_costs import Costs
    from dlsched.certificates import DualsCertificate


@dataclass(frozen=True, kw_only=True)
class PlacementObjective(Objective[Instance, Placement]):
    """An objective of placements."""

    # from an instance and its arrays: the costs that algorithms minimise in place of the objective
    costs: "Callable[..., Costs]"
    # minimised value of a search's incumbent
    total: Callable[[Instance, Search[Placement]], float]
    # by formulation: the value of a certificate, from the instance, the certificate and the row names of the types
    proofs: Mapping[str, Callable[..., Fraction]]
    configuration_lp: "Callable[..., DualsCertificate]"
    # from the arrays and a cutoff: the jobs' cost law and the largest sum of their costs (``formulations.priced``)
    law: Callable[..., tuple[object, float]]
    # the methods of these names, run once there is an incumbent
    run_columns: Callable[[Instance, Search[Placement]], TerminationStatus]
    run_milp: Callable[[Instance, Search[Placement]], TerminationStatus]


_OTHERS = "use exact, columns, dp or milp, and configuration-lp for a bound"

MEAN = PlacementObjective(
    name="mean",
    sense=Sense.MINIMIZE,
    unit="mean seconds to completion",
    quantity="mean completion time",
    value=Late("matching_placement.checker:mean_completion"),
    costs=Late("matching_placement.arrays:plain_costs"),
    total=Late("matching_placement.heuristics:total_of_mean"),
    proofs={
        "milp": Late("matching_placement.certificate:mean_value"),
        "relaxation": Late("matching_placement.certificate:relaxation_value"),
    },
    configuration_lp=Late("matching_placement.bounds:by_prices"),
    law=Late("matching_placement.formulations.priced:mean_law"),
    run_columns=Late("matching_placement.exact:by_prices"),
    run_milp=Late("matching_placement.exact:by_one_program"),
)

MAX_RHO = PlacementObjective(
    name="max_rho",
    sense=Sense.MINIMIZE,
    unit="times the time of an equal share, of the job that is worst off",
    quantity="largest time of a job against an equal share",
    refused=("relaxation", "minlp", "lagrange"),
    instead=_OTHERS,
    value=Late("matching_placement.checker:largest_ratio"),
    costs=Late("matching_placement.arrays:ratio_costs"),
    total=Late("matching_placement.heuristics:total_of_counts"),
    proofs={"threshold": Late("matching_placement.certificate:threshold_value")},
    configuration_lp=Late("matching_placement.bounds:by_thresholds"),
    law=Late("matching_placement.formulations.priced:threshold_law"),
    run_columns=Late("matching_placement.exact:by_thresholds"),
    run_milp=Late("matching_placement.formulations.milp:by_programs"),
)

ALPHA_FAIR = replace(
    MEAN,
    name="alpha_fair",
    sense=Sense.MAXIMIZE,
    unit="alpha-fair utility of speed against an equal share",
    quantity="alpha-fair utility",
    remark="the other way round below 0; with alpha = 1 that of a job counts from 1 above its largest",
    refused=("relaxation", "minlp", "assignment"),
    instead=_OTHERS,
    value=Late("matching_placement.checker:total_utility"),
    costs=Late("matching_placement.arrays:fair_costs"),
    total=MAX_RHO.total,
    proofs={"milp": Late("matching_placement.certificate:fair_value")},
    law=Late("matching_placement.formulations.priced:fair_law"),
)

OBJECTIVES: Mapping[str, PlacementObjective] = {each.name: each for each in (MEAN, MAX_RHO, ALPHA_FAIR)}
"""Objectives by their names in instances."""


def objective_of(instance: Instance) -> PlacementObjective:
    """Return the objective of an instance; that with an alpha is called by it."""
    objective = OBJECTIVES[instance.objective]
    if instance.alpha is None:
        return objective
    return replace(objective, name=f"{objective.name} {instance.alpha}".removesuffix(".0"))


def require_served(instance: Instance, method: str) -> None:
    """Refuse an instance whose objective is among those that a method cannot serve (UsageError)."""
    objective = OBJECTIVES[instance.objective]
    if method in objective.refused:
        allowed = served_by(method, OBJECTIVES.values())
        raise UsageError(
            where=f"method {method}", found=f"objective {objective.name!r}", allowed=f"{allowed}; {objective.instead}"
        )
