"""Tables of groups as text; the terminal, Markdown and LaTeX show the same numbers.

``<=`` precedes figures that rest on a bound: the true figure is at most that.
"""

from collections.abc import Sequence
from statistics import fmean

from dlsched.core.messages import several
from dlsched.core.quantities import UNKNOWN, duration, mean, percent, ratio
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.summary import Comparison, Group, Line

HEADS = {
    "method": "method",
    "answers": "answers",
    "proven": "proven",
    "mean": "mean ratio",
    "shared": "mean where all answered",
    "median": "median",
    "p95": "95 %",
    "worst": "worst",
    "time": "time",
    "best": "against best",
    "fragment": "fragment",
    "lost": "lost",
}
KEYS = tuple(HEADS)  # names of the columns where some are chosen
RATIOS = frozenset(("mean", "shared", "median", "p95", "worst"))  # those that hold ratios
LEFT = ("fragment", "lost")  # of GPUs, where jobs take slices: figures of answers
BEST = "the best"
TIED = "tied for the best"
_NOTES = {
    tuple(RATIOS): "<= stands where a ratio rests on a bound in place of the optimum.",
    (
        "shared",
    ): "Means where all answered are over the same instances, as many as stand there: only these compare methods.",
    ("mean",): "The mean has its 95 % interval by bootstrap over instances.",
    ("time",): "Time is the shifted geometric mean (shift 1 s).",
    ("best",): "Against the best: instances won-tied-lost, and p of Wilcoxon's signed-rank test, corrected by Holm.",
    LEFT: "Fragment and lost are means over the answers, of the GPU time.",
}
"""What has to be known of columns, by these."""


def note(keys: Sequence[str] = KEYS) -> str:
    """Explain the columns, for readers who see only the table."""
    return " ".join(words for of, words in _NOTES.items() if set(of) & set(keys))


def note_of(groups: Sequence[Group]) -> str:
    """Explain the columns that the tables of groups have by default."""
    return note([key for group in groups for key in keys_of(group)])


def keys_of(group: Group) -> tuple[str, ...]:
    """Names of the columns that a group's table needs."""
    left = {key for key in LEFT if not any(key in row.figures for row in group.rows)}
    return tuple(key for key in KEYS if key not in left and (key != "shared" or group.uneven))


def paper_keys_of(group: Group) -> tuple[str, ...]:
    """Names of the columns of a table that fits a column of a paper; its means are over the same instances."""
    return ("method", "answers", "shared", "worst", "time") if group.uneven else ("method", "mean", "worst", "time")


