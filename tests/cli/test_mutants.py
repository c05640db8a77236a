"""Mutants of valid instance files end in documented ways only: taken and solved in time, or refused with located messages.

The long run makes 100,000, and solves those that are taken with ``--time-limit 2`` in processes of their own, whose time and
memory are measured.
"""

import contextlib
import io
import json
import multiprocessing
import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli import run
from dlsched.core.errors import InputError
from dlsched.families import FAMILIES, read

DOCUMENTED = frozenset({0, 2, 3, 4, 5})
TIME_S = 3.0  # of CPU, for a limit of 2 s
KILLED_S = 30
LIMIT_BYTES = 2**30
CHUNK = 100
EXTREMES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 0.0, -0.0, 0.5, 1e-320, 1e-300, 1e-150, 1e-9, 1e9, 1e15, 1e16, 1e100, 1e150, 1e300, 1.7e308),
    *(2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**64, 10**30, 10**400, 1 << 40, 100_000, 1_000_000, 16_000_000),
    *(
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        "",
        "a",
        "0",
        "\x00",
        "é",
        "\ud800",
        "ꙮ" * 100,
        [],
        {},
        [[]],
        [0],
        {"a": 1},
    ),
)


def seeds() -> list[dict[str, Any]]:
    """Valid instances: every family's example, and one small instance of each preset."""
    found = [record.example().as_data() for record in FAMILIES.values()]
    for record in FAMILIES.values():
        for preset in record.presets:
            with contextlib.suppress(ValueError):  # a preset of fixed size
                found.append(record.generate(preset=preset, jobs=3, seed=1).as_data())
    return json.loads(json.dumps(found))


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every (object or list, key or position) of the data, but the format's."""
    found, todo = [], [data]
    while todo:
        item = todo.pop()
        steps = list(item) if isinstance(item, dict) else range(len(item))
        for step in steps:
            if step != "format":
                found.append((item, step))
            if isinstance(item[step], dict | list):
                todo.append(item[step])
    return found


def drop(inside: Any, step: Any, draw: random.Random) -> None:
    del inside[step]


def rename(inside: Any, step: Any, draw: random.Random) -> None:
    if isinstance(inside, dict):
        inside[draw.choice([f"{step}s", str(step).upper(), "", "é", f"{step}\x1b[2J", "1" * 400])] = inside.pop(step)


def extreme(inside: Any, step: Any, draw: random.Random) -> None:
    inside[step] = draw.choice(EXTREMES)


def scale(inside: Any, step: Any, draw: random.Random) -> None:
    if isinstance(inside[step], int | float) and not isinstance(inside[step], bool):
        scaled = inside[step] * draw.choice([-1, 0.5, 1.0 + 2e-16, 1e-300, 1e-30, 1e-9, 1e-3, 1e3, 1e9, 1e30, 1e300])
        inside[step] = int(scaled) if isinstance(inside[step], int) and abs(scaled) < 1e300 else scaled


def swap(inside: Any, step: Any, draw: random.Random) -> None:
    other = draw.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
    inside[step], inside[other] = inside[other], inside[step]


def repeat(inside: Any, step: Any, draw: random.Random) -> None:
    if isinstance(inside, list):
        inside[step:step] = [inside[step]] * draw.choice([1, 2, 50, 1000])
    else:
        inside[f"{step}2"] = inside[step]


def nest(inside: Any, step: Any, draw: random.Random) -> None:
    for _ in range(draw.choice([1, 2, 100])):
        inside[step] = [inside[step]] if draw.random() < 0.5 else {"a": inside[step]}


EDITS: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    drop,
    rename,
    extreme,
    extreme,
    scale,
    scale,
    swap,
    repeat,
    nest,
)


