"""Gantt charts of gangs on servers: which job is on which GPUs when, and the flow times of the jobs.

A schedule says how many GPUs of a server a job has, not which; the figure gives it the first free adjacent
ones.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dlsched.core.arguments import renamed
from dlsched.plots.figure import PAGE_IN, labels
from dlsched.plots.timeline import SAME, Box, Scene, Vector, draw_timelines, require_flows

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PANELS = 4  # drawn, at most
MOST_GPUS = 100_000  # more cannot be seen


class Gang(NamedTuple):
    """A job runs from `start_s` to `end_s` on that many GPUs of each server, which is known by its index."""

    start_s: float
    end_s: float
    gpus: Mapping[int, int]


@dataclass(frozen=True)
class GangRow:
    """What one method made of gangs: when and where each job runs, and the seconds from its release to its end."""

    method: str
    gangs: Mapping[str, Gang]
    flow_times_s: Sequence[float]

    def __post_init__(self) -> None:
        require_flows(self.method, self.flow_times_s)

    def held(self) -> dict[str, Vector]:
        """(start in s, end in s, GPUs, number of the server) by job, one server a line."""
        return {
            job: np.array([(gang.start_s, gang.end_s, count, server) for server, count in sorted(gang.gpus.items())])
            for job, gang in self.gangs.items()
        }


def seats(gangs: Mapping[str, Gang], servers: Sequence[int]) -> dict[str, list[tuple[int, int]]]:
    """Give each job runs (first GPU, how many) within servers; GPUs are counted over `servers`, which says how many each has.

    Two jobs share a GPU at no time, unless a server has too few: then those that are free the earliest are taken.
    """
    firsts = [sum(servers[:server]) for server in range(len(servers))]
    free_s = [[-math.inf] * gpus for gpus in servers]
    slack_s = SAME * max((gang.end_s - gang.start_s for gang in gangs.values()), default=0.0)
    taken: dict[str, list[tuple[int, int]]] = {}
    # In order of their starts, so that a GPU is free again where its last job has ended.
    for job in sorted(gangs, key=lambda job: gangs[job].start_s):
        gang, runs = gangs[job], taken.setdefault(job, [])
        for server, count in sorted(gang.gpus.items()):
            last = -2
            for gpu in _free_gpus(free_s[server], gang.start_s + slack_s, count):
                free_s[server][gpu] = gang.end_s
                if gpu == last + 1:
                    runs[-1] = runs[-1][0], runs[-1][1] + 1
                else:
                    runs.append((firsts[server] + gpu, 1))
                last = gpu
    return taken


def _free_gpus(free_s: Sequence[float], start_s: float, count: int) -> list[int]:
    """The first `count` adjacent GPUs free at the start, else the first free ones, else the soonest free."""
    run = 0
    for gpu, when_s in enumerate(free_s):
        run = run + 1 if when_s <= start_s else 0
        if run == count:
            return list(range(gpu - count + 1, gpu + 1))
    return sorted(sorted(range(len(free_s)), key=lambda gpu: max(free_s[gpu], start_s))[:count])


@renamed(width_in="width")
def draw_gangs(
    rows: Sequence[GangRow],
    path: Path | str,
    *,
    servers: Mapping[str, int],
    releases_s: Mapping[str, float],
    title: str | None = None,
    width: float = PAGE_IN,
    parts: int = 1,
) -> Path:
    """Draw who is on which GPUs over time (left) and the distributions of flow times (right) to `path`, and return it.

    `servers` are GPUs by server, from the top, each counted as so many `parts`. Methods of equal schedules share a panel; the
    4 panels of least mean flow time are drawn. The 6 jobs of most GPU-seconds have colours.

    Raises
    ------
    ValueError
        Another suffix, no rows, two for one method, more than 100,000 GPUs.
    """
    total = sum(servers.values())
    if not 1 <= total <= MOST_GPUS:
        raise ValueError(f"servers: found {total} GPUs, allowed in a figure: 1 to {MOST_GPUS:,}")
    panel_in = min(0.75 + 0.014 * total, 1.7)

    def paint(axes: "Axes", row: GangRow, scene: Scene) -> Iterable[Box]:
        _draw_servers(axes, servers, panel_in, parts)
        return _draw_gangs(axes, row, servers, scene, line=0.4 if 72 * panel_in / total >= 1.2 else 0.0)

    def key(scene: Scene) -> "Iterable[Artist]":
        from matplotlib.lines import Line2D

        yield Line2D([], [], color="0.4", lw=0.5, label="between servers")

    return draw_timelines(
        rows,
        path,
        arrivals_s=releases_s,
        arrival="release",
        paint=paint,
        key=key if 1 < len(servers) <= 72 * panel_in / 4 else lambda scene: (),
        panel_in=panel_in,
        most=PANELS,
        title=title,
        width_in=width,
    )


def _draw_servers(axes: "Axes", servers: Mapping[str, int], panel_in: float, parts: int) -> None:
    """Draw lines between servers, and their names if each has room for one; else their number."""
    # The first GPU of every server, and the end of the last.
    bounds = np.concatenate(([0], np.cumsum(list(servers.values()))))
    total = int(bounds[-1])
    width = 0.5 if len(servers) <= 20 else 0.2
    if 1 < len(servers) <= 72 * panel_in / 4:
        axes.hlines(bounds[1:-1], 0, 1, transform=axes.get_yaxis_transform(), color="0.4", lw=width, zorder=0.5)
    axes.set_ylim(total, 0)
    if panel_in / len(servers) >= 0.11:
        shown = labels(servers, 10)
        axes.set_yticks((bounds[:-1] + bounds[1:]) / 2, [shown[server] for server in servers])
        axes.tick_params(axis="y", length=0)
        axes.set_ylabel(f"{total // parts:,} GPUs")
    else:
        axes.set_yticks([0, total], ["1", f"{total:,}"])
        axes.set_ylabel(f"GPUs of\n{len(servers):,} servers")


def _draw_gangs(axes: "Axes", row: GangRow, servers: Mapping[str, int], scene: Scene, *, line: float) -> list[Box]:
    """One rectangle a job and run of adjacent GPUs."""
    from matplotlib.collections import PolyCollection

    boxes = []
    for job, runs in seats(row.gangs, [*servers.values()]).items():
        gang = row.gangs[job]
        left, right = scene.x(gang.start_s), scene.x(gang.end_s)
        boxes += [Box(job, left, right, first, first + count) for first, count in runs]
    corners = [((b.left, b.bottom), (b.right, b.bottom), (b.right, b.top), (b.left, b.top)) for b in boxes]
    colours = [scene.colour(box.job) for box in boxes]
    axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="white", linewidths=line))
    return boxes
