"""Damaged proofs: changes at random of good ones, and whether what a file claims is still true, decided by other means."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel
from proofs.writing import problem_lines


@dataclass(frozen=True)
class Good:
    """A true proof, its model and the model's optimum; None: it has no solution."""

    name: str
    model: LinearModel
    text: str
    optimum: Fraction | None


Damage = Callable[[random.Random, Good, Sequence[Good]], str]


def section(text: str, name: str) -> tuple[int, int]:
    """Lines from a section's first to the one after its last."""
    order = ["VER", "VAR", "INT", "OBJ", "CON", "RTP", "SOL", "DER"]
    lines = text.splitlines()
    starts = [next(i for i, line in enumerate(lines) if line.startswith(word)) for word in order]
    place = order.index(name)
    return starts[place], [*starts, len(lines)][place + 1]


def within(name: str, pattern: str, new: Callable[[random.Random, re.Match[str]], str]) -> Damage:
    """Change one match of a pattern in a section."""

    def damage(random: random.Random, good: Good, others: Sequence[Good]) -> str:
        lines = good.text.splitlines()
        first, last = section(good.text, name)
        part = "\n".join(lines[first:last])
        found = list(re.finditer(pattern, part))
        if not found:
            return good.text
        match = random.choice(found)
        part = part[: match.start()] + new(random, match) + part[match.end() :]
        return "\n".join([*lines[:first], part, *lines[last:], ""])

    return damage


def changed(random: random.Random, match: re.Match[str]) -> str:
    """Another number, near or far."""
    old = Fraction(match[0])
    other = (old + 1, old - 1, -old, old * 2, old / 2, old + Fraction(1, 10**9), Fraction(random.randint(-9, 9)))
    return str(random.choice(other))


def line_dropped(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """A line of the derivation less, and its count one less, or any line less."""
    lines = good.text.splitlines()
    first, last = section(good.text, "DER")
    if random.random() < 0.5 and last - first > 1:
        del lines[random.randrange(first + 1, last)]
        lines[first] = f"DER {last - first - 2}"
    else:
        del lines[random.randrange(len(lines))]
    return "\n".join([*lines, ""])


def of_another(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """A section of another proof."""
    other = random.choice(others)
    name = random.choice(["VAR", "INT", "OBJ", "CON", "RTP", "SOL", "DER"])
    (first, last), (begin, end) = section(good.text, name), section(other.text, name)
    lines, strange = good.text.splitlines(), other.text.splitlines()
    return "\n".join([*lines[:first], *strange[begin:end], *lines[last:], ""])


def bound_raised(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """The bound of the last line and of the range, both: what cheats would do."""
    lines = good.text.splitlines()
    at = section(good.text, "RTP")[0]
    more = random.choice([Fraction(1), Fraction(1, 2), Fraction(1, 10**12)])
    words = lines[at].split()
    last = lines[-1].split()
    if words[1] != "range":
        return good.text
    up = good.model.sense is Sense.MINIMIZE
    for i in (2, 3):
        if "inf" not in words[i] and (i == 2 or random.random() < 0.5 or not up):
            words[i] = str(Fraction(words[i]) + (more if up else -more))
    last[2] = str(Fraction(last[2]) + (more if up else -more))
    lines[at], lines[-1] = " ".join(words), " ".join(last)
    return "\n".join([*lines, ""])


def row_loosened(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """A side of a row of the file that lets more in, or less."""
    return within("CON", r"(?<= [GLE] )-?\d+(/\d+)?", changed)(random, good, others)


def row_added(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """A row that the model does not have, at the end of the rows."""
    lines = good.text.splitlines()
    first, last = section(good.text, "CON")
    count, bounds = map(int, lines[first].split()[1:])
    lines[first] = f"CON {count + 1} {bounds}"
    return "\n".join([*lines[:last], f"more {random.choice('GLE')} {random.randint(-3, 3)} 1 0 1", *lines[last:], ""])


def swapped(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """Two words in each other's place."""
    words = re.split(r"(\s+)", good.text)
    first, second = (2 * random.randrange(len(words) // 2) for _ in range(2))
    words[first], words[second] = words[second], words[first]
    return "".join(words)


def flipped(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """Some bits of some bytes."""
    data = bytearray(good.text.encode())
    for _ in range(random.randint(1, 3)):
        data[random.randrange(len(data))] ^= 1 << random.randrange(7)
    return data.decode("latin-1")


def cut(random: random.Random, good: Good, others: Sequence[Good]) -> str:
    """The beginning of the file only."""
    return good.text[: random.randrange(len(good.text))]


NUMBER = r"(?<= )-?\d+(/\d+)?(?= |$)"
DAMAGES: dict[str, Damage] = {
    "line dropped": line_dropped,
    "number changed": within("DER", NUMBER, changed),
    "bound raised": bound_raised,
    "part of another": of_another,
    "assumption not discharged": within(
        "DER", r"uns (\d+) (\d+)", lambda r, m: f"lin 1 {m[1]} 1" if r.random() < 0.5 else f"uns {m[1]} {m[1]}"
    ),
    "index shifted": within("DER", r"(?<= )\d+(?= )", lambda r, m: str(int(m[0]) + r.choice([-2, -1, 1, 2]))),
    "row loosened": row_loosened,
    "row added": row_added,
    "sign of a multiplier": within("DER", NUMBER, lambda r, m: str(-Fraction(m[0]))),
    "last use": within("DER", r"(?<=\} )-?\d+", lambda r, m: str(r.randint(-2, 20))),
    "sense": within("DER", r"(?<= )[GLE](?= )", lambda r, m: r.choice("GLE")),
    "sense of a row": within("CON", r"(?<= )[GLE](?= )", lambda r, m: r.choice("GLE")),
    "sense of the objective": within("OBJ", "min|max", lambda r, m: "max" if m[0] == "min" else "min"),
    "coefficient": within("CON", NUMBER, changed),
    "cost": within("OBJ", NUMBER, changed),
    "value of a solution": within("SOL", NUMBER, changed),
    "range": within(
        "RTP", NUMBER + "|-?inf", lambda r, m: changed(r, m) if "inf" not in m[0] else str(r.randint(-9, 9))
    ),
    "kind": within("DER", "asm|lin|rnd|uns", lambda r, m: r.choice(["asm", "lin", "rnd", "uns", "sol"])),
    "INT": within("INT", r"\d+", lambda r, m: str(r.randint(0, 4))),
    "words swapped": swapped,
    "bytes flipped": flipped,
    "cut": cut,
}


def claimed_truly(text: str, good: Good) -> bool:
    """Whether a text says what is true of the good proof's model: the problem is the same, the range holds the optimum."""
    words = [word.decode("latin-1") for word in text.encode("latin-1").split()]  # at blanks of ASCII only
    problem = " ".join(problem_lines(good.model)).split()
    names_of_rows = {i for i, word in enumerate(problem[:-1]) if problem[i + 1] in ("G", "L", "E")}
    same = [word for i, word in enumerate(words[: len(problem)]) if i not in names_of_rows]
    if same != [word for i, word in enumerate(problem) if i not in names_of_rows]:
        return False
    rest = words[len(problem) :]
    if rest[:2] == ["RTP", "infeas"]:
        return good.optimum is None
    if rest[:2] != ["RTP", "range"] or good.optimum is None:
        return rest[:4] == ["RTP", "range", "-inf", "inf"]
    low, high = (None if "inf" in word else Fraction(word) for word in rest[2:4])
    return (low is None or low <= good.optimum) and (high is None or good.optimum <= high)
