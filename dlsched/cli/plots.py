"""Plots of ``dlsched compare --plot``: gaps and profiles of all instances, and answers to instances with a chart."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dlsched.comparison.comparison import axis_of, labels_of, points_of
from dlsched.comparison.rows import Compared
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import require_writable
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable
from dlsched.families import family_of

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
        _draw_gaps([row for row in rows if row.kind != "bound" and row.instance in named], alone, path, width_in)


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


def _draw_gaps(rows: Sequence[Compared], instances: Sequence[InstanceFile], path: str, width_in: float) -> None:
    from dlsched.plots import draw_comparison

    written = draw_comparison(points_of(rows), path, width=width_in, **axis_of(instances))
    print(f"plot: {written}", file=sys.stderr)


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
