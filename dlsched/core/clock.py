"""Clocks: methods count from the first release, files and results from zero.

At Unix times a float holds no less than .24 microseconds, and a difference of two times no better. So nothing is subtracted
on the clock of the file: releases are taken relative to a first one once, and what was found is put back once.
"""

from collections.abc import Sequence


def from_the_first(releases_s: Sequence[float]) -> list[float]:
    """Return releases on a clock of their own, whose zero is the first of them.

    >>> from_the_first([7.0, 5.0])
    [2.0, 0.0]
    """
    first_s = min(releases_s)
    return [release_s - first_s for release_s in releases_s]


def put_back(releases_s: Sequence[float], own_s: Sequence[float], starts_s: Sequence[float]) -> list[float]:
    """Return starts on the clock of the file: who starts at its release does so there too, others are rounded to the clock.

    Parameters
    ----------
    releases_s, own_s
        On the clock of the file, and on their own.
    starts_s
        On the clock of ``own_s``.

    >>> put_back([7.0, 5.0], [2.0, 0.0], [2.0, 1.5])
    [7.0, 6.5]
    """
    first_s = min(releases_s)
    return [
        release_s if start_s <= mine_s else max(release_s, first_s + start_s)
        for release_s, mine_s, start_s in zip(releases_s, own_s, starts_s, strict=True)
    ]
