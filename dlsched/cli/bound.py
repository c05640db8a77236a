"""``dlsched bound``: the best proven bound without solving."""

from dlsched.cli.options import AsJson, InstancePath, TimeLimit
from dlsched.cli.output import print_json, progress_line
from dlsched.cli.solve import exit_code, print_summary
from dlsched.core.errors import DisagreementError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of, read
from dlsched.results.reading import disproof
from dlsched.solving import bound

NAME = "bound"


def run(file: InstancePath, time_limit: TimeLimit = None, as_json: AsJson = False) -> int:
    """Print the best bound that is proven without solving, with its certificate."""
    instance = read(file)
    family = family_of(instance)
    limits = Limits(time_s=time_limit)
    with progress_line(f"{instance.name}, {family.best_bound}") as progress:
        result = bound(instance, limits=limits, progress=progress)
    if as_json:
        print_json(result.as_data())
    else:
        print_summary(result, family.unit_for(instance))
    wrong = disproof(instance, result)
    if wrong is not None:
        raise DisagreementError(wrong)
    held = result.bound is not None and result.status is not TerminationStatus.SOLVER_ERROR
    return 0 if held else exit_code(result)
