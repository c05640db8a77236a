"""The instances of a plan: their recipes one at a time, their number, the windows of traces, and smaller plans."""

import glob
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dlsched.catalogue.families import Value
from dlsched.catalogue.sources import OPTIONS, SOURCES
from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several, shown
from dlsched.families import read
from dlsched.study.plans.plan import (
    MOST_CELLS,
    Drawn,
    Files,
    Generated,
    Given,
    Grid,
    Gridded,
    Plan,
    Source,
    TooManyCells,
    Windows,
    combination,
    combinations,
    size,
    size_beyond,
)
from dlsched.study.recipes import (
    NO_LABEL,
    PREFIX,
    DrawnRecipe,
    GeneratedRecipe,
    Recipe,
    SearchedRecipe,
    label_of,
    recipe_of_instance,
    seed_of,
)

if TYPE_CHECKING:
    from dlsched.traces.queue import Queue, Window


def recipes(plan: Plan) -> Iterator[Recipe]:
    """Yield the recipe of each instance of a plan, in the order of its sources, each instance once; seeds vary fastest.

    Files are sorted, windows of a trace in order of time. InputError, UsageError: a file or trace is no longer valid.
    """
    for part in parts(plan):
        if isinstance(part, Recipe):
            yield part
        else:
            source, others = part
            yield from (recipe_of(source, arguments) for arguments in combinations(source.grid, others))


def parts(plan: Plan) -> Iterator[Recipe | tuple[Gridded, list[Grid]]]:
    """Yield recipes of files and traces, and whole grids, each with the earlier grids that may overlap it."""
    seen = set[Path]()
    before: dict[tuple[str, ...], list[Grid]] = {}
    for source in plan.sources:
        if isinstance(source, Gridded):
            others = before.setdefault(_maker(source), [])
            yield source, list(others)
            others.append(source.grid)
        elif isinstance(source, Given):
            yield from source.recipes
        elif isinstance(source, Files):
            for name in _new_files(source, plan.folder, seen):
                yield recipe_of_instance(read(plan.folder / name), name)
        else:
            for name, make in pieces(source, plan.folder):
                yield recipe_of_instance(make(), name)


def _maker(source: Gridded) -> tuple[str, ...]:
    """Identify the generator, function or search of a grid: grids overlap only if these are the same."""
    if isinstance(source, Generated):
        return ("generate", source.family)
    return (type(source).__name__, source.family, source.target, source.folder, source.fingerprint)


def recipe_of(source: Gridded, arguments: dict[str, Json]) -> Recipe:
    """Return the recipe of the instance for a combination of a grid."""
    label, seed = label_of(arguments), seed_of(arguments)
    if isinstance(source, Generated):
        return GeneratedRecipe(source.family, "generate", str(arguments["preset"]), seed, arguments=arguments)
    code = source.target, source.folder, source.fingerprint
    if isinstance(source, Drawn):
        return DrawnRecipe(source.family, source.what, label, seed, *code, arguments=arguments)
    kind = f"{PREFIX}{source.what}"
    label = ", ".join(filter(None, (kind, label)))
    return SearchedRecipe(source.family, kind, label, seed, *code, arguments=arguments)


def files_of(pattern: str, folder: Path) -> list[str]:
    """Return the files of a pattern, sorted, named relative to the plan; InputError if there are none."""
    named = [pattern] if (folder / pattern).is_file() else glob.glob(pattern, root_dir=folder, recursive=True)
    found = sorted(name for name in named if (folder / name).is_file())
    if not found:
        raise InputError(
            found=shown(pattern), allowed=f"a pattern of files that are there, relative to {folder.absolute()}"
        )
    return found


def _new_files(source: Files, folder: Path, seen: set[Path]) -> Iterator[str]:
    """Yield the files of the patterns that are not in ``seen``, sorted by name."""
    named = {name for pattern in source.patterns for name in files_of(pattern, folder)}
    for name in sorted(named):
        path = (folder / name).resolve()
        if path not in seen:
            seen.add(path)
            yield name


Kind = tuple[str, str, str]
"""Family, preset and source of instances."""


@dataclass(frozen=True, slots=True)
class Part:
    """Instances of one ``kind``: those of a grid that no earlier grid has, or a single one of a file or trace."""

    kind: Kind
    instances: int
    _of: Recipe | tuple[Gridded, Grid]

    @property
    def places(self) -> int:
        """Number of indices for ``at``: all instances of the grid, also those that an earlier grid has."""
        return 1 if isinstance(self._of, Recipe) else size(self._of[1])

    def at(self, place: int) -> Recipe:
        """Return the recipe of the instance at an index."""
        if isinstance(self._of, Recipe):
            return self._of
        source, grid = self._of
        return recipe_of(source, combination(grid, place))


def count(plan: Plan) -> tuple[int, int]:
    """Count the instances and the cells of a plan; reads files and traces, and draws nothing."""
    instances = cells = 0
    for part in parts(plan):
        family = part.family if isinstance(part, Recipe) else part[0].family
        found = 1 if isinstance(part, Recipe) else size_beyond(part[0].grid, part[1])
        instances += found
        cells += found * sum(method.runs_on(family) for method in plan.methods)
    return instances, cells


