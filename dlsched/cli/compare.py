"""``dlsched compare``: methods on instance files, and external answers, against the best proven objective; tables and plots."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import AsJson, Threads, names_in
from dlsched.cli.output import print_json, print_table, progress_line
from dlsched.comparison.comparison import FIELDS, Comparison, data_of, figures_of, labels_of
from dlsched.comparison.rows import Compared, methods_of, owners_of, rows_of, stray_row
from dlsched.core.display import write_csv
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import read_json, require_writable
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import printable
from dlsched.families import PARQUET, family_of, instance_from, read
from dlsched.results.reading import Claim, claim_from

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
        float, typer.Option(metavar="S", help="Seconds for each method on each file; 0 starts no search.")
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
    width: Annotated[float, typer.Option(metavar="IN", help="Width of plots; 3.3 is a column of a paper.")] = 7.0,
) -> int:
    """Run methods on instances; table of objective, bound, gap, ratio to the optimum and time."""
    if as_json and as_csv:
        raise UsageError(found="--json and --csv", allowed="one of them")
    limits = Limits(time_s=time_limit, threads=threads)
    if plot is not None:
        require_plot(plot, width)
    instances, claims, errors = _read_all(files or [], solutions or [])
    wanted = None if methods is None else names_in(methods)
    # Methods are looked up before any runs, so that a wrong name costs no time.
    by_family = {instance.family: methods_of(family_of(instance), wanted) for instance in instances}
    rows, interrupted = rows_of(instances, by_family, claims, limits, watch=progress_line)
    strays = [path for path, claim in claims.items() if instances and not owners_of(claim, instances)]
    rows += [stray_row(path, claims[path]) for path in strays]
    found = Comparison(tuple(rows), tuple(instances))
    _print(found, as_json, as_csv)
    if plot is not None and rows:
        draw(rows, instances, plot, width)
    for error in errors:
        print(f"dlsched: {error}", file=sys.stderr)
    for sentence in (*found.wrong, *(stray_row(path, claims[path]).status for path in strays)):
        print(f"dlsched: {printable(sentence)}", file=sys.stderr)
    if interrupted:
        print("dlsched: interrupted; these are the rows so far", file=sys.stderr)
    unsaid = any(claims[path].result is None and claims[path].instance is None for path in strays)
    return 7 if found.wrong else 3 if errors or (strays and not unsaid) else 2 if strays else 0


def _read_all(files: Sequence[str], solutions: Sequence[str]) -> tuple[list[InstanceFile], dict[str, Claim], list[str]]:
    """Read instances and answers; an instance that stands behind ``--solutions`` is taken for one."""
    instances: list[InstanceFile] = []
    claims: dict[str, Claim] = {}
    errors: list[str] = []
    for path in [*files, *solutions]:
        try:
            if path in files or path.endswith(PARQUET):
                instances.append(read(path))
                continue
            data = read_json(path)
            named = data.get("format") if isinstance(data, dict) else None
            if isinstance(named, str) and named != "dlsched/result/1":
                instances.append(instance_from(data, path))
            else:
                claims[path] = claim_from(data, path)
        except InputError as error:
            errors.append(str(error))
    if not instances and not errors:
        raise UsageError(found="no instance file", allowed="at least one")
    return instances, claims, errors


def _print(found: Comparison, as_json: bool, as_csv: bool) -> None:
    rows, data, figures = found.rows, data_of(found.rows), figures_of(found.rows)
    if as_json:
        print_json([entry | {"figures": dict(row.figures)} for entry, row in zip(data, rows, strict=True)])
    elif as_csv:
        entries = (entry | dict(row.figures) for entry, row in zip(data, rows, strict=True))
        columns = (*FIELDS, *figures)
        write_csv(sys.stdout, columns, (map(entry.get, columns) for entry in entries))
    elif rows:
        for table in found.tables:
            print_table(table.columns, table.rows, right=table.right, grouped=table.grouped)
        for remark in found.remarks:
            print(printable(remark))


NAME_LENGTH = 80  # characters of an instance's name in the name of a file


def require_plot(path: str, width_in: float) -> None:
    """Refuse a plot that could not be drawn in the end."""
    from dlsched.plots import require_format
    from dlsched.plots.figure import require_width

    try:
        require_format(path)
        require_width(width_in)
        require_writable(path)
    except ValueError as error:
        raise UsageError(f"plot: {error}") from None
    with needing("plots need Matplotlib", "plots", UsageError):
        import matplotlib.figure  # noqa: F401


def draw(rows: Sequence[Compared], instances: Sequence[InstanceFile], path: str, width_in: float = 7.0) -> None:
    """Draw all gaps, and the answers if the family has a chart, in one file per instance if there are several."""
    times = Counter(instance.name for instance in instances)
    for name in [name for name, count in times.items() if count > 1]:
        print(f"plot: left out {printable(name)}: {times[name]} instances have that name", file=sys.stderr)
    alone = [instance for instance in instances if times[instance.name] == 1]
    charted = [instance for instance in alone if family_of(instance).draw is not None]
    targets = [Path(path)] if len(instances) == 1 else _targets([instance.name for instance in charted], Path(path))
    for instance, target in zip(charted, targets, strict=False):
        _draw_answers(
            [row for row in rows if row.instance == instance.name and row.solution is not None],
            instance,
            target,
            width_in,
        )
    if alone and not (len(instances) == 1 and charted):
        named = {instance.name for instance in alone}
        Comparison(tuple(row for row in rows if row.instance in named), tuple(alone)).plot(path, width=width_in)
        print(f"plot: {Path(path)}", file=sys.stderr)


def _targets(names: Sequence[str], path: Path) -> list[Path]:
    """Return a different file beside `path` for each instance, named after it as far as file names allow."""
    chosen: list[str] = []
    for name in names:
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)[:NAME_LENGTH]
        number = 2
        unique = safe
        while unique in chosen:
            unique, number = f"{safe}-{number}", number + 1
        chosen.append(unique)
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in chosen]


def _draw_answers(rows: Sequence[Compared], instance: InstanceFile, path: Path, width_in: float) -> None:
    draw_family = family_of(instance).draw
    if draw_family is None:
        return
    if not rows:
        print(f"plot: no method found an answer to {printable(instance.name)}", file=sys.stderr)
        return
    answers = [(label, row.solution) for label, row in zip(labels_of(rows), rows, strict=True)]
    try:
        written = draw_family(instance, answers, path, width_in)
    except InputError:
        raise  # the file cannot be written
    except ValueError as error:
        print(f"plot: {printable(instance.name)} is not drawn: {error}", file=sys.stderr)
        return
    print(f"plot: {written}", file=sys.stderr)
