"""What the families' generators require of the arguments that they share."""

import math
from collections.abc import Collection

from dlsched.core.errors import UsageError


def require_arguments(presets: Collection[str], preset: str, seed: int, **counts: int | None) -> None:
    """Refuse an unknown preset, a count below 1 (None: not given) or a negative seed.

    Raises
    ------
    UsageError
        Names the first such argument, what was found and what is allowed.

    >>> require_arguments(["mixed"], "mixed", 0, jobs=10, gpus=0)
    Traceback (most recent call last):
    dlsched.core.errors.UsageError: gpus: found 0, allowed: an integer >= 1
    """
    if preset not in presets:
        raise UsageError(f"preset: found {preset!r}, allowed: {', '.join(presets)}")
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise UsageError(f"{name}: found {value}, allowed: an integer >= 1")
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed: found {seed}, allowed: an integer >= 0")


def require_positive(**numbers: float | None) -> None:
    """Refuse a number that is not finite and > 0 (None: not given).

    Raises
    ------
    UsageError
        Names the first such argument, what was found and what is allowed.
    """
    for name, number in numbers.items():
        if number is not None and not 0 < number < math.inf:
            raise UsageError(f"{name}: found {number}, allowed: a number > 0")
