"""The words of a proof, read as a stream: numbers in one spelling only, and limits on bytes, digits, work and memory."""

import re
import zlib
from collections.abc import Callable
from functools import lru_cache
from math import gcd
from typing import BinaryIO, TypeVar

from dlsched.core.errors import InputError, ProofError
from dlsched.core.messages import shown

LARGEST_FILE, LONGEST_WORD, PART, BATCH = 2**30, 4000, 2**19, 4096
WORK = 4 * 10**10  # steps of about a nanosecond
HELD = 10**7  # numbers of up to 512 bits that are kept at a time: less than a gigabyte
NUMBER = re.compile(rb"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")
ResultT = TypeVar("ResultT")
Number = tuple[int, int]
"""A reduced fraction: numerator and denominator."""


@lru_cache(maxsize=2**14)
def number_of(word: bytes) -> Number:
    """Read a number; ValueError for any spelling but 0, 12, -12, 3/4 and -3/4."""
    found = NUMBER.fullmatch(word)
    number = (int(found[1]), int(found[2] or 1)) if found else (0, 0)
    if gcd(*number) != 1:
        raise ValueError("a number as -12 or 3/4, reduced")
    return number


def index_of(word: bytes, limit: int) -> int:
    """Read a number from 0 to below the limit; ValueError for anything else."""
    if not word.isdigit() or len(word) > 10 or (word[0] == ord("0") and len(word) > 1) or int(word) >= limit:
        raise ValueError(f"a number from 0, below {limit}")
    return int(word)


class Words:
    """The words of a stream after the comments at its head; ``name`` is for messages."""

    def __init__(self, stream: BinaryIO, name: str = "proof") -> None:
        self._stream, self._name = stream, name
        self._left, self._work, self._held = LARGEST_FILE, WORK, HELD
        self._text = self._tail = b""  # what was read last, and the beginning of a word at its end
        self._words: list[bytes] = []
        self._at = self._taken = self._first = 0  # the next word here; words taken in all, and before the text
        self._line, self._ended = 1, False
        self.comments: dict[str, str] = {}
        text = self._read()
        while text.startswith(b"% "):
            comment, end, text = text.partition(b"\n")
            key, _, value = (part.strip() for part in comment[2:].decode("utf-8", "replace").partition(":"))
            if self.comments.setdefault(key, value) != value:
                raise self.wrong(f"another comment {shown(key)}", "each once")
            self._line += len(end)
        self._split(text)

    def spend(self, steps: int) -> None:
        """Count work, and refuse a proof that takes more than about a minute."""
        self._work -= steps
        if self._work < 0:
            raise self.wrong("more work than a minute's", "a shorter proof, or shorter numbers")

    def hold(self, numbers: int) -> None:
        """Count numbers kept from now on (below 0: let go), and refuse a proof that needs a gigabyte."""
        self._held -= numbers
        if self._held < 0:
            raise self.wrong("lines of a gigabyte that are still to be used", "last uses that come sooner")

    def wrong(self, found: str, allowed: str) -> InputError:
        """Refuse the word taken last as no part of a proof."""
        return InputError(where=self._place(), found=found, allowed=allowed)

    def false(self, sentence: str) -> ProofError:
        """Say that what was just read states what is not so."""
        return ProofError(sentence, where=self._place())

    def take(self, count: int) -> list[bytes]:
        """Take some words."""
        while len(self._words) - self._at < count:
            self._more()
        self._at += count
        self._taken += count
        self.spend(250 * count)
        return self._words[self._at - count : self._at]

    def expect(self, *allowed: bytes) -> bytes:
        """Take a word that is one of those."""
        (word,) = self.take(1)
        if word not in allowed:
            raise self.wrong(said(word), " or ".join(map(bytes.decode, allowed)))
        return word

    def number(self) -> Number:
        """Take a number."""
        return self._as(number_of, *self.take(1))

    def index(self, limit: int = 10**9) -> int:
        """Take a number from 0 to below the limit."""
        return self._as(lambda word: index_of(word, limit), *self.take(1))

    def number_or(self, none: bytes) -> Number | None:
        """Take a number, or that word for none."""
        (word,) = self.take(1)
        return None if word == none else self._as(number_of, word)

    def index_or(self, none: bytes, limit: int = 10**9) -> int | None:
        """Take a number from 0 to below the limit, or that word for none."""
        (word,) = self.take(1)
        return None if word == none else self._as(lambda word: index_of(word, limit), word)

    def pairs(self, count: int, limit: int) -> tuple[list[int], list[Number]]:
        """Take indices below the limit, each at most once, with a number each."""
        indices: list[int] = []
        numbers: list[Number] = []
        while len(indices) < count:
            words = self.take(2 * min(BATCH, count - len(indices)))
            try:
                indices += [index_of(word, limit) for word in words[::2]]
                numbers += map(number_of, words[1::2])
            except ValueError as error:
                raise self.wrong(f"another word in a list of {count} pairs", str(error)) from None
        if len(set(indices)) < count:
            raise self.wrong("an index twice in a list", "once")
        return indices, numbers

    def end(self) -> None:
        """Refuse further words."""
        while not self._ended:
            self._more()
        if self._at < len(self._words):
            raise self.wrong(f"{said(self._words[self._at])} after the last line", "nothing")

    def _as(self, read: Callable[[bytes], ResultT], word: bytes) -> ResultT:
        try:
            return read(word)
        except ValueError as error:
            raise self.wrong(said(word), str(error)) from None

    def _more(self) -> None:
        """Read a part of the file."""
        if self._ended:
            raise self.wrong("the end of the file", "more words")
        self._line += self._text.count(b"\n") - self._tail.count(b"\n")
        self._split(self._tail + self._read())

    def _split(self, text: bytes) -> None:
        self._text, words = text, text.split()
        self._first = self._taken + len(self._words) - self._at
        self._tail = b"" if self._ended or not words or text[-1:].isspace() else words.pop()
        if max(map(len, [*words, self._tail]), default=0) > LONGEST_WORD:
            raise self.wrong(f"a word of more than {LONGEST_WORD} characters", "shorter ones")
        self._words, self._at = self._words[self._at :] + words, 0

    def _read(self) -> bytes:
        try:
            part = self._stream.read(PART)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self._name}: cannot be read: {error}") from None
        self._left -= len(part)
        self._ended = not part
        self.spend(25 * len(part))
        if self._left < 0:
            raise self.wrong("more than 2**30 bytes", "a smaller file")
        return part

    def _place(self) -> str:
        """Name the line of the word taken last."""
        left, line = self._taken - self._first, self._line
        for text in self._text.split(b"\n"):
            left -= len(text.split())
            if left <= 0:
                break
            line += 1
        return f"{self._name}: line {line}"


def said(word: bytes) -> str:
    """Write a word for a message."""
    return shown(word.decode("utf-8", "replace"))
