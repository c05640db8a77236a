"""``dlsched score``: one number for a method, against proven optima and the family's heuristics."""

import sys
from typing import Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import AsJson, Seed
from dlsched.cli.output import print_json, print_table, progress_line
from dlsched.core.limits import Progress
from dlsched.core.messages import printable, several
from dlsched.scoring import SUITES, TIME_LIMIT_S, Judge

LINES = 10
"""Lines of feedback that are printed."""


def run(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="FILE.py:FUNCTION, or a method of the family.")],
    family: Annotated[
        str, typer.Option(metavar="FAMILY", help="Family of the instances.", autocompletion=completion.families)
    ],
    suite: Annotated[
        str,
        typer.Option(
            metavar="SUITE", help=f"{' or '.join(SUITES)}; or FILE, an instance or a plan with the instances."
        ),
    ] = next(iter(SUITES)),
    held_out: Annotated[
        int | None, typer.Option(metavar="SEED", help="Draw the suite anew from a seed that the method's author lacks.")
    ] = None,
    time_limit: Annotated[float, typer.Option(metavar="S", help="Seconds for each instance.")] = TIME_LIMIT_S,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> int:
    """Score a method of your own by its answers to instances whose optima are proven."""
    with progress_line(method, lambda progress: progress.doing) as show:

        def tell(words: str) -> None:
            if show is not None:
                show(Progress(0.0, None, None, 0, words))

        judge = Judge(family, suite=suite, held_out=held_out, time_limit=time_limit, seed=seed, progress=tell)
        found = judge.score(method)
    if as_json:
        print_json(found.as_data())
        return 0
    for line in repr(found).splitlines():
        print(line)
    scores = {method: found.score} | dict(found.baselines)
    rows = [(printable(name), f"{value:.4f}") for name, value in sorted(scores.items(), key=lambda each: -each[1])]
    print_table(("method", "score"), rows, right=("score",))
    for line in found.feedback[:LINES]:
        print(line)
    if len(found.feedback) > LINES:
        print(f"{several(len(found.feedback) - LINES, 'further line')} with --json")
    if found.unproven:
        print(f"dlsched: left out, as no optimum was proven: {printable(', '.join(found.unproven))}", file=sys.stderr)
    return 0
