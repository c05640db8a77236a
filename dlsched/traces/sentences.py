"""Audit sentences that keep their figures, so that sentences of several windows can be merged."""

from collections.abc import Iterable
from typing import NamedTuple, Self


class Figure(NamedTuple):
    """A number in a sentence, and its format there."""

    value: float
    text: str


class Example(NamedTuple):
    """One of several things that could be said there: of several windows the first is."""

    text: str


Piece = str | Figure | Example


def figure(value: float, form: str = ",") -> Figure:
    """Return a number as it is written in sentences.

    >>> figure(1200).text, figure(95.04, ",.1f").text
    ('1,200', '95.0')
    """
    return Figure(value, format(value, form))


class Sentence(str):
    """A text with its pieces.

    Parameters
    ----------
    pieces
        Words, figures and examples, in turn or not.
    warns
        Whether it is shown for every cluster, not only for the first.

    >>> Sentence("Jobs read: ", figure(1200), ".")
    'Jobs read: 1,200.'
    """

    __slots__ = ("pieces", "warns")

    pieces: tuple[Piece, ...]
    warns: bool

    def __new__(cls, *pieces: Piece, warns: bool = False) -> Self:
        """Write the pieces out."""
        made = super().__new__(cls, "".join(piece if isinstance(piece, str) else piece.text for piece in pieces))
        made.pieces, made.warns = tuple(piece for piece in pieces if piece), warns
        return made


def listed(counts: Iterable[tuple[str, int, str]]) -> list[Piece]:
    """Return the pieces of a list of what was counted: what, how often, and a word after the number.

    >>> Sentence(*listed([("OK", 1200, ""), ("resnet", 3, " jobs")]))
    'OK (1,200), resnet (3 jobs)'
    """
    pieces: list[Piece] = []
    for what, count, after in counts:
        pieces += [f"{', ' if pieces else ''}{what} (", figure(count), f"{after})"]
    return pieces


def sentence_of(text: str) -> Sentence:
    """Return a text as a sentence, one without figures where it does not know any."""
    return text if isinstance(text, Sentence) else Sentence(text)
