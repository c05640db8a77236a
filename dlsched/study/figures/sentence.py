"""Sentences about the figures of a study, shared by the terminal, papers and reports; and the summary, which prints itself."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.core.display import Table
from dlsched.core.messages import listed, printable, several
from dlsched.core.quantities import mean, per_cent, percent
from dlsched.core.status import Sense
from dlsched.statistics.inference import Estimate
from dlsched.study.figures.summary import FILES, SEARCHED, Group, Line
from dlsched.study.figures.tables import note_of, overview, p_value_text, remarks, table, title

ENOUGH = 5  # ratios of a group from which its mean may stand in the sentence on many groups
SPELT_OUT = 1  # groups up to which each gets a sentence; more groups share one
_NAME = 60  # characters of a name in a sentence
_TIMES = 2.0  # from this ratio on the text says "times" instead of per cent


def sentence(groups: Sequence[Group]) -> str:
    """Return the result of a study in one sentence, with its interval.

    It names the instances, the best method that is not exact, how far that is from the optimum on average and at worst, and
    the next best; "at most" marks ratios to a bound. For several groups it gives the least and the largest mean of their best
    methods, over groups of ``ENOUGH`` instances if there are any.
    """
    if not groups:
        return "No cell has ended."
    if len(groups) <= SPELT_OUT:
        return " ".join(_of_group(group) for group in groups)
    return _of_many(groups)


def _of_many(groups: Sequence[Group]) -> str:
    families = list(dict.fromkeys(group.family for group in groups))
    instances = sum(group.instances for group in groups)
    text = f"On {several(instances, 'instance')} in {len(groups)} groups of {listed([*map(_short, families)])}"
    best = [(group, group.line(group.ranking[0])) for group in groups]
    rated = sorted(
        ((line.mean.value, group, line) for group, line in best if line.mean is not None), key=lambda each: each[0]
    )
    if not rated:
        return f"{text}, no answer has a finite ratio to a reference."
    if all(_always_met(line) for _, _, line in rated):
        return f"{text}, the best method of each group reaches the optimum on all{_rest(groups, rated)}."
    typical = [each for each in rated if each[2].ratios >= ENOUGH and each[1].preset != SEARCHED] or rated
    (_, first, least), (_, last, most) = typical[0], typical[-1]
    _, where, widest = max(rated, key=lambda each: each[2].worst or 0.0)
    text += f", the best method of each group lies on average between {_mark(first, least)} ({_place(first, least)}) "
    text += f"and {_mark(last, most)} ({_place(last, most)}), at worst {_worst(where, widest)}"
    if len(typical) < len(rated):
        omitted = several(len(rated) - len(typical), "group")
        text += f"; means of {omitted} of fewer than {ENOUGH} or of searched instances are left out"
    return f"{text}{_rest(groups, rated)}."


def _rest(groups: Sequence[Group], rated: Sequence[object]) -> str:
    """Say which groups have no ratio, and how many cells failed."""
    unanswered = sum(line.failed for group in groups for line in group.lines)
    rest = len(groups) - len(rated)
    text = f"; {several(rest, 'group')} without a finite ratio to a reference" if rest else ""
    return text + (f"; {several(unanswered, 'cell')} failed" if unanswered else "")


def _mark(group: Group, line: Line) -> str:
    """Write a mean as the end of a range."""
    return "the optimum" if _always_met(line) else _distance(group, line)


def _place(group: Group, line: Line) -> str:
    answers = several(line.ratios, "instance")
    return (
        f"{listed([*map(_quoted, (line.method, *group.tied))])} on {answers} of {', '.join(map(_short, group.names))}"
    )


def _of_group(group: Group) -> str:
    origin = ["from files" if group.preset == FILES else f"({_short(group.preset)})"]
    origin += [f"with the objective {_short(group.objective)}"] if group.objective else []
    text = f"On {several(group.instances, 'instance')} of {_short(group.family)} {' '.join(origin)}"
    answered = [line for line in map(group.line, group.ranking) if line.answers]
    if not answered:
        return f"{text}, no method has an answer{_why_not(group)}."
    first, *others = answered
    tied = group.tied
    rivals = [line for line in others if line.kind == first.kind and line.method not in tied]
    kind = "exact methods" if first.exact else "heuristics"
    candidates = sum(line.kind == first.kind for line in group.lines)
    name = f"{_quoted(first.method)}, the best of {candidates} {kind}," if candidates > 1 else _quoted(first.method)
    if tied:
        name = f"{listed([*map(_quoted, (first.method, *tied))])}, tied for the best of {candidates} {kind},"
    if first.mean is None and first.unbounded:
        return f"{text}, {name} has an answer to {first.answers:,}, none with a finite ratio to the reference."
    if first.mean is None:
        return f"{text} no optimum or bound is known: {_unrated(group, first, name)}."
    verb = ("reach" if tied else "reaches") if _always_met(first) else "are" if tied else "is"
    text += f", {name} {verb} {_distance(group, first, compared=True)}"
    if first.worst is not None and not _always_met(first):
        over = f" over the {several(group.shared, 'instance')} that all methods answered" if first.shared else ""
        text += f" on average{over}, worst {'of all ' * bool(over)}{_worst(group, first)}"
    text += _held_against(group, first)
    if first.failed:
        text += f", and {'each fail' if tied else 'fails'} on {first.failed:,} of {first.cells:,}"
    if rivals and rivals[0].mean is not None:
        text += f"; next is {_quoted(rivals[0].method)}, {_distance(group, rivals[0], compared=True)}"
        comparison = rivals[0].comparison
        if comparison is not None and comparison.p_value is not None:
            text += f" {p_value_text(comparison.p_value)}"
    provers = [line for line in group.lines if line.exact and line is not first]
    if provers:
        most = max(provers, key=lambda line: line.proven)
        text += f"; {_quoted(most.method)} proves {most.proven:,} of {most.cells:,} optima"
    return f"{text}."


def _why_not(group: Group) -> str:
    reasons = [
        f"{_quoted(line.method)}: {', '.join(f'{count:,} {status}' for status, count in line.failures.items())}"
        for line in group.lines
        if line.failures
    ]
    if group.infeasible:
        reasons.append(f"proven to have no solution: {group.infeasible:,}")
    return f" ({'; '.join(reasons)})" if reasons else ""


def _unrated(group: Group, first: Line, name: str) -> str:
    against = [line.comparison for line in group.lines if line.comparison is not None and line.comparison.instances]
    if not against:
        return f"{name} has an answer to {first.answers:,}"
    closest = max(against, key=lambda each: each.wins)
    other = next(line.method for line in group.lines if line.comparison is closest)
    return (
        f"{name} is better than {_quoted(other)} on {closest.losses:,}, as good on {closest.ties:,} "
        f"and worse on {closest.wins:,}"
    )


def _always_met(line: Line) -> bool:
    return line.ratios == line.at_optimum == line.cells


def _distance(group: Group, line: Line, *, compared: bool = False) -> str:
    """Write how far the mean is from the reference; ``compared``: that over the instances that all methods answered."""
    if _always_met(line):
        return "the optimum on all"
    mean_ratio = (line.shared if compared else None) or line.mean
    assert mean_ratio is not None
    what = "the reference" if group.references.get("answer") else "the optimum"
    unbounded = f" (on {line.unbounded:,} without a finite ratio)" if line.unbounded else ""
    return f"{'at most ' if line.at_most else ''}{_away(group, mean_ratio)} {what}{unbounded}"


def _away(group: Group, estimate: Estimate) -> str:
    """Write a mean ratio; for maximised objectives, the factor by which answers are below the reference."""
    if group.sense is Sense.MAXIMIZE:
        return f"a factor of {mean(estimate)} below"
    if estimate.value >= _TIMES:
        return f"{mean(estimate)} times"
    if estimate.value >= 1:
        return f"{_per_cent(estimate, 1)} above"
    return f"{_per_cent(estimate, -1)} below"


def _worst(group: Group, line: Line) -> str:
    assert line.worst is not None
    if math.isinf(line.worst):
        return f"unbounded ({_short(line.worst_instance)})"
    most = "at most " if line.worst_at_most else ""
    return f"{most}{_away(group, Estimate(line.worst)).removesuffix(' above')} ({_short(line.worst_instance)})"


def _held_against(group: Group, line: Line) -> str:
    known = [group.references.get(kind, 0) for kind in ("bound", "")]
    if not line.at_most and not known[1]:
        return ""
    parts = [f"on {known[0]:,} only a bound is known"] if line.at_most and known[0] else []
    parts += [f"on {known[1]:,} neither optimum nor bound"] if known[1] else []
    return f" ({', '.join(parts)})" if parts else ""


def _per_cent(estimate: Estimate, sign: int) -> str:
    """Write the distance of a ratio from 1, with its interval."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return percent(sign * (estimate.value - 1))
    half = (estimate.high - estimate.low) / 2
    value, *ends = (per_cent(sign * (each - 1), half) for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} % [{', '.join(ends[::sign])}]"


