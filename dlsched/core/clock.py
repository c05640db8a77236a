"""Clocks: methods count from the first release, files and results from zero.

Neighbouring floats at today's Unix times are 0.24 microseconds apart, so a difference of two such times is
no more exact than that. Methods therefore never subtract times of the file: ``from_the_first`` subtracts the
first release once, and ``put_back`` adds it to the starts once.
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
    """Return starts on the clock of the file.

    A job that starts at its release does so there too; other starts are rounded to the clock of the file.

    Parameters
    ----------
    releases_s, own_s
        Releases on the clock of the file, and on the clock of ``from_the_first``.
    starts_s
        Starts on the clock of ``own_s``.

    >>> put_back([7.0, 5.0], [2.0, 0.0], [2.0, 1.5])
    [7.0, 6.5]
    """
    first_s = min(releases_s)
    return [
        release_s if start_s <= mine_s else max(release_s, first_s + start_s)
        for release_s, mine_s, start_s in zip(releases_s, own_s, starts_s, strict=True)
    ]
