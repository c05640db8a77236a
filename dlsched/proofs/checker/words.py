"""The words of a proof in VIPR, read as a stream: numbers in one spelling only, limits on bytes, digits, work and memory."""

import re
import zlib
from functools import lru_cache
from math import gcd
from typing import BinaryIO

from dlsched.core.errors import InputError, ProofError, ProofSizeError
from dlsched.core.messages import shown

LARGEST_FILE, LONGEST_WORD, PART, BATCH = 2**30, 4000, 2**19, 1024
WORK = 4 * 10**10  # steps of about a nanosecond
HELD = 10**7  # numbers of up to 512 bits that are kept at a time: less than a gigabyte
NUMBER = re.compile(rb"(0|-?[1-9][0-9]*)(?:/(?!1$)([1-9][0-9]*))?")
Number = tuple[int, int]  # a reduced fraction


@lru_cache(maxsize=2**14)
def number_of(word: bytes) -> Number:
    """Read a number; ValueError for any spelling but 0, 12, -12, 3/4 and -3/4."""
    found = NUMBER.fullmatch(word)
    number = (int(found[1]), int(found[2] or 1)) if found else (0, 0)
    if gcd(*number) != 1:
        raise ValueError
    return number


class Words:
    """The words of a stream after the comments at its head; ``name`` is for messages."""

    def __init__(self, stream: BinaryIO, name: str = "proof") -> None:
        self._stream, self.name, self._line, self._whole = stream, name, 1, False
        self._left, self._work, self._held = LARGEST_FILE, WORK, HELD
        self._words, self._at, self._tail = list[bytes](), 0, b""
        self.comments: dict[str, str] = {}
        while (line := self._read()).startswith(b"% "):
            key, _, value = (part.strip() for part in line[2:].decode("utf-8", "replace").partition(":"))
            self.hold(1000 + len(line) // 64)  # ten thousand comments at most
            if self.comments.setdefault(key, value) != value:
                raise self.wrong(f"another comment {shown(key)}", "each once")
        self._split(line)

    def spend(self, steps: int) -> None:
        """Count work, and refuse a proof that takes more than about a minute."""
        self._work -= steps
        if self._work < 0:
            raise self.wrong("more work than a minute's", "a shorter proof, or shorter numbers", ProofSizeError)

    def hold(self, numbers: int) -> None:
        """Count numbers kept from now on (below 0: let go), and refuse a proof that needs a gigabyte."""
        self._held -= numbers
        if self._held < 0:
            raise self.wrong("lines of a gigabyte still to be used", "last uses that come sooner", ProofSizeError)

    def wrong(self, found: str | bytes, allowed: str, kind: type[InputError] = InputError) -> InputError:
        """Refuse what was just read as no part of a proof."""
        text = found if isinstance(found, str) else shown(found.decode("utf-8", "replace"))
        return kind(where=f"{self.name}: line {self._line}", found=text, allowed=allowed)

    def false(self, sentence: str) -> ProofError:
        """Say that what was just read states what is not so."""
        return ProofError(sentence, where=f"{self.name}: line {self._line}")

    def take(self, count: int) -> list[bytes]:
        """Take some words."""
        while len(self._words) < self._at + count:
            if not (line := self._read()):
                raise self.wrong("the end of the file", "more words")
            self._split(line)
        self._at += count
        self.spend(250 * count)
        return self._words[self._at - count : self._at]

    def next(self, *allowed: bytes) -> bytes:
        """Take a word, one of those if any are said."""
        word = self.take(1)[0]
        if allowed and word not in allowed:
            raise self.wrong(word, " or ".join(map(bytes.decode, allowed)))
        return word

    def number(self, word: bytes | None = None) -> Number:
        """Read a word, by default the next, as a number."""
        word = word or self.next()
        try:
            return number_of(word)
        except ValueError:
            raise self.wrong(word, "a number as -12 or 3/4, reduced") from None

    def index(self, limit: int = 10**9, word: bytes | None = None) -> int:
        """Read a word, by default the next, as a number from 0 to below the limit."""
        index, over = self.number(word := word or self.next())
        if over > 1 or not 0 <= index < limit:
            raise self.wrong(word, f"a number from 0, below {limit}")
        return index

    def pairs(self, limit: int, word: bytes | None = None) -> tuple[list[int], list[Number]]:
        """Take a count, or read it from a word, and as many indices below the limit, each once, with a number each."""
        count, indices, numbers = self.index(limit + 1, word), list[int](), list[Number]()
        while len(indices) < count:
            found = [self.number(word) for word in self.take(2 * min(BATCH, count - len(indices)))]
            if any(over > 1 or not 0 <= index < limit for index, over in found[::2]):
                raise self.wrong("another index in a list", f"one from 0, below {limit}")
            indices += [index for index, _ in found[::2]]
            numbers += found[1::2]
        if len(set(indices)) < count:
            raise self.wrong("an index twice in a list", "once")
        return indices, numbers

    def end(self) -> None:
        """Refuse further words."""
        while self._at == len(self._words) and (line := self._read()):
            self._split(line)
        if self._at < len(self._words):
            raise self.wrong(self._words[self._at], "nothing after the last line")

    def _split(self, line: bytes) -> None:
        """Add the words of a line; a long one comes in parts, at whose ends words may be cut."""
        words = line.split()
        self._tail = b"" if len(line) < PART or not words or line[-1:].isspace() else words.pop()
        if max(map(len, (*words, self._tail)), default=0) > LONGEST_WORD:
            raise self.wrong(f"a word of more than {LONGEST_WORD} characters", "shorter ones", ProofSizeError)
        self._words, self._at = self._words[self._at :] + words, 0

    def _read(self) -> bytes:
        """Read a line, or a part of it after the word that was cut."""
        self._line += self._whole
        try:
            part = self._stream.readline(PART)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.name}: cannot be read: {error}") from None
        self._whole, self._left = part.endswith(b"\n"), self._left - len(part)
        self.spend(500 + 25 * len(part))
        if self._left < 0:
            raise self.wrong("more than 2**30 bytes", "a smaller file", ProofSizeError)
        return self._tail + part