def _short(name: str) -> str:
    """Shorten a name for a sentence: one line, and not hundreds of characters."""
    text = printable(name)
    return text if len(text) <= _NAME else f"{text[: _NAME - 3]}..."


def _quoted(name: str) -> str:
    return f"`{_short(name)}`"


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a study: groups of instances, each with a line of figures for each method."""

    groups: Sequence[Group]

    @property
    def sentence(self) -> str:
        """The result in one sentence, with its interval."""
        return sentence(self.groups)

    def __repr__(self) -> str:
        parts = [printable(self.sentence)]
        for group in self.groups:
            parts.append(f"{printable(title(group))}\n{_table(*table(group)).text(between=2, ruled=False)}")
        return "\n\n".join([*parts, *remarks(self.groups)])

    def _repr_html_(self) -> str:
        if len(self.groups) > 1:
            tables = [_table(*overview(self.groups)).html()]
        else:
            tables = [
                f"<p>{html.escape(printable(title(group)))}</p>{_table(*table(group)).html()}" for group in self.groups
            ]
        remarks_of_groups = [*remarks(self.groups), *([note_of(self.groups)] if len(self.groups) == 1 else [])]
        return "".join([*tables, *(f"<p><small>{html.escape(words)}</small></p>" for words in remarks_of_groups)])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(columns, rows, columns[1:])
