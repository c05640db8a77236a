"""What is no proof file, or takes too much: refused in words, with the line; and what is of another model."""

import io
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from dlsched.core.errors import DlschedError, InputError, ProofError
from dlsched.proofs.checker import Words, check_derivation, words
from proofs.writing import proof_text

from .test_rules import BEST, BOUND, TWO_JOBS, checked

TEXT = proof_text(TWO_JOBS, "range 6 6", [BEST], [BOUND])
ALL = "0 1 2 3"

# What is replaced by what: error, words of the message, whether viprchk accepts it; None: it depends on its memory.
REPLACED: dict[str, tuple[str, str, type[DlschedError], str, bool | None]] = {
    "another version": ("VER 1.0", "VER 1.1", InputError, 'line 1: found "1.1"', True),
    "a maximum": ("OBJ min", "OBJ max", ProofError, "line 6: the model is to minimize", False),
    "another cost": ("1 2 2 5 3 2\nCON", "1 2 2 5 3 1\nCON", ProofError, "another objective", False),
    "a cost that is missing": ("4 0 4 1 2 2 5 3 2\nCON", "3 0 4 1 2 2 5\nCON", ProofError, "another objective", False),
    "another name": ("x0 x1", "x0 y1", ProofError, "line 3: the model has other variables", True),
    "a variable less": (
        "VAR 4\nx0 x1 x2 x3",
        "VAR 3\nx0 x1 x2",
        ProofError,
        "line 2: the model has other variables",
        False,
    ),
    "no INT": (f"INT 4\n{ALL}", "INT 0\n", ProofError, "line 4: the model has other integer", True),
    "an INT twice": (f"INT 4\n{ALL}", "INT 4\n0 1 2 2", ProofError, "line 5: the model has other integer", True),
    "INT in another order": (f"INT 4\n{ALL}", "INT 4\n1 0 2 3", ProofError, "other integer variables", True),
    "an INT out of range": (f"INT 4\n{ALL}", "INT 4\n0 1 2 7", ProofError, "other integer variables", None),
    "a bound that is tighter": ("l_1 G 0", "l_1 G 1", ProofError, "line 10: row 1 of the model", False),
    "another side": ("r2 L 3", "r2 L 4", ProofError, "row 6 of the model", False),
    "another sense": ("r2 L 3", "r2 G 3", ProofError, "row 6 of the model", False),
    "another coefficient": ("r0 E 1 2 0 1 1 1", "r0 E 1 2 0 1 1 2", ProofError, "row 4 of the model", False),
    "a row of another column": ("r0 E 1 2 0 1 1 1", "r0 E 1 2 0 1 2 1", ProofError, "row 4 of the model", False),
    "an added row": ("CON 7 4", "CON 8 4\nx G 9 1 0 1", ProofError, "line 8: the model has 7 rows", False),
    "fewer bounds": ("CON 7 4", "CON 7 3", ProofError, "4 of them bounds", True),
    "an index twice in a row": (
        "r0 E 1 2 0 1 1 1",
        "r0 E 1 3 0 9 0 1 1 1",
        InputError,
        "line 13: found an index twice",
        True,
    ),
    "an index twice in a sum": ("lin 4 4 6", "lin 5 4 9 4 6", InputError, "an index twice in a list", True),
    "an index twice in a solution": ("opt 2 0 1", "opt 3 0 9 0 1", InputError, "an index twice in a list", True),
    "an index out of range": ("opt 2 0 1", "opt 2 4 1", InputError, "below 4", None),
    "an index below 0": ("lin 4 4 6", "lin 4 -1 6", InputError, "below 7", False),
    "more terms than indices": (
        "lin 4 4 6",
        "lin 999999999 4 6",
        InputError,
        'found "999999999", allowed: a number',
        False,
    ),
    "a solution twice": ("SOL 1", f"SOL 2\n{BEST} 0", InputError, 'found "opt"', False),
    "a section that is missing": ("SOL 1\n" + BEST, "", InputError, 'found "DER", allowed: SOL', False),
    "words at the end": (
        "} -1\n",
        "} -1\nmore\n",
        InputError,
        'found "more", allowed: nothing after the last line',
        True,
    ),
    "a line more than counted": ("DER 1", "DER 0", InputError, "after the last line", False),
    "a line less than counted": ("DER 1", "DER 2", InputError, "the end of the file", True),
    "a count that nothing follows": ("DER 1", "DER 999999999", InputError, "the end of the file", True),
    "a count of ten digits": ("DER 1", "DER 9999999999", InputError, "a number from 0", False),
    "a file that is cut": (
        "{ lin 4 4 6 5 6 6 -2 2 1 } -1\n",
        "{ lin 4 4 6 5 6 6 -2 2 1 }",
        InputError,
        "the end",
        True,
    ),
    "no bracket": ("} -1", "] -1", InputError, 'line 20: found "]", allowed: }', False),
    "a last use below -1": ("} -1", "} -2", InputError, "a number from 0", True),
    "an octal number": ("range 6 6", "range 06 6", InputError, 'line 16: found "06"', True),
    "an octal multiplier": ("4 6 5 6", "4 06 5 6", InputError, "a number as", True),
    "a sign": ("4 6 5 6", "4 +6 5 6", InputError, "a number as", True),
    "a decimal": ("4 6 5 6", "4 6.0 5 6", InputError, "a number as", False),
    "an exponent": ("4 6 5 6", "4 1e999999999 5 6", InputError, "a number as", False),
    "an underscore": ("4 6 5 6", "4 6_0 5 6", InputError, "a number as", False),
    "Arabic digits": ("4 6 5 6", "4 \u0666 5 6", InputError, "a number as", False),
    "a fraction that is not reduced": ("4 6 5 6", "4 12/2 5 6", InputError, "reduced", True),
    "a fraction over 0": ("4 6 5 6", "4 6/0 5 6", InputError, "a number as", False),
    "a fraction over less than 0": ("4 6 5 6", "4 -6/-1 5 6", InputError, "a number as", False),
    "not a number": ("4 6 5 6", "4 nan 5 6", InputError, "a number as", False),
    "an infinite number": ("range 6 6", "range 6 -inf", InputError, 'found "-inf"', False),
    "the objective in a row": ("r0 E 1 2 0 1 1 1", "r0 E 1 OBJ", ProofError, "row 4 of the model", False),
    "a comment among the rows": ("r0 E", "% G\nr0 E", InputError, "line 13: found a comment", False),
    "a comment that is a row": ("r0 E", "% G 0 1 0 1\nr0 E", InputError, "line 13: found a comment", True),
    "a comment without a blank": ("VER 1.0", "%x\nVER 1.0", InputError, 'line 1: found "%x", allowed: VER', False),
    "two comments of one name": ("VER 1.0", "% a: 1\n% a: 2\nVER 1.0", InputError, 'another comment "a"', True),
    "another RTP": ("RTP range", "RTP about", InputError, "range or infeas", False),
    "a long word": ("bound G", f"{'b' * 5000} G", InputError, "more than 4000 characters", True),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_is_refused(name: str, tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """Ours names the line; viprchk accepts what is written beside it."""
    old, new, error, said, accepted = REPLACED[name]
    assert TEXT.count(old) == 1
    text = TEXT.replace(old, new)
    with pytest.raises(error, match=r"^proof: line \d+: ") as caught:
        checked(text, TWO_JOBS)
    assert said in str(caught.value)
    path = tmp_path / "proof.vipr"
    path.write_text(text, encoding="utf-8")
    assert accepted is None or viprchk(path, seconds=1) == accepted


def test_words_stand_anywhere() -> None:
    """Lines mean nothing, comments at the head are read."""
    assert checked(" ".join(TEXT.split()), TWO_JOBS) == checked("\n\n".join(TEXT.split()), TWO_JOBS)
    with_comments = Words(io.BytesIO(f"% instance: a: b\n% nothing\n{TEXT}".encode()))
    assert with_comments.comments == {"instance": "a: b", "nothing": ""}
    assert check_derivation(with_comments, TWO_JOBS) == checked(TEXT, TWO_JOBS)


class Endless(io.RawIOBase):
    """A stream of a head and then the same bytes, or those of a function of the line's number, again and again."""

    def __init__(self, head: str, line: bytes | Callable[[int], bytes]) -> None:
        self.held, self.line, self.number = head.encode(), line, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.held and isinstance(self.line, bytes):
            self.held = self.line * (2**16 // len(self.line))
        elif not self.held:
            self.held = b"".join(map(self.line, range(self.number, self.number + 500)))
            self.number += 500
        view = memoryview(buffer)
        count = min(len(view), len(self.held))
        view[:count], self.held = self.held[:count], self.held[count:]
        return count


START = TEXT[: TEXT.index("DER")] + "DER 999999999\n"
LONG, OVER = str(3**3700).encode(), str(2**6000).encode()


def assuming(number: int) -> bytes:
    """Two thousand assumptions, a line of all of them, and lines of that one."""
    if number < 2000:
        return b"a G 0 1 0 1 { asm } -1\n"
    used = range(2000) if number == 2000 else [number - 1]
    pairs = " ".join(f"{index + 7} 1" for index in used)
    return f"b G 0 1 0 2000 {{ lin {len(used)} {pairs} }} -1\n".encode()


def divided(number: int) -> bytes:
    """Numbers whose common denominators are long."""
    over = 3 ** (number % 1000 + 2600), 2 ** (5000 - number % 1000)
    return b"b G 0 4 0 1/%d 1 1/%d 2 1/%d 3 5/7 { asm } 0\n" % (*over, over[0])


BOMBS: dict[str, tuple[str, bytes | Callable[[int], bytes], str]] = {
    "blanks": ("", b" ", "more than 2**30 bytes"),
    "a word without an end": ("", b"1", "a word of more than 4000 characters"),
    "comments": ("", b"% a\n", "of a gigabyte"),
    "lines": (START, b"a G 0 1 0 1 { asm } 0\n", "more work than a minute's"),
    "lines in use": (START, b"a G 0 4 0 1 1 1 2 1 3 1 { asm } -1\n", "lines of a gigabyte"),
    "lines in use till later": (START, b"a G 0 OBJ { asm } 99999999\n", "lines of a gigabyte"),
    "sums": (START, b"a G 0 1 0 1 { lin 1 0 1 } 0\n", "more work than a minute's"),
    "assumptions": (START, assuming, "lines of a gigabyte"),
    "solutions": (TEXT[: TEXT.index("SOL")] + "SOL 999999999\n", b"opt 2 0 1 3 1\n", "more work than a minute's"),
    "long numbers": (START, b"a G %s/%s 1 0 %s/%s { asm } 0\n" % (LONG, OVER, LONG, OVER), "more "),
    "long numbers in use": (START, b"a G 0 2 0 %s 1 %s/%s { asm } -1\n" % (LONG, LONG, OVER), "more "),
    "long denominators": (START, divided, "more "),
}


def endure(name: str) -> None:
    """Read such a file until it is refused."""
    head, line, said = BOMBS[name]
    with pytest.raises(InputError) as caught:
        check_derivation(Words(cast(BinaryIO, io.BufferedReader(Endless(head, line)))), TWO_JOBS)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", BOMBS)
def test_work_and_memory_are_counted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits a hundredth of the true ones."""
    for limit in ("LARGEST_FILE", "WORK", "HELD"):
        monkeypatch.setattr(words, limit, getattr(words, limit) // 100)
    endure(name)


@pytest.mark.long
@pytest.mark.parametrize("name", BOMBS)
def test_nothing_takes_long(name: str) -> None:
    """Whatever a file of any size holds: less than a minute of this process, less than 2 GB."""
    began = time.process_time()
    endure(name)
    assert time.process_time() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20
