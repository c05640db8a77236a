"""Cuts a plan down to a similar one that takes seconds, to test it before the whole study runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from dlsched.core.files import Json
from dlsched.study.plans.plan import Files, Given, Plan, Source, Windows
from dlsched.study.plans.sources import files_of

FILES = 2
"""Number of files that are kept of each folder."""


def smaller(plan: Plan, most: Mapping[str, int], trace_to: str | None = None) -> Plan:
    """Cut every source of a plan down; keep its methods.

    Keeps the first and the last value of each list of a grid, and the two smallest files of each folder.

    Parameters
    ----------
    plan
        The plan.
    most
        Largest values of sizes, by argument: ``{"jobs": 20}``.
    trace_to
        Where traces end, as ``dlsched import --to`` takes it; None: traces stay whole.
    """

    def cut(source: Source) -> Source:
        if isinstance(source, Files):
            return replace(source, patterns=tuple(_smallest(source.patterns, plan.folder)))
        if isinstance(source, Given):
            return source
        if isinstance(source, Windows):
            return source if trace_to is None else replace(source, options={**source.options, "to": trace_to})
        return replace(source, grid={key: _ends(values, most.get(key)) for key, values in source.grid.items()})

    return replace(plan, sources=tuple(map(cut, plan.sources)))


def _ends(values: Sequence[Json], most: int | None) -> tuple[Json, ...]:
    """Return the first and the last value, integers cut to ``most``."""
    ends = (
        min(value, most) if most is not None and isinstance(value, int) else value for value in (values[0], values[-1])
    )
    return tuple(dict.fromkeys(ends))


def _smallest(patterns: Sequence[str], folder: Path) -> Iterator[str]:
    names = [name for pattern in patterns for name in files_of(pattern, folder)]
    for _, held in groupby(names, key=lambda name: Path(name).parent):
        yield from sorted(held, key=lambda name: (folder / name).stat().st_size)[:FILES]
