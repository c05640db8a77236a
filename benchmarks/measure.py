"""Time several ways of doing the same, in turns, and write a page of results with its raw numbers beside it.

Every turn calls every way once, one after the other, so that what slows the machine down slows all of them. Before each
call garbage is collected, off the clock; during it the collector is as Python leaves it, for all ways alike. What a call
returned is freed off the clock too. Times are medians over turns; a ratio is that of two medians, with the least and the
largest ratio within one turn. Ways that answer the same question have to agree: other answers are an error.
"""

import argparse
import gc
import json
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from table import machine, markdown

T = TypeVar("T")
RESULTS = Path(__file__).parent / "results"
TURNS = (
    "What is compared takes turns, one thread at a time, garbage collected before every call. Times are medians over turns, "
    "ratios those of medians, with the least and the largest ratio within one turn in brackets."
)


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians, and the least and the largest ratio of the turns that both ways took part in."""

    value: float
    least: float
    largest: float

    def __format__(self, form: str) -> str:
        if self.least == self.largest:
            return format(self.value, form)
        return f"{self.value:{form}} ({self.least:{form}} .. {self.largest:{form}})"


@dataclass(frozen=True)
class Timing(Generic[T]):
    """Seconds and answers of one way, by turn."""

    seconds: Sequence[float]
    answers: Sequence[T]

    @property
    def median(self) -> float:
        """Seconds of the median turn."""
        return statistics.median(self.seconds)

    def over(self, unit: "Timing[T]") -> Ratio:
        """How many times as long this way takes as another one."""
        turns = [ours / theirs for ours, theirs in zip(self.seconds, unit.seconds, strict=False)]
        return Ratio(self.median / unit.median, min(turns), max(turns))


def measure(
    ways: Mapping[str, Callable[[int], T]],
    repeat: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
    enough_s: float = math.inf,
    keep: Callable[[T], T] = lambda answer: answer,
    same: Callable[[T, T], bool] | None = None,
    units: Collection[str] = (),
    stated_s: Callable[[T], float] | None = None,
) -> dict[str, Timing[T]]:
    """Call every way in turns.

    Parameters
    ----------
    ways
        By label what to time; it gets the number of the turn, from 0.
    repeat
        Turns.
    clock
        Seconds: on the wall, or ``time.process_time``.
    enough_s
        A way that has taken so many seconds in all takes part in no further turn.
    keep
        What of an answer is kept, and compared; made off the clock.
    same
        Whether two answers of a turn agree; every way's is compared with the first way's.
    units
        Labels of ways that answer another question, such as sorting as a unit of time; never compared.
    stated_s
        The seconds that an answer states itself, where a call times a part of what it does.

    Raises
    ------
    RuntimeError
        Answers differ.
    """
    seconds: dict[str, list[float]] = {label: [] for label in ways}
    answers: dict[str, list[T]] = {label: [] for label in ways}
    for turn in range(repeat):
        for label, way in ways.items():
            if sum(seconds[label]) >= enough_s:
                continue
            gc.collect()
            begin = clock()
            answer = way(turn)
            taken = clock() - begin
            seconds[label].append(taken if stated_s is None else stated_s(answer))
            answers[label].append(keep(answer))
            del answer
        held = [(label, kept[turn]) for label, kept in answers.items() if turn < len(kept) and label not in units]
        for label, answer in held[1:] if same else ():
            first, reference = held[0]
            if not same(reference, answer):
                raise RuntimeError(f"answers differ: {first} {reference}, {label} {answer}")
    return {label: Timing(seconds[label], answers[label]) for label in ways}


def peak_bytes(call: Callable[[], object]) -> int:
    """Peak of the memory that a call allocates, beyond what is held before; not to be timed."""
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    call()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


class Page:
    """A page of results in the making: paragraphs, and raw numbers by name.

    ``path`` is where it will be written, None if nowhere; ``options`` are those of the command line.
    """

    def __init__(self, options: argparse.Namespace, path: Path | None) -> None:
        self.options, self.quick, self.path = options, bool(options.quick), path
        self.text: list[str] = []
        self.raw: dict[str, object] = {}

    def add(self, *paragraphs: str) -> None:
        """Append text."""
        self.text += paragraphs

    def table(self, columns: str, rows: Sequence[str]) -> None:
        """Append a table; heads and cells are separated by `` | ``."""
        split = [line.split(" | ") for line in (columns, *rows)]
        if len({len(cells) for cells in split}) > 1:
            raise ValueError(f"a table of unequal rows: {rows}")
        self.text.append(markdown(split[0], split[1:]).rstrip("\n"))

    def picture(self, suffix: str) -> Path | None:
        """Where a picture of the page goes, None if nowhere."""
        return None if self.path is None else self.path.with_name(f"{self.path.stem}{suffix}.png")

    def measure(
        self, case: str, ways: Mapping[str, Callable[[int], T]], repeat: int, **how: object
    ) -> dict[str, Timing[T]]:
        """Measure, note all seconds under the name of the case, and say so on standard error."""
        found = measure(ways, repeat, **how)  # type: ignore[arg-type]
        self.raw[case] = {label: timing.seconds for label, timing in found.items()}
        print(f"{case}:", *(f"{label} {timing.median:.4g} s" for label, timing in found.items()), file=sys.stderr)
        return found


def present(title: str, doc: str, fill: Callable[[Page], None], *, how: str = TURNS, **paths: Path | None) -> None:
    """Be the command line of a benchmark: fill its page, print it, and write it with its raw numbers beside it.

    ``doc`` is the docstring of the benchmark: its question, with which the page begins, and its protocol, with which it ends.
    ``how`` ends it: by default, how times are measured. Further paths are options, with defaults.
    """
    script = Path(sys.argv[0])
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; no page, unless --page says where")
    parser.add_argument("--page", type=Path, help=f"where to write (default: benchmarks/results/{script.stem}.md)")
    for name, default in paths.items():
        parser.add_argument(f"--{name}", type=Path, default=default, help=f"default: {default}")
    options = parser.parse_args()
    path = options.page or (None if options.quick else RESULTS / f"{script.stem}.md")
    page = Page(options, path)
    begin = time.perf_counter()
    fill(page)
    command = f"python benchmarks/{script.name}{' --quick' if options.quick else ''}"
    asked, _, protocol = doc.replace("``", "`").strip().partition("\n\n")
    made = f"`{command}`, {machine()}, {time.perf_counter() - begin:.0f} s in all.{f' {how}' if how else ''}"
    text = "\n\n".join([f"# {title}", f"*{asked}*", *page.text, f"## Protocol\n\n{protocol}", made]) + "\n"
    print(text, end="")
    if path is not None:
        path.write_text(text, encoding="utf-8")
        raw = {"command": command, "machine": machine(), "measured": page.raw}
        path.with_suffix(".json").write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
