"""The least concave function above points, as far as it rises."""

from collections.abc import Iterable
from typing import TypeVar

CountT = TypeVar("CountT", int, float)


def upper_hull(points: Iterable[tuple[CountT, float]]) -> list[tuple[CountT, float]]:
    """Return the corners, without (0, 0), of the least concave function from (0, 0) on that lies above points.

    The points have ascending counts > 0.

    >>> upper_hull([(1, 1.0), (2, 4.0), (3, 3.0), (4, 6.0)])
    [(2, 4.0), (4, 6.0)]
    """
    corners: list[tuple[CountT, float]] = []
    for count, value in points:
        if value <= (corners[-1][1] if corners else 0.0):
            continue
        while corners:
            last, height = corners[-1]
            before, low = corners[-2] if len(corners) > 1 else (0, 0.0)
            if (height - low) * (count - last) > (value - height) * (last - before):
                break
            corners.pop()
        corners.append((count, value))
    return corners
