"""``compare``: every method on every instance, and answers from elsewhere, as tables, text, a data frame and a figure."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from dlsched.comparison.rows import Compared, methods_of, owners_of, rows_of, stray_row
from dlsched.core.arguments import renamed, require_seed
from dlsched.core.display import Table
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import path_of, read_json
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback, limits_of, watched
from dlsched.core.messages import printable, several
from dlsched.core.quantities import AT_MOST, duration, number, percent, ratio
from dlsched.core.result import Result, Solution
from dlsched.families import family_of, read, read_or_same
from dlsched.results.reading import Claim, claim_from
from dlsched.solving import MethodLike
from dlsched.statistics.samples import median

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dlsched.plots import Point
    from dlsched.study.rows import Row as StudyRow


LARGEST_RATIO = 1e100  # no axis holds more


def labels_of(rows: Sequence[Compared]) -> list[str]:
    """Label of each row, numbered where an instance has it twice."""
    seen: Counter[tuple[str, str]] = Counter()
    labels = []
    for row in rows:
        seen[row.instance, row.label] += 1
        number = seen[row.instance, row.label]
        labels.append(row.label if number == 1 else f"{row.label} ({number})")
    return labels


def points_of(rows: Sequence[Compared]) -> "list[Point]":
    """Return a point for each answer; the names of instances must differ."""
    from dlsched.plots import Point

    return [
        Point(
            instance=row.instance,
            method=label,
            kind="exact" if row.kind == "exact" else "foreign" if row.kind == "foreign" else "heuristic",
            ratio=None if row.ratio is None else min(row.ratio, LARGEST_RATIO),
            ratio_is_upper_bound=row.ratio_is_at_most,
            runtime_s=row.runtime_s,
        )
        for row, label in zip(rows, labels_of(rows), strict=True)
    ]


FIELDS = (
    *("instance", "method", "kind", "status", "objective", "bound", "gap", "ratio", "ratio_is_at_most", "runtime_s"),
    "message",
)
"""Columns of a comparison as data, before the further figures."""


def data_of(rows: Sequence[Compared]) -> list[dict[str, object]]:
    """Return the rows as data, without the further figures."""
    return [{field: getattr(row, field) for field in FIELDS} for row in rows]


def figures_of(rows: Sequence[Compared]) -> list[str]:
    """Return the names of all further figures."""
    return list(dict.fromkeys(name for row in rows for name in row.figures))


def _details(rows: Sequence[Compared]) -> list[Table]:
    """Return the tables of answers, and of their figures, if any."""
    columns = ("instance", "method", "status", "objective", "bound", "gap", "ratio", "time")
    tables = [Table(columns, tuple(map(_cells, rows)), columns[3:])]
    figures = figures_of(rows)
    if figures:
        cells = [
            (row.instance, row.label, *(number(row.figures.get(name)) for name in figures))
            for row in rows
            if row.figures
        ]
        tables.append(Table(("instance", "method", *figures), cells, figures))
    return tables


def _summary(rows: Sequence[Compared]) -> list[Table]:
    """A line a method of a family: on how many instances it answered, ratios and gaps, and who wins; none for one instance."""
    from dlsched.study.figures.summary import FILES, summarise
    from dlsched.study.figures.tables import HEADS, KEYS
    from dlsched.study.figures.tables import table as table_of_group

    if len({row.index for row in rows if row.family}) < 2:
        return []
    groups = summarise([_of_study(row) for row in rows if row.family])
    lines = []
    for group in groups:
        names, texts = table_of_group(group, KEYS)
        indices = {row.source for row in group.rows}
        # Answers and ratios are those of a study's summary; gaps and total times are computed here.
        for line, cells in zip(group.lines, texts, strict=True):
            of_method = [row for row in rows if str(row.index) in indices and row.label == line.method]
            gaps = [row.gap for row in of_method if row.gap is not None]
            text = dict(zip(names, cells, strict=True))
            lines.append(
                {
                    "family": ", ".join(name for name in group.names if name != FILES),
                    "method": line.method,
                    "answers": text["answers"],
                    "at the optimum": str(sum(row.verdict.met for row in of_method)),
                    "mean ratio": text["mean ratio"],
                    HEADS["shared"]: text[HEADS["shared"]],
                    "median gap": AT_MOST * line.at_most + percent(median(gaps)),
                    "worst gap": AT_MOST * line.at_most + percent(max(gaps, default=None)),
                    "against best": text["against best"],
                    "total time": duration(sum(row.runtime_s or 0.0 for row in of_method)),
                }
            )
    omitted = {"family"} if len(groups) < 2 else set()
    omitted |= set() if any(group.uneven for group in groups) else {HEADS["shared"]}
    columns = [name for name in lines[0] if name not in omitted]
    texts_of_lines = [tuple(line[name] for name in columns) for line in lines]
    return [Table(columns, texts_of_lines, columns[columns.index("answers") :], grouped=len(groups) > 1)]


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
    at_most = AT_MOST * row.ratio_is_at_most
    return (
        row.instance,
        row.label,
        ", ".join(filter(None, (row.status, row.message, "" if row.left is None else f"gap {percent(row.left)}"))),
        number(row.objective),
        number(row.bound),
        "-" if row.gap is None else at_most + percent(row.gap),
        ratio(row.ratio, row.ratio_is_at_most),
        duration(row.runtime_s),
    )


LINES = 60  # lines of a comparison that is printed, at most


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods on instances, compared with the best that is proven.

    Parameters
    ----------
    rows
        One for each method on each instance, and each answer from elsewhere.
    instances
        The instances; ``index`` of a row counts them from 0.
    interrupted
        Whether Ctrl-C ended it before all was done.
    """

    rows: tuple[Compared, ...]
    instances: tuple[InstanceFile, ...] = ()
    interrupted: bool = False

    @property
    def tables(self) -> list[Table]:
        """The tables of texts: answers, further figures, and a summary of several instances."""
        return [*_details(self.rows), *_summary(self.rows)]

    @property
    def remarks(self) -> list[str]:
        """What readers of the tables should know: what the ratios of each family and objective are of, and whether rows lack."""
        objectives = {
            (one.family, objective.name): objective
            for one in self.instances
            for objective in [family_of(one).objective_for(one)]
        }
        several = Counter(family for family, _ in objectives)
        ratios = [
            f"ratios of {family}{f', {name}' * (several[family] > 1)}: {objective.ratio_sentence()}"
            for (family, name), objective in objectives.items()
        ]
        return [*ratios, *["interrupted; these are the rows so far"] * self.interrupted]

    @property
    def wrong(self) -> list[str]:
        """What contradicts a proof, a checker or what an instance calls known; empty when nothing does."""
        return list(dict.fromkeys(row.wrong for row in self.rows if row.wrong))

    def frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame of pandas, the further figures as columns.

        Raises
        ------
        SolverMissingError
            Pandas is not installed.
        """
        with needing("a data frame needs pandas", "frames"):
            import pandas as pd

        return pd.DataFrame(
            [entry | dict(row.figures) for entry, row in zip(data_of(self.rows), self.rows, strict=True)]
        )

    @renamed(width_in="width")
    def plot(self, path: str | os.PathLike[str] | None = None, *, width: float = 7.0) -> "Figure":
        """Draw ratios and a profile; return the figure of Matplotlib, which is also written if there is a ``path``.

        Raises
        ------
        UsageError
            There is nothing to draw, or the width or the suffix of the path is none.
        InputError
            The file cannot be written.
        SolverMissingError
            Matplotlib is not installed.
        """
        from dlsched.plots.comparison import RATIO, comparison_figure

        ratios = {family_of(instance).objective_for(instance).ratio() for instance in self.instances}
        axis = ratios.pop() if len(ratios) == 1 else RATIO
        rows = [row for row in self.rows if row.kind != "bound"]
        times = Counter(instance.name for instance in self.instances)
        named = [
            row if times[row.instance] < 2 else replace(row, instance=f"{row.instance} [{row.index}]") for row in rows
        ]
        try:
            target = None if path is None else path_of(path)
            return comparison_figure(points_of(named), target, width_in=width, ratio=axis)
        except InputError:
            raise  # the file cannot be written
        except ValueError as error:
            raise UsageError(f"plot: {error}") from None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Say in one line how much was compared."""
        methods = len({row.method for row in self.rows if row.asked})
        answers = sum(row.kind == "foreign" for row in self.rows)
        counts = [several(len(self.instances), "instance"), several(methods, "method")]
        counts += [f"{several(answers, 'answer')} from elsewhere"] * bool(answers) + ["interrupted"] * self.interrupted
        return f"Comparison({', '.join(counts)})"

    def to_string(self, *, all: bool = False) -> str:
        """Return the summary, the tables and the remarks as text, of many instances the first; ``all``: of all."""
        tables, remarks = self._shown(all)
        return "\n\n".join([*(table.text() for table in tables), *remarks])

    def __str__(self) -> str:
        """Return the text, 60 lines at most."""
        lines = self.to_string().splitlines()
        hidden = len(lines) - LINES + 1
        return "\n".join(
            [*lines[: LINES - 1], f"and {hidden} more lines; to_string(all=True) has all"] if hidden > 1 else lines
        )

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        tables, remarks = self._shown(False)
        return "".join(
            [*(table.html() for table in tables), *(f"<p>{escape(printable(each))}</p>" for each in remarks)]
        )

    def _shown(self, all: bool) -> tuple[list[Table], list[str]]:
        """Return the tables that fit, the summary first, and the remarks below them; ``all``: every table."""
        summary, details, remarks = _summary(self.rows), _details(self.rows), self.remarks
        room = LINES + 1 - _lines(summary) - 2 * len(remarks)
        if all or _lines(details) <= room:
            return [*summary, *details], remarks
        shown, groups = list[Compared](), [list(group) for _, group in groupby(self.rows, key=lambda row: row.index)]
        while _lines(_details([*shown, *groups[0]])) <= room - 2:
            shown += groups.pop(0)
        if len(groups) + bool(shown) == 1:  # a single instance: its answers without their figures
            return details[:1], remarks
        more = f"and {several(len(groups), 'more instance')}; to_string(all=True) has all"
        return [*summary, *(_details(shown) if shown else [])], [more, *remarks]


