"""``dlsched compare``: every method on every file, and answers from elsewhere, against the best that is proven."""

import csv
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from dlsched.cli.check import judge, read_solution
from dlsched.cli.options import AsJson, Threads
from dlsched.cli.output import number, percent, print_json, print_table, progress_line, seconds
from dlsched.core.errors import DlschedError, InputError, UsageError
from dlsched.core.family import Family
from dlsched.core.files import read_json, require_writable
from dlsched.core.gap import gap, meets, ratio
from dlsched.core.limits import Limits
from dlsched.core.result_file import Claim, claim_from
from dlsched.core.run import find_method
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of, instance_from, solve

NAME = "compare"
DEFAULT_TIME_S = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One method (or one answer from elsewhere) on one instance; ``status`` may be a sentence of what went wrong."""

    instance: str
    method: str
    kind: str
    status: str
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    ratio: float | None = None
    ratio_is_at_most: bool = False
    runtime_s: float | None = None


def run(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Instance files.")] = None,
    methods: Annotated[str | None, typer.Option(metavar="A,B,C", help="Methods; all but bounds by default.")] = None,
    solutions: Annotated[list[str] | None, typer.Option(metavar="FILE...", help="Answers from elsewhere.")] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="S", help="Seconds for each method on each file.")
    ] = DEFAULT_TIME_S,
    threads: Threads = 1,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else on standard output.")] = False,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw gaps and a performance profile.")] = None,
) -> int:
    """Run methods on instances; table of objective, bound, gap, ratio to the optimum and time."""
    if as_json and as_csv:
        raise UsageError("found --json and --csv, allowed: one of them")
    limits = Limits(time_s=time_limit, threads=threads)
    if plot is not None:
        _require_plot(plot)
    instances, claims, errors = _read_all(files or [], solutions or [])
    wanted = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    for instance in instances:
        for name in wanted or ():
            find_method(family_of(instance), name)
    rows: list[Row] = []
    interrupted = False
    for instance in instances:
        of_instance, interrupted = _compare_one(instance, wanted, claims, limits, alone=len(instances) == 1)
        rows += of_instance
        if interrupted:
            break
    strays = {
        path: claim
        for path, claim in claims.items()
        if not any(_concerns(claim, instance, len(instances) == 1) for instance in instances)
    }
    rows += [_stray_row(path, claim) for path, claim in strays.items()]
    _print(rows, as_json, as_csv)
    if plot is not None and rows:
        _draw(rows, plot)
    for error in errors:
        print(f"dlsched: {error}", file=sys.stderr)
    if interrupted:
        print("dlsched: interrupted; the rows above are what was done", file=sys.stderr)
    return 3 if errors else 0


def spread(arguments: list[str]) -> list[str]:
    """Let ``--solutions A B C`` stand for ``--solutions A --solutions B --solutions C``."""
    spread_out: list[str] = []
    inside = False
    for argument in arguments:
        if argument.startswith("-") and argument != "-":
            inside = argument == "--solutions"
            if not inside:
                spread_out.append(argument)
        else:
            spread_out += ["--solutions", argument] if inside else [argument]
    return spread_out


def _read_all(files: Sequence[str], solutions: Sequence[str]) -> tuple[list[Any], dict[str, Claim], list[str]]:
    """Read instances and answers; an instance that stands behind ``--solutions`` is taken for one."""
    instances: list[Any] = []
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
        raise UsageError("found no instance file, allowed: at least one")
    return instances, claims, errors


def _compare_one(
    instance: Any, wanted: list[str] | None, claims: dict[str, Claim], limits: Limits, *, alone: bool
) -> tuple[list[Row], bool]:
    """Rows of one instance, with gaps and ratios against the best that is proven; and whether Ctrl-C ended it."""
    family = family_of(instance)
    names = wanted or [method.name for method in family.methods.values() if method.kind != "bound"]
    rows: list[Row] = []
    interrupted = False
    for name in names:
        row = _method_row(family, instance, name, limits)
        rows.append(row)
        if row.status == TerminationStatus.INTERRUPTED:
            interrupted = True
            break
    rows += [
        _claim_row(family, instance, path, claim) for path, claim in claims.items() if _concerns(claim, instance, alone)
    ]
    bound = _best_bound(family, instance, rows)
    optimum = _optimum(family, instance, rows)
    return [_against(family, row, bound, optimum) for row in rows], interrupted


def _method_row(family: Family, instance: Any, name: str, limits: Limits) -> Row:
    method = find_method(family, name)
    try:
        with progress_line(f"{instance.name}, {name}") as progress:
            result = solve(instance, method=name, limits=limits, progress=progress)
    except DlschedError as error:
        return Row(instance.name, method.name, method.kind, str(error))
    status = (
        str(result.status) if result.status is not TerminationStatus.SOLVER_ERROR else f"solver_error: {result.message}"
    )
    return Row(
        instance.name, method.name, method.kind, status, result.objective, result.bound, runtime_s=result.runtime_s
    )


def _concerns(claim: Claim, instance: Any, alone: bool) -> bool:
    """Whether an answer is one to this instance: a complete result says so, a bare solution belongs to the only file."""
    if claim.result is None:
        return alone
    return bool(claim.result.family == instance.family and claim.result.instance.sha256 == instance.sha256)


def _stray_row(path: str, claim: Claim) -> Row:
    """Say of an answer that it belongs to none of the instances, or that it does not say to which."""
    label = claim.method or Path(path).stem
    if claim.result is None:
        return Row(
            "-", label, "foreign", f"{path}: a bare solution does not say to which of several instances it belongs"
        )
    return Row(claim.result.instance.name, label, "foreign", f"{path}: belongs to no instance that was given")


def _claim_row(family: Family, instance: Any, path: str, claim: Claim) -> Row:
    label = claim.method or Path(path).stem
    try:
        failures, _ = judge(family, instance, replace(claim, result=None), path)
    except DlschedError as error:
        return Row(instance.name, label, "foreign", f"rejected: {error}")
    if failures:
        return Row(instance.name, label, "foreign", f"rejected: {failures[0]}")
    if claim.solution is None:
        return Row(instance.name, label, "foreign", str(TerminationStatus.NO_SOLUTION))
    objective = family.objective(instance, read_solution(family, instance, claim, path))
    return Row(instance.name, label, "foreign", str(TerminationStatus.FEASIBLE), objective)


def _best_bound(family: Family, instance: Any, rows: list[Row]) -> float | None:
    """The tightest bound of the rows, of the family's bound method, and of what is known of the instance."""
    bounds = [row.bound for row in rows if row.bound is not None]
    if family.infeasible(instance) is None:
        bound = solve(instance, method=family.best_bound).bound
        bounds += [] if bound is None else [bound]
    known = instance.known
    if known is not None:
        bounds += [value for value in (known.optimum, known.lower) if value is not None]
    return max(bounds, default=None) if family.sense == "minimize" else min(bounds, default=None)


