"""``dlsched bound``: the best proven bound without solving."""

from dlsched.cli.options import AsJson, InstancePath
from dlsched.cli.output import print_json
from dlsched.cli.solve import exit_code, print_summary
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of, read, solve

NAME = "bound"


def run(file: InstancePath, as_json: AsJson = False) -> int:
    """Print the best bound that is proven without solving, with its certificate."""
    instance = read(file)
    family = family_of(instance)
    result = solve(instance, method=family.best_bound)
    if as_json:
        print_json(result.as_data())
    else:
        print_summary(result, family.unit)
    if result.status in (TerminationStatus.INFEASIBLE, TerminationStatus.SOLVER_ERROR):
        return exit_code(result)
    return 0 if result.bound is not None else 5
