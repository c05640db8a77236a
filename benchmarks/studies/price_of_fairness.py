"""The same jobs and workers with several objectives."""

from dlsched import matching_placement
from dlsched.core.limits import Limits
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.checker import equal_share_time
from dlsched.matching_placement.formulations.milp import build_milp, configurations
from dlsched.solvers.milp import solve_milp

HAIR = 1e-9
GOALS = {
    "mean": {},
    "max_rho": {"objective": "max_rho"},
    "alpha 1": {"objective": "alpha_fair", "alpha": 1.0},
    "alpha 2": {"objective": "alpha_fair", "alpha": 2.0},
    "alpha 8": {"objective": "alpha_fair", "alpha": 8.0},
}


def placed(*, preset: str, goal: str, jobs: int, gpus: int, seed: int) -> matching_placement.Instance:
    """An instance of a preset with one of the goals."""
    return matching_placement.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed).model_copy(update=GOALS[goal])


def fastest_of_the_fairest(instance: matching_placement.Instance) -> matching_placement.Placement | None:
    """Of all placements with the least largest rho one of the least mean completion time; of other goals their best."""
    best = matching_placement.solve(instance)
    if instance.objective != "max_rho" or best.status != "optimal" or best.objective is None:
        return best.solution
    mean, data = instance.model_copy(update={"objective": "mean"}), arrays(instance)
    columns = []
    for job, record in enumerate(instance.jobs):
        counts = configurations(data, job)
        fair = data.times(job, counts) <= best.objective * (1 + HAIR) * equal_share_time(instance, record)
        columns.append(counts[fair])
    formulation = build_milp(mean, columns=columns)
    outcome = solve_milp(formulation.model, limits=Limits(time_s=30))
    return None if outcome.values is None else formulation.decode(outcome.values)