def _optimum(family: Family, instance: Any, rows: list[Row]) -> float | None:
    """A proven optimum: of a row of this run, else the one the instance's file states."""
    proven = [row.objective for row in rows if row.status == TerminationStatus.OPTIMAL]
    if proven:
        return proven[0]
    return None if instance.known is None else instance.known.optimum


def _against(family: Family, row: Row, bound: float | None, optimum: float | None) -> Row:
    """Fill in gap and ratio; an objective that beats a proven value is said to contradict it."""
    if row.objective is None:
        return row
    reference = optimum if optimum is not None else bound
    if reference is None:
        return row
    if family.sense.better(row.objective, reference):
        if not meets(row.objective, reference):
            return replace(row, status=f"{row.status}, contradicts the proven {reference!r}")
        reference = row.objective
    at_most = optimum is None and not (bound is not None and meets(row.objective, bound))
    factor = ratio(row.objective, reference, family.sense)
    return replace(row, gap=gap(row.objective, reference), ratio=factor, ratio_is_at_most=at_most)


def _print(rows: list[Row], as_json: bool, as_csv: bool) -> None:
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
    data = [{field: getattr(row, field) for field in fields} for row in rows]
    if as_json:
        print_json(data)
    elif as_csv:
        writer = csv.DictWriter(sys.stdout, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(data)
    else:
        columns = ("instance", "method", "status", "objective", "bound", "gap", "ratio", "time")
        print_table(columns, [_cells(row) for row in rows], right=columns[3:], grouped=True)
        if len({row.instance for row in rows}) > 1:
            _print_summary(rows)


def _print_summary(rows: list[Row]) -> None:
    """One line a method: on how many instances it answered, and its gaps."""
    columns = ("method", "answers", "at the optimum", "median gap", "worst gap", "total time")
    table = []
    for method in dict.fromkeys(row.method for row in rows):
        of_method = [row for row in rows if row.method == method]
        gaps = sorted(row.gap for row in of_method if row.gap is not None)
        at_most = "<= " if any(row.ratio_is_at_most for row in of_method) else ""
        table.append(
            (
                method,
                f"{sum(row.objective is not None for row in of_method)} of {len(of_method)}",
                str(sum(meets(row.ratio, 1.0) for row in of_method if row.ratio is not None)),
                at_most + percent(median(gaps) if gaps else None),
                at_most + percent(gaps[-1] if gaps else None),
                seconds(sum(row.runtime_s or 0.0 for row in of_method)),
            )
        )
    print_table(columns, table, right=columns[1:])


def _cells(row: Row) -> tuple[str, ...]:
    at_most = "<= " if row.ratio_is_at_most else ""
    return (
        row.instance,
        row.method if row.kind != "foreign" else f"{row.method} *",
        row.status,
        number(row.objective),
        number(row.bound),
        "-" if row.gap is None else at_most + percent(row.gap),
        "-" if row.ratio is None else f"{at_most}{row.ratio:.6f}",
        seconds(row.runtime_s),
    )


def _require_plot(path: str) -> None:
    """Refuse a plot that could not be drawn in the end."""
    from dlsched.plots import require_format

    try:
        require_format(path)
        require_writable(path)
    except ValueError as error:
        raise UsageError(f"plot: {error}") from None
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("plots need Matplotlib: pip install 'dlsched[plots]'")


def _draw(rows: list[Row], path: str) -> None:
    from dlsched.plots import Point, draw_comparison

    points = {
        (row.instance, row.method, row.kind): Point(
            instance=row.instance,
            method=row.method if row.kind != "foreign" else f"{row.method} *",
            kind="exact" if row.kind == "exact" else "foreign" if row.kind == "foreign" else "heuristic",
            ratio=row.ratio,
            ratio_is_upper_bound=row.ratio_is_at_most,
            runtime_s=row.runtime_s,
        )
        for row in rows
        if row.kind != "bound"
    }
    written = draw_comparison(list(points.values()), path)
    print(f"plot: {written}", file=sys.stderr)