def _lines(tables: Sequence[Table]) -> int:
    """Lines of tables, each with one that is empty below it."""
    return sum(len(table.rows) + 3 for table in tables)


Source: TypeAlias = InstanceFile | str | os.PathLike[str]  # an instance, the path of one, or a folder of them
Answer: TypeAlias = str | os.PathLike[str] | Result[Solution]
"""An answer from elsewhere: the path of a result file, or a result."""


def compare(
    instances: Source | Sequence[Source],
    methods: MethodLike | Sequence[MethodLike] | None = None,
    limits: Limits | None = None,
    *,
    solutions: Answer | Sequence[Answer] = (),
    seed: int = 0,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
) -> Comparison:
    """Run methods on instances, and compare their answers with the best that is proven.

    Parameters
    ----------
    instances
        One or many: instances, paths of files, folders, whose ``.json`` files are read in the order of their names.
    methods
        One or many: names, functions, policies, records, or ``file.py:function``; None: all of a family but its bounds.
    limits
        Of each method on each instance.
    solutions
        Answers from elsewhere, each of one of the instances: paths of result files, or results.
    seed
        Of every random draw.
    time_limit
        Seconds of each method on each instance, instead of ``limits``.
    progress
        Called with a ``Progress`` now and then.
    verbose
        Print a line a second on standard error.

    Returns
    -------
    A ``Comparison``; after Ctrl-C it holds what was done.

    Raises
    ------
    UsageError
        There is no instance, a family has no such method, or an answer belongs to no instance.
    InputError
        A file cannot be read.

    >>> import dlsched
    >>> found = compare(dlsched.ring_allocation.example(), ["exact", "doubling"])
    >>> [(row.method, row.ratio) for row in found.rows][0]
    ('exact', 1.0)
    """
    read_instances = _instances(instances)
    if methods is not None and (isinstance(methods, str) or not isinstance(methods, Sequence)):
        methods = [methods]
    require_seed(seed)
    answers = solutions if isinstance(solutions, list | tuple) else [solutions]
    if methods is not None and not (methods or answers):
        raise UsageError(where="methods", found="none", allowed="at least one")
    claims = dict(_claim(number, answer) for number, answer in enumerate(answers, 1))
    for path, claim in claims.items():
        if not owners_of(claim, read_instances):
            raise UsageError(where="solutions", found=stray_row(path, claim).status, allowed="answers to the instances")
    allowed = limits_of(limits, time_limit)

    @contextmanager
    def watch(what: str) -> Iterator[ProgressCallback | None]:
        with watched(None, progress, verbose=verbose, what=what) as (_, callback):
            yield callback

    by_family = {one.family: methods_of(family_of(one), methods) for one in read_instances}
    rows, interrupted = rows_of(read_instances, by_family, claims, allowed, seed=seed, watch=watch)
    return Comparison(tuple(rows), tuple(read_instances), interrupted)


def _instances(wanted: Source | Sequence[Source]) -> list[InstanceFile]:
    single = isinstance(wanted, InstanceFile | str | os.PathLike)
    sources = cast("list[Source]", list(wanted) if isinstance(wanted, Iterable) and not single else [wanted])
    instances: list[InstanceFile] = []
    for source in sources:
        if isinstance(source, str | os.PathLike) and Path(source).is_dir():
            instances += map(read, sorted(Path(source).glob("*.json")))
        else:
            instances.append(read_or_same(source))
    if not instances:
        raise UsageError(where="instances", found="none", allowed="at least one")
    return instances


def _claim(number: int, answer: Answer) -> tuple[str, Claim]:
    if isinstance(answer, Result):
        data = None if answer.solution is None else answer.solution.as_data()
        return f"solution {number}", Claim(data, answer.objective, answer.method, answer)
    if not isinstance(answer, str | os.PathLike):
        allowed = "results, or paths of result files"
        raise UsageError(where="solutions", found=type(answer).__name__, allowed=allowed)
    path = os.fspath(answer)
    return path, claim_from(read_json(path), path)
