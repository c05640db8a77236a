"""Streams of the patterns that were best on the grid, or where a search from these ended."""

from dlsched import elastic_stream
from dlsched.study.reproduce.streams import pattern

FOUND = {
    "best of the grid for (b)": ("short-long-near-linear", "poisson", 0.45),
    "end of the climb for (b)": ("found", "poisson", 0.5025964513466191),
    "best of the grid for (c)": ("short-long-sub-linear", "bursts", 0.3),
    "end of the climb for (c)": ("found-two-orders", "bursts-13", 0.3),
}
"""Mix, arrivals and load, on 16 units."""


def found(*, which: str, jobs: int, seed: int) -> elastic_stream.Instance:
    """A stream of such a pattern."""
    mix, arrivals, load = FOUND[which.removesuffix(", 4 times the jobs")]
    return pattern(mix=mix, arrivals=arrivals, units=16, load=load, jobs=jobs, seed=seed)
