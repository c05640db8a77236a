"""``dlsched compare``: every method on every file, and answers from elsewhere, against the best that is proven."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.comparison import Compared, compare_one
from dlsched.cli.options import AsJson, Threads
from dlsched.cli.output import number, percent, print_json, print_table, seconds
from dlsched.core.errors import InputError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import read_json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import printable
from dlsched.core.spreadsheet import csv_text
from dlsched.families import family_of, instance_from, objective_name
from dlsched.own_methods import method_named
from dlsched.results.reading import Claim, claim_from

if TYPE_CHECKING:
    from dlsched.study.rows import Row as StudyRow

NAME = "compare"
DEFAULT_TIME_S = 10.0


def run(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Instance files.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C",
            help="Methods, or FILE.py:FUNCTION; all but bounds by default.",
            autocompletion=completion.method_lists,
        ),
    ] = None,
    solutions: Annotated[list[str] | None, typer.Option(metavar="FILE...", help="Answers from elsewhere.")] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="S", help="Seconds for each method on each file.")
    ] = DEFAULT_TIME_S,
    threads: Threads = 1,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else on standard output.")] = False,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw gaps and a profile; of streams, gangs and rings the answers, a file each."
        ),
    ] = None,
    plot_width: Annotated[float, typer.Option(metavar="IN", help="Width of plots; 3.3 is a column of a paper.")] = 7.0,
) -> int:
    """Run methods on instances; table of objective, bound, gap, ratio to the optimum and time."""
    if as_json and as_csv:
        raise UsageError(found="--json and --csv", allowed="one of them")
    limits = Limits(time_s=time_limit, threads=threads)
    if plot is not None:
        from dlsched.cli.plots import require_plot

        require_plot(plot, plot_width)
    instances, claims, errors = _read_all(files or [], solutions or [])
    wanted = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    by_family = {instance.family: _methods(family_of(instance), wanted) for instance in instances}
    owners = {path: _owners(claim, instances) for path, claim in claims.items()}
    rows: list[Compared] = []
    interrupted = False
    for index, instance in enumerate(instances):
        own = {path: claim for path, claim in claims.items() if index in owners[path]}
        of_instance, interrupted = compare_one(instance, by_family[instance.family], own, limits)
        family = family_of(instance)
        named, sense = objective_name(instance), family.sense_for(instance)
        rows += [
            replace(row, family=family.name, index=index, objective_name=named, sense=sense) for row in of_instance
        ]
        if interrupted:
            break
    strays = [path for path, owned in owners.items() if instances and not owned]
    rows += [_stray_row(path, claims[path]) for path in strays]
    _print(rows, as_json, as_csv)
    if plot is not None and rows:
        from dlsched.cli.plots import draw

        draw(rows, instances, plot, plot_width)
    wrong = list(dict.fromkeys(row.wrong for row in rows if row.wrong))
    for error in errors:
        print(f"dlsched: {error}", file=sys.stderr)
    for sentence in (*wrong, *(_stray_row(path, claims[path]).status for path in strays)):
        print(f"dlsched: {printable(sentence)}", file=sys.stderr)
    if interrupted:
        print("dlsched: interrupted; the rows above are what was done", file=sys.stderr)
    unsaid = any(claims[path].result is None and claims[path].instance is None for path in strays)
    return 7 if wrong else 3 if errors or (strays and not unsaid) else 2 if strays else 0


def _methods(family: AnyFamily, names: Sequence[str] | None) -> list[AnyMethod]:
    if names is None:
        return [method for method in family.methods.values() if method.kind != "bound"]
    return [method_named(family, name) for name in names]


def _owners(claim: Claim, instances: Sequence[InstanceFile]) -> set[int]:
    """Indices of the instances to which an answer belongs; one that does not say belongs to the only one."""
    if len(instances) == 1 and claim.of(instances[0]) is None:
        return {0}
    return {index for index, instance in enumerate(instances) if claim.of(instance)}


def _stray_row(path: str, claim: Claim) -> Compared:
    """Say of an answer that it belongs to none of the instances, or that it does not say to which."""
    label = claim.method or Path(path).stem
    named = claim.instance if claim.result is None else claim.result.instance
    if named is None:
        said = "a bare solution does not say to which of several instances it belongs"
        return Compared("-", label, "foreign", f"{path}: {said}")
    return Compared(named.name or "-", label, "foreign", f"{path}: belongs to no instance that was given")


def _read_all(files: Sequence[str], solutions: Sequence[str]) -> tuple[list[InstanceFile], dict[str, Claim], list[str]]:
    """Read instances and answers; an instance that stands behind ``--solutions`` is taken for one."""
    instances: list[InstanceFile] = []
    claims: dict[str, Claim] = {}
    errors: list[str] = []
    for path in [*files, *solutions]:
        try:
            data = read_json(path)
            named = data.get("format") if isinstance(data, dict) else None
            if path in files or (isinstance(named, str) and named != "dlsched/result/1"):
                instances.append(instance_from(data, path))
            else:
                claims[path] = claim_from(data, path)
        except InputError as error:
            errors.append(str(error))
    if not instances and not errors:
        raise UsageError(found="no instance file", allowed="at least one")
    return instances, claims, errors


def _print(rows: list[Compared], as_json: bool, as_csv: bool) -> None:
    fields = (
        "instance",
        "method",
        "kind",
        "status",
        "objective",
        "bound",
        "gap",
        "ratio",
        "ratio_is_at_most",
        "runtime_s",
    )
    figures = list(dict.fromkeys(name for row in rows for name in row.figures))
    data = [{field: getattr(row, field) for field in fields} for row in rows]
    if as_json:
        print_json([entry | {"figures": dict(row.figures)} for entry, row in zip(data, rows, strict=True)])
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, (*fields, *figures), lineterminator="\n")
        writer.writeheader()
        for entry, row in zip(data, rows, strict=True):
            writer.writerow({name: csv_text(value) for name, value in (entry | dict(row.figures)).items()})
    elif rows:
        columns = ("instance", "method", "status", "objective", "bound", "gap", "ratio", "time")
        print_table(columns, [_cells(row) for row in rows], right=columns[3:], grouped=True)
        if figures:
            _print_figures(rows, figures)
        if len({row.index for row in rows if row.family}) > 1:
            _print_summary(rows)


def _print_figures(rows: list[Compared], figures: Sequence[str]) -> None:
    """One line an answer: its further figures."""
    table = [
        (row.instance, row.label, *(number(row.figures.get(name)) for name in figures)) for row in rows if row.figures
    ]
    print_table(("instance", "method", *figures), table, right=figures, grouped=True)


def _print_summary(rows: list[Compared]) -> None:
    """One line a method of a family: on how many instances it answered, its ratios and gaps, and who wins."""
    from dlsched.study.figures.summary import summarise
    from dlsched.study.figures.tables import table

    columns = (
        *("family", "method", "answers", "at the optimum", "mean ratio", "median gap", "worst gap"),
        *("against best", "total time"),
    )
    summary = []
    groups = summarise([_of_study(row) for row in rows if row.family])
    for group in groups:
        names, lines = table(group)
        held = {row.source for row in group.rows}
        for line, cells in zip(group.lines, lines, strict=True):
            of_method = [row for row in rows if str(row.index) in held and row.label == line.method]
            gaps = [row.gap for row in of_method if row.gap is not None]
            at_most = "<= " if line.at_most else ""
            said = dict(zip(names, cells, strict=True))
            summary.append(
                (
                    ", ".join(group.names),
                    line.method,
                    said["answers"],
                    str(sum(row.verdict.met for row in of_method)),
                    said["mean ratio"],
                    at_most + percent(median(gaps) if gaps else None),
                    at_most + percent(max(gaps, default=None)),
                    said["against best"],
                    seconds(sum(row.runtime_s or 0.0 for row in of_method)),
                )
            )
    left = 0 if len(groups) > 1 else 1
    print_table(columns[left:], [cells[left:] for cells in summary], right=columns[2:], grouped=len(groups) > 1)


def _of_study(row: Compared) -> "StudyRow":
    from dlsched.study.rows import Row as StudyRow

    return StudyRow(
        *("", row.instance, row.family, str(row.index), "", None, None, None, row.label, row.status),
        *(row.objective, row.bound),
        reference_kind="" if row.ratio is None else "bound" if row.ratio_is_at_most else "optimum",
        ratio=row.ratio,
        gap=row.gap,
        time_s=row.runtime_s,
        objective_name=row.objective_name,
        sense=row.sense,
    )


def _cells(row: Compared) -> tuple[str, ...]:
    at_most = "<= " if row.ratio_is_at_most else ""
    return (
        row.instance,
        row.label,
        row.status if row.left is None else f"{row.status}, gap {percent(row.left)}",
        number(row.objective),
        number(row.bound),
        "-" if row.gap is None else at_most + percent(row.gap),
        "-" if row.ratio is None else f"{at_most}{row.ratio:.6f}",
        seconds(row.runtime_s),
    )
