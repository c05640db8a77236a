"""The audits of several windows in short: what they share is said once, numbers that differ as least and most."""

import re
from collections.abc import Sequence
from typing import Final

_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def in_short(audits: Sequence[Sequence[str]]) -> list[str]:
    """Sentences that differ in their numbers alone become one, in the order in which they first appear.

    >>> in_short([["Jobs read: 9.", "Left out: 2."], ["Jobs read: 9.", "Left out: 1,000."], ["Jobs read: 9."]])
    ['Jobs read: 9.', 'Left out: 2 to 1,000 (2 of 3 windows).']
    """
    found: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for window, audit in enumerate(audits):
        for sentence in audit:
            found.setdefault(tuple(_NUMBER.split(sentence)), {})[window] = _NUMBER.findall(sentence)
    return [_one(words, list(numbers.values()), len(audits)) for words, numbers in found.items()]


def _one(words: Sequence[str], numbers: Sequence[Sequence[str]], windows: int) -> str:
    ranges = [_range(each) for each in zip(*numbers, strict=True)]
    said = "".join(part for pair in zip(words, [*ranges, ""], strict=True) for part in pair)
    return said if len(numbers) == windows else f"{said.removesuffix('.')} ({len(numbers)} of {windows} windows)."


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(numbers, key=lambda number: float(number.replace(",", "")))
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"
