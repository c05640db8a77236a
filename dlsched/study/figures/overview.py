"""The overview of a study: a line a group, with its best heuristic, how far that is from the optimum, and who ties with it."""

from collections.abc import Sequence

from dlsched.core.quantities import UNKNOWN, ratio
from dlsched.study.figures.groups import Group
from dlsched.study.figures.tables import mean_text

NUMBERS = ("instances", "optima proven", "mean ratio", "worst")
"""Columns that hold numbers."""
WITHOUT_TICKS = (
    "elastic_stream without ticks: its optima are bounds, as decisions at any moment have no finite model; ratios are at "
    "most what stands there. With tick = SECONDS in [[instances]] decisions fall at ticks, and `exact` proves optima of that."
)
"""What stands where streams without ticks were drawn."""


def overview(groups: Sequence[Group]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns of the overview and a row of text for each group; names are not escaped.

    ``objective`` and ``tied with it`` are there where a group has one.
    """
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
