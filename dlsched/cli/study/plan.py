"""``dlsched study plan``: what a study would run, and an estimate of the time."""

import os
from itertools import islice
from typing import Annotated

import typer

from dlsched.cli.output import print_table
from dlsched.cli.study.run import PLAN_HELP
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration
from dlsched.study.cells.cell import runs_on
from dlsched.study.plans.plan_file import read_plan
from dlsched.study.trial import JOBS, try_out

LINES = 100
"""Lines of the table: kinds of instances."""


def run(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help=PLAN_HELP)],
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that would solve; by default one for each processor.")
    ] = None,
) -> int:
    """Say what a study would run, and estimate how long it takes from a few trial cells; no code that it names runs."""
    read = read_plan(plan, run_code=False)
    trial = try_out(read)
    sizes = ((trial.cells, "cell"), (trial.instances, "instance"), (len(read.methods), "method"))
    print(f"{printable(read.name)}: {', '.join(several(number, one) for number, one in sizes)}")
    listed = dict(islice(trial.by_kind.items(), LINES))
    rows = [
        (
            family,
            preset or "-",
            source,
            f"{count:,}",
            ", ".join(method.label for method in read.methods if runs_on(method, family)),
        )
        for (family, preset, source), count in listed.items()
    ]
    print_table(("family", "preset", "source", "instances", "methods"), rows, right=("instances",))
    rest = trial.instances - sum(listed.values())
    if rest:
        print(f"{several(rest, 'instance')} of further presets and sources.")
    if trial.most_jobs:
        print(f"Instances of more than {JOBS:,} jobs are not tried; one has {trial.most_jobs:,}.")
    foreign = sum(method.foreign for method in read.methods)
    if foreign:
        print(
            f"Your own code does not run here: {several(foreign, 'method')} and what they need are not in the estimate."
        )
    processes = workers or os.cpu_count() or 1
    if trial.seconds is not None:
        least = "" if trial.complete else "at least "
        failed = f", {trial.failed} of them without an answer" if trial.failed else ""
        print(
            f"Estimate: {least}{duration(trial.seconds / processes)} with {processes} workers"
            f" ({several(trial.tried, 'cell')} tried{failed})."
        )
    else:
        print("No estimate: no cell was tried.")
    return 0
