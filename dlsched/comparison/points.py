"""Rows of a comparison as points of a figure."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dlsched.comparison.rows import Compared
from dlsched.core.instance import InstanceFile
from dlsched.families import family_of

if TYPE_CHECKING:
    from dlsched.plots import Point

LARGEST_RATIO = 1e100  # no axis holds more


def labels_of(rows: Sequence[Compared]) -> list[str]:
    """Label of each row, numbered where an instance has it twice."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for row in rows:
        seen[row.instance, row.label] += 1
        number = seen[row.instance, row.label]
        found.append(row.label if number == 1 else f"{row.label} ({number})")
    return found


def axis_of(instances: Sequence[InstanceFile]) -> dict[str, str]:
    """Return the argument that names the axis of ratios; none where instances have different objectives."""
    said = {family_of(instance).objective_for(instance).ratio() for instance in instances}
    return {"ratio": said.pop()} if len(said) == 1 else {}


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