def mutant(draw: random.Random, valid: list[dict[str, Any]]) -> bytes:
    """One to three edits of the data, and seldom one of the bytes."""
    data = json.loads(json.dumps(draw.choice(valid)))
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        found = places(data)
        if found:
            draw.choice(EDITS)(*draw.choice(found), draw)
    text = json.dumps(data).encode("utf-8", "surrogatepass")
    if draw.random() < 0.1:
        cut = draw.randrange(len(text))
        text = draw.choice(
            [
                text[:cut],
                text[:cut] + bytes([draw.randrange(256)]) + text[cut + 1 :],
                text[:cut] + text[cut // 2 :],
                text[:cut] + b"[" * 100_000 + text[cut:],
                b"\xef\xbb\xbf" + text,
            ]
        )
    return text


def ending(path: Path, *arguments: str) -> tuple[int, str]:
    """Exit code of a command in this process, and what is wrong with how it ended: empty when it ended as documented."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*arguments, str(path)])
    printed, first = out.getvalue() + err.getvalue(), err.getvalue().split("\n")[0]
    if code not in DOCUMENTED or "Traceback" in printed:
        return code, f"exit {code}: {printed[-1000:]}"
    if code == 3 and (out.getvalue() or not (first.startswith(f"dlsched: {path}: ") and "found " in first)):
        return code, f"no located message: {printed[-1000:]}"
    if code == 2 and (out.getvalue() or not first.startswith("dlsched: ")):
        return code, f"no message: {printed[-1000:]}"
    if not all(map(str.isprintable, printed.split("\n"))):
        return code, f"what no terminal shows is printed: {printed!r:.1000}"
    return code, ""


def ending_of_its_own(path: Path) -> str:
    """What is wrong with how a limited solve ends in a process of its own: empty when it is well, in time and memory."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(KILLED_S)
        try:
            said = ending(path, "solve", "--time-limit", "2")[1]
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode("utf-8", "backslashreplace")[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    _, status, used = os.wait4(child, 0)
    used_s, used_bytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    if status:
        return f"killed after {used_s:.1f} s of CPU time, {used_bytes >> 20} MB"
    if used_s > TIME_S or used_bytes > LIMIT_BYTES:
        return f"{used_s:.1f} s of CPU time, {used_bytes >> 20} MB; {said}"
    return said


def taken(path: Path) -> bool:
    """Whether the instance is read."""
    try:
        read(path)
    except InputError:
        return False
    return True


def test_mutants_are_read_or_refused(tmp_path: Path) -> None:
    """A hundred: some are taken, more are refused, none ends in another way."""
    valid, draw, path = seeds(), random.Random(1), tmp_path / "mutant.json"
    codes: Counter[int] = Counter()
    for _ in range(100):
        path.write_bytes(mutant(draw, valid))
        code, said = ending(path, "solve", "--time-limit", "0")
        assert not said, f"{said}\n{path.read_bytes()[:2000]!r}"
        codes[code] += 1
    assert codes[3] > 35 and codes[0] > 6


def judged(first: int) -> list[tuple[int, str, bytes]]:
    """Complaints of the seeds from ``first`` on: number, words, file."""
    valid, found = seeds(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mutant.json")
        for number in range(first, first + CHUNK):
            content = mutant(random.Random(number), valid)
            path.write_bytes(content)
            said = ending_of_its_own(path) if taken(path) else ending(path, "solve")[1]
            if said:
                found.append((number, said, content))
    return found


def campaign(first: int, last: int) -> list[tuple[int, str, bytes]]:
    """Complaints of many seeds, on all processors."""
    with multiprocessing.get_context("spawn").Pool() as pool:
        chunks = pool.imap_unordered(judged, range(first, last, CHUNK))
        return [complaint for chunk in chunks for complaint in chunk]


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_a_hundred_thousand_mutants_end_as_documented(part: int) -> None:
    """Each that is taken is solved within 3 s of CPU time and 1 GB."""
    complaints = campaign(25_000 * part, 25_000 * part + 25_000)
    assert not complaints, "\n".join(f"{number}: {said} {content[:300]!r}" for number, said, content in complaints[:20])
