"""Names that every LP reader accepts, made from ids."""

import re
from collections.abc import Sequence

_PLAIN = re.compile(r"[A-Za-z0-9_]{1,64}")


def plain_labels(ids: Sequence[str], letter: str) -> list[str]:
    """Return the ids where all are plain and differ in more than case, else ``letter`` and the position.

    >>> plain_labels(["a", "b"], "j"), plain_labels(["a b", "c"], "j")
    (['a', 'b'], ['j0', 'j1'])
    """
    if all(map(_PLAIN.fullmatch, ids)) and len({name.lower() for name in ids}) == len(ids):
        return list(ids)
    return [f"{letter}{index}" for index in range(len(ids))]


def separable_labels(ids: Sequence[str], letter: str) -> list[str]:
    """Return plain labels without underscores, so that names joined by them stay different.

    >>> separable_labels(["a", "b"], "j"), separable_labels(["a_b", "c"], "j")
    (['a', 'b'], ['j0', 'j1'])
    """
    labels = plain_labels(ids, letter)
    return [f"{letter}{index}" for index in range(len(labels))] if any("_" in label for label in labels) else labels