def kinds_of(plan: Plan) -> Iterator[Part]:
    """Yield the parts of a plan in order, one kind of instances each; errors as ``recipes``."""
    for part in parts(plan):
        if isinstance(part, Recipe):
            yield Part((part.family, part.preset, "files"), 1, part)
            continue
        source, others = part
        naming = {key: values for key, values in source.grid.items() if _names(source, key)}
        for named in combinations(naming):
            grid: Grid = {key: (named[key],) if key in named else values for key, values in source.grid.items()}
            recipe = recipe_of(source, combination(grid, 0))
            yield Part((recipe.family, recipe.preset, recipe.source), size_beyond(grid, others), (source, grid))


def _names(source: Gridded, key: str) -> bool:
    """Whether different values of an argument make different kinds of instances."""
    return key == "preset" if isinstance(source, Generated) else key not in NO_LABEL


def require_countable(plan: Plan) -> None:
    """Refuse a plan of too many cells (TooManyCells) before instances are made: files and traces, not read, count as one each."""
    gridded = replace(plan, sources=tuple(source for source in plan.sources if isinstance(source, Gridded)))
    instances, cells = count(gridded)
    others = len(plan.sources) - len(gridded.sources)
    if cells + others > MOST_CELLS:
        raise TooManyCells(cells + others, several(instances + others, "instance"))


OPTIONS_OF_FILES = ("nodes", "jobs")
"""Options that name files, relative to the plan's folder."""


def pieces(trace: Windows, folder: Path) -> Iterator[tuple[str, Callable[[], InstanceFile]]]:
    """Cut a trace into windows with jobs, from ``from`` or the first arrival on; yield name and importer of each.

    Errors, also those of the importers, as ``import_instance``.
    """
    from_, to = (None if value is None else str(value) for value in map(trace.options.get, ("from", "to")))
    whole = _piece(trace, folder, from_, to, None)
    clock = None if trace.window_s is None else _clock(trace, folder)
    if clock is None or trace.window_s is None:
        yield whole
        return
    arrivals_s, window_of, moment, queue = clock
    window, length_s = window_of(from_, to), trace.window_s
    arrivals = sorted(each for each in arrivals_s if window.holds(each))
    if not arrivals:
        yield whole  # the importer then reports that there is no job
        return
    start_s = arrivals[0] if window.start_s is None else window.start_s
    # Number of the window of each arrival: the quotient, corrected where rounding puts it a window too early.
    latest = -1
    for arrival_s in arrivals:
        count = max(math.floor((arrival_s - start_s) / length_s) - 1, 0)
        while arrival_s >= _edge(start_s, length_s, count + 1):
            count += 1
        if count != latest:
            latest, end_s = count, _edge(start_s, length_s, count + 1)
            start = moment(_edge(start_s, length_s, count))
            end = moment(end_s if window.end_s is None else min(end_s, window.end_s))
            yield _piece(trace, folder, start, end, queue)


Clock: TypeAlias = tuple[
    list[float], "Callable[[str | None, str | None], Window]", Callable[[float], str], "Queue | None"
]
"""Arrival times of a trace's jobs, the reader and the writer of its times, and the whole trace if it was read as a queue."""


def _clock(trace: Windows, folder: Path) -> Clock | None:
    from dlsched.traces import arrivals_of, read_queue
    from dlsched.traces.instances import DEFAULT
    from dlsched.traces.queue import queue_window

    source, path, options = SOURCES[trace.importer], str(folder / trace.file), _options(trace, folder)
    if source.queued(options.get("family")):
        queue = read_queue(trace.importer, path, **{**options, "family": options.get("family") or DEFAULT})
        arrivals_s = [job.submit_s for job in queue.jobs if job.duration_s is not None]
        return arrivals_s, partial(queue_window, queue), queue.moment, queue
    clock = source.clock
    return None if clock is None else (arrivals_of(trace.importer, path), clock.window, clock.moment, None)


def _edge(start_s: float, length_s: float, count: int) -> float:
    """Start of a window: exact for the first, in microseconds for others, as every trace can write."""
    return round(start_s + count * length_s, 6) if count else start_s


def _piece(
    trace: Windows, folder: Path, from_: str | None, to: str | None, queue: "Queue | None"
) -> tuple[str, Callable[[], InstanceFile]]:
    """Name the part of a trace between two times, and return what imports it, from the ``queue`` if it was read."""

    def make() -> InstanceFile:
        from dlsched.traces import import_instance, import_made

        path, options = str(folder / trace.file), _options(trace, folder) | {"from_": from_, "to": to}
        if queue is not None:
            return import_made(trace.importer, path, queue, **options).instance
        return import_instance(trace.importer, path, **options)[0]

    return f"{trace.file} [{from_ or ''}, {to or ''})" if from_ or to else trace.file, make


def _options(trace: Windows, folder: Path) -> dict[str, Value | None]:
    """Return the options of a trace as keyword arguments of importers."""
    found: dict[str, Value | None] = {}
    for name, value in trace.options.items():
        assert not isinstance(value, list | dict)
        found[OPTIONS[name].python] = str(folder / str(value)) if name in OPTIONS_OF_FILES else value
    return found


MOST_FILES = 2
"""Number of files that are kept of each folder."""


def smaller(plan: Plan, most: Mapping[str, int], trace_to: str | None = None) -> Plan:
    """Cut every source down to the ends of each list of a grid, and to the two smallest files of each folder.

    ``most``: largest values of sizes, as ``{"jobs": 20}``; ``trace_to``: where traces end, as ``dlsched import --to`` takes it.
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
        yield from sorted(held, key=lambda name: (folder / name).stat().st_size)[:MOST_FILES]
