"""Tables of groups as text; the terminal, Markdown and LaTeX show the same numbers.

===============  ===================================================================================================
column           what
===============  ===================================================================================================
method           its label
answers          cells with an answer, of those that have ended; of a method that only bounds: with a bound
proven           cells that proved their optimum
mean ratio       to the reference, over the answers, with its 95 % interval by instance; and the number of answers that
                 have no finite ratio
median, 95 %     of the ratios
worst            ratio
time             shifted geometric mean of the seconds, the shift being 1 s
against best     wins, ties and losses against the best method, and the p-value of their difference; ``tied`` where the
                 mean is that of the best
===============  ===================================================================================================

``<=`` precedes figures that rest on a bound: the true figure is at most that.
"""

import math
from collections.abc import Sequence

from dlsched.core.tolerance import MEETING
from dlsched.statistics.estimate import Estimate
from dlsched.study.figures.groups import Comparison, Group, Line

COLUMNS = ("method", "answers", "proven", "mean ratio", "median", "95 %", "worst", "time", "against best")
KEYS = ("method", "answers", "proven", "mean", "median", "p95", "worst", "time", "best")
"""Names of the columns where some are chosen."""
RATIOS = frozenset(("mean", "median", "p95", "worst"))
"""Those that hold ratios."""
AT_MOST = "<= "
UNKNOWN = "-"
BEST = "the best"
TIED = "tied for the best"
_NOTES = {
    tuple(RATIOS): "<= stands where a ratio rests on a bound in place of the optimum.",
    ("mean",): "The mean has its 95 % interval by bootstrap over instances.",
    ("time",): "Time is the shifted geometric mean (shift 1 s).",
    ("best",): "Against the best: instances won-tied-lost, and p of Wilcoxon's signed-rank test, corrected by Holm.",
}
"""What has to be known of columns, by these."""


def note(keys: Sequence[str] = KEYS) -> str:
    """Explain the columns, for readers who see only the table."""
    return " ".join(said for of, said in _NOTES.items() if set(of) & set(keys))


NOTE = note()
"""Explanation of all columns."""


def table(group: Group) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns of a group's table and a row of text for each method; names are not escaped."""
    best = {line.comparison.against for line in group.lines if line.comparison is not None}
    tied = group.tied
    alone = TIED if tied else BEST
    return COLUMNS, [
        _cells(line, alone if line.method in best else UNKNOWN, line.method in tied) for line in group.lines
    ]


def title(group: Group) -> str:
    """Write the title of a group's table; names are not escaped."""
    counted = f"{group.instances:,} instance{'' if group.instances == 1 else 's'}"
    kinds = [
        f"{group.references[kind]:,} {words}"
        for kind, words in (("bound", "against a bound"), ("answer", "against an answer"), ("", "without a reference"))
        if group.references.get(kind)
    ]
    if group.infeasible:
        kinds.append(f"{group.infeasible:,} without a solution")
    return f"{', '.join(group.names)}: {counted}" + (f" ({', '.join(kinds)})" if kinds else "")


def _cells(line: Line, alone: str, tied: bool) -> tuple[str, ...]:
    at_most = AT_MOST if line.at_most else ""
    return (
        line.method,
        answers_text(line),
        f"{line.proven:,}",
        mean_text(line),
        ratio_text(line.median, at_most),
        ratio_text(line.p95, at_most),
        ratio_text(line.worst, AT_MOST if line.worst_at_most else ""),
        UNKNOWN if line.time_s is None else f"{line.time_s:.3g} s",
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
    text = estimate_text(line.mean if interval else Estimate(line.mean.value), AT_MOST if line.at_most else "")
    return ", ".join(filter(None, (text, unbounded_text(line.unbounded))))


def unbounded_text(number: int) -> str:
    """Write the number of answers without a finite ratio; empty for none.

    >>> unbounded_text(2), unbounded_text(0)
    ('2 unbounded', '')
    """
    return f"{number:,} unbounded" if number else ""


def estimate_text(estimate: Estimate | None, at_most: str = "") -> str:
    """Write an estimate, with its interval if that is more than a point.

    >>> estimate_text(Estimate(1.0193, 1.0171, 1.0215), "<= ")
    '<= 1.0193 [1.0171, 1.0215]'
    """
    if estimate is None:
        return UNKNOWN
    text = ratio_text(estimate.value, at_most)
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return text
    return f"{text} [{ratio_text(estimate.low)}, {ratio_text(estimate.high)}]"


def ratio_text(ratio: float | None, at_most: str = "") -> str:
    """Write a ratio with four decimals, fewer if large; 1.0000 only for a ratio that meets the reference.

    >>> ratio_text(1.25), ratio_text(1.00002), ratio_text(1 + 1e-9), ratio_text(31416.0), ratio_text(None)
    ('1.2500', '1+2e-05', '1.0000', '3.142e+04', '-')
    """
    if ratio is None:
        return UNKNOWN
    if abs(ratio - 1) <= MEETING:
        return "1.0000"  # a ratio so close to 1 meets its bound
    if math.isinf(ratio):
        return "unbounded"
    if ratio >= 1e3:
        return f"{at_most}{ratio:.4g}"
    text = f"{ratio:.4f}"
    return at_most + (f"1{ratio - 1:+.0e}" if text == "1.0000" else text)


def _against(comparison: Comparison) -> str:
    counts = f"{comparison.wins:,}-{comparison.ties:,}-{comparison.losses:,}"
    return counts if comparison.p_value is None else f"{counts} {p_value_text(comparison.p_value)}"


def p_value_text(p_value: float) -> str:
    """Write a p-value in brackets, as in ``(p = 0.04)``.

    >>> p_value_text(0.04), p_value_text(1e-9)
    ('(p = 0.04)', '(p < 0.001)')
    """
    text = p_text(p_value)
    return f"(p {text})" if text.startswith("<") else f"(p = {text})"


def p_text(p_value: float) -> str:
    """Write a p-value as a number of two digits.

    >>> p_text(0.00001), p_text(0.0312)
    ('< 0.001', '0.031')
    """
    return "< 0.001" if p_value < 1e-3 else f"{p_value:.2g}"
