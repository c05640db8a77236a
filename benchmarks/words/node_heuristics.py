"""What the study ``node_heuristics`` found: mean and largest ratio by preset and by nodes a job."""

from collections.abc import Sequence

import numpy as np
from cases import cases

from dlsched.core.messages import listed
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row


def words(rows: Sequence[Row], study: Study) -> str:
    """A table of all settings, and which heuristic is the best in how many."""
    del study
    heuristics = [row for row in rows if row.method != "exact"]
    found = cases(heuristics, lambda row: row.ratio, lambda row: (row.preset, str((row.gpus or 0) // (row.jobs or 1))))
    names = list(next(iter(found.values())))
    means = np.array([[each[name].mean() for name in names] for each in found.values()])
    best = (means <= np.nanmin(means, axis=1, keepdims=True) + 1e-9).sum(axis=0)
    largest = [np.nanmax([each[name] for each in found.values()]) for name in names]
    table = [
        [
            *case,
            *("does not fit" if np.isnan(x).any() else f"{x.mean():.2f}, {x.max():.2f}" for x in each.values()),
        ]
        for case, each in found.items()
    ]
    return (
        f"Of {len(found)} settings of preset and nodes a job the least mean, or one as good, is that of "
        f"{listed([f'`{name}` in {count}' for name, count in zip(names, best, strict=True)])}; the largest ratio is "
        f"{listed([f'{most:.2f} of `{name}`' for name, most in zip(names, largest, strict=True)])}.\n\n"
        "## By preset and nodes a job\n\nMean and largest ratio of the sum of seconds.\n\n"
        + markdown_table(["preset", "nodes a job", *names], table)
    )
