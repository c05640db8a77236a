"""Summary of the audits of several windows: equal sentences once, differing figures as least and most."""

from collections.abc import Sequence

from dlsched.traces.queue import Example, Figure, Piece, Sentence, sentence_of


def in_short(audits: Sequence[Sequence[str]]) -> list[Sentence]:
    """Merge sentences that differ only in figures, in order of first appearance.

    >>> from dlsched.traces.queue import figure
    >>> read, left = Sentence("Jobs read: 9."), [Sentence("Left out: ", figure(count), ".") for count in (2, 1000)]
    >>> in_short([[read, left[0]], [read, left[1]], [read]])
    ['Jobs read: 9.', 'Left out: 2 to 1,000 (2 of 3 windows).']
    """
    found: dict[tuple[str | type, ...], dict[int, Sentence]] = {}
    for window, audit in enumerate(audits):
        for sentence in map(sentence_of, audit):
            words = tuple(piece if isinstance(piece, str) else type(piece) for piece in sentence.pieces)
            found.setdefault(words, {})[window] = sentence
    return [_one(list(alike.values()), len(audits)) for alike in found.values()]


def _one(alike: Sequence[Sentence], windows: int) -> Sentence:
    """Merge sentences that have the same words."""
    said = "".join(map(_together, zip(*(sentence.pieces for sentence in alike), strict=True)))
    if len(alike) < windows:
        said = f"{said.removesuffix('.')} ({len(alike)} of {windows} windows)."
    return Sentence(said, warns=alike[0].warns)


def _together(pieces: Sequence[Piece]) -> str:
    """Merge the pieces at one position of sentences: equal words, figures, or examples."""
    figures = sorted(piece for piece in pieces if isinstance(piece, Figure))
    if figures:
        least, most = figures[0].text, figures[-1].text
        return least if least == most else f"{least} to {most}"
    first = pieces[0]
    if isinstance(first, Example):
        return first.text if len(set(pieces)) == 1 else f"{first.text}, and others"
    return str(first)