def table(group: Group, keys: Sequence[str] | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the chosen columns of a group's table, by default those it needs, and a row of unescaped text for each method."""
    chosen = keys or keys_of(group)
    places = [KEYS.index(key) for key in chosen]
    best = {line.comparison.against for line in group.lines if line.comparison is not None}
    alone = TIED if group.tied else BEST
    rows = [
        (
            *_cells(line, group.shared, alone if line.method in best else UNKNOWN, line.method in group.tied),
            *(_figure(group, line.method, figure) for figure in LEFT),
        )
        for line in group.lines
    ]
    return tuple(HEADS[key] for key in chosen), [tuple(row[place] for place in places) for row in rows]


def _figure(group: Group, method: str, figure: str) -> str:
    """Write the mean share of the answers of a method that have such a figure."""
    shares = [row.figures[figure] for row in group.rows if row.method == method and figure in row.figures]
    return percent(fmean(shares) if shares else None)


def title(group: Group) -> str:
    """Write the title of a group's table; names are not escaped."""
    kinds = [
        f"{group.references[kind]:,} {words}"
        for kind, words in (("bound", "against a bound"), ("answer", "against an answer"), ("", "without a reference"))
        if group.references.get(kind)
    ]
    if group.infeasible:
        kinds.append(f"{group.infeasible:,} without a solution")
    return f"{', '.join(group.names)}: {several(group.instances, 'instance')}" + (
        f" ({', '.join(kinds)})" if kinds else ""
    )


def _cells(line: Line, shared: int, alone: str, tied: bool) -> tuple[str, ...]:
    return (
        line.method,
        answers_text(line),
        f"{line.proven:,}",
        mean_text(line),
        UNKNOWN if line.shared is None else f"{mean(line.shared, line.at_most)}, on {shared:,}",
        ratio(line.median, line.at_most),
        ratio(line.p95, line.at_most),
        ratio(line.worst, line.worst_at_most),
        duration(line.time_s),
        alone if line.comparison is None else f"{'tied ' * tied}{_against(line.comparison)}",
    )


def answers_text(line: Line, of: str = "of") -> str:
    """Write how many cells have what the method gives: an answer, or a bound where it gives no answers."""
    if line.kind == "bound":
        return f"{line.cells - line.failed:,} {of} {line.cells:,} bounds"
    return f"{line.answers:,} {of} {line.cells:,}"


def mean_text(line: Line, interval: bool = True) -> str:
    """Write the mean ratio of a line, and the number of answers it leaves out for lack of a finite ratio."""
    if line.mean is None:
        return unbounded_text(line.unbounded) or UNKNOWN
    text = mean(line.mean if interval else Estimate(line.mean.value), line.at_most)
    return ", ".join(filter(None, (text, unbounded_text(line.unbounded))))


def unbounded_text(number: int) -> str:
    """Write the number of answers without a finite ratio; empty for none."""
    return f"{number:,} unbounded" if number else ""


def _against(comparison: Comparison) -> str:
    counts = f"{comparison.wins:,}-{comparison.ties:,}-{comparison.losses:,}"
    return counts if comparison.p_value is None else f"{counts} {p_value_text(comparison.p_value)}"


def p_value_text(p_value: float) -> str:
    """Write a p-value in brackets, as in ``(p = 0.04)``.

    >>> p_value_text(0.0312), p_value_text(1e-9)
    ('(p = 0.031)', '(p < 0.001)')
    """
    text = p_text(p_value)
    return f"(p {text})" if text.startswith("<") else f"(p = {text})"


def p_text(p_value: float) -> str:
    """Write a p-value as a number of two digits."""
    return "< 0.001" if p_value < 1e-3 else f"{p_value:.2g}"


NUMBERS = ("instances", "optima proven", "mean ratio", "worst")  # columns that hold numbers
WITHOUT_TICKS = (
    "elastic_stream without ticks: its optima are bounds, as `exact` proves optima of few jobs only; ratios are at "
    "most what stands there. With tick = SECONDS in [[instances]] decisions fall at ticks, and `exact` proves optima of that."
)
"""What stands where streams without ticks were drawn."""


def overview(groups: Sequence[Group]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns of the overview, ``objective`` and ``tied with it`` only where needed, and a row for each group."""
    several, ties = any(group.objective for group in groups), any(group.tied for group in groups)
    columns = (
        *("family", "preset", *(["objective"] if several else [])),
        *("instances", "optima proven", "best heuristic", "mean ratio", "worst", *(["tied with it"] if ties else [])),
    )
    return columns, [
        (
            group.family,
            group.preset,
            *([group.objective or UNKNOWN] if several else []),
            f"{group.instances:,}",
            f"{group.references.get('optimum', 0):,}",
            group.best.method,
            mean_text(group.best),
            ratio(group.best.worst, group.best.worst_at_most),
            *([", ".join(group.tied) or UNKNOWN] if ties else []),
        )
        for group in groups
    ]


def remarks(groups: Sequence[Group]) -> list[str]:
    """Return what readers of the groups have to know beside their figures."""
    ratios = dict.fromkeys(
        f"Ratios of {', '.join(filter(None, (group.family, group.objective)))}: {group.ratio_sentence}."
        for group in groups
    )
    return [*ratios, *([WITHOUT_TICKS] if any(map(_lacks_ticks, groups)) else [])]


def _lacks_ticks(group: Group) -> bool:
    """Whether it has drawn streams without ticks, and proved no optimum; what files hold is not known here."""
    if group.family != "elastic_stream" or group.references.get("optimum"):
        return False
    return any(row.arguments and "tick" not in row.arguments for row in group.rows)
