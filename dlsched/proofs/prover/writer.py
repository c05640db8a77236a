"""Writes a proof as a file in the format VIPR 1.0: the model, the range, the best point and the derivation."""

import contextlib
import gzip
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import BinaryIO

from dlsched.core.files import whole_file
from dlsched.proofs.prover.derivation import Derivation, number
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.search import Point


def write_lines(lines: Iterable[bytes], path: str | os.PathLike[str]) -> None:
    """Write lines, with their ends, to a file that appears whole or not at all; compressed if its name ends with ``.gz``.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    with whole_file(path) as stream, _compressed(stream, path) as packed:
        packed.writelines(lines)


@contextlib.contextmanager
def _compressed(stream: BinaryIO, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Compress what is written if the file's name asks for it, the same bytes for the same lines."""
    if not os.fspath(path).endswith(".gz"):
        yield stream
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def proof_lines(
    exact: ExactModel,
    comments: Mapping[str, str],
    point: Point | None,
    derivation: Derivation | None,
    *,
    infeasible: bool = False,
    problem: Iterable[str] | None = None,
) -> Iterator[str]:
    """Yield the lines of a proof.

    Parameters
    ----------
    exact
        The model.
    comments
        What the head says, by key.
    point
        The best point known.
    derivation
        What is proven of the objective, or that there is no point (``infeasible``); None: nothing.
    infeasible
        Whether the derivation proves that there is no point.
    problem
        What ``problem_lines`` yields, where it is at hand.
    """
    for key, text in comments.items():
        yield f"% {key}: {_printable(text)}"
    yield from problem_lines(exact) if problem is None else problem
    lower = None if derivation is None else derivation.proven
    upper = None if point is None else exact.objective(point)
    if infeasible:
        yield "RTP infeas"
    else:
        low, high = (lower, upper) if exact.sign > 0 else (_minus(upper), _minus(lower))
        yield f"RTP range {'-inf' if low is None else low} {'inf' if high is None else high}"
    yield f"SOL {0 if point is None else 1}"
    if point is not None:
        used = [f"{j} {value}" for j, value in enumerate(point) if value]
        yield " ".join(("best", str(len(used)), *used))
    yield f"DER {0 if derivation is None else derivation.count()}"
    if derivation is not None:
        yield from derivation.lines()


def problem_lines(exact: ExactModel) -> Iterator[str]:
    """Yield the lines of the problem."""
    model = exact.model
    yield "VER 1.0"
    yield f"VAR {exact.variables}"
    yield " ".join(_word(name, "x") for name in model.names)
    whole = [str(j) for j, integer in enumerate(exact.integer) if integer]
    yield f"INT {len(whole)}"
    yield " ".join(whole)
    yield f"OBJ {'max' if exact.sign < 0 else 'min'}"
    yield _terms(((j, exact.sign * cost) for j, cost in enumerate(exact.costs)), exact.scale)
    yield from _constraints(exact)


def _constraints(exact: ExactModel) -> Iterator[str]:
    """Yield the rows: the bounds of the variables first."""
    yield f"CON {exact.rows} {exact.bounds}"
    unit = 1 << exact.sides
    for j in range(exact.variables):
        for name, sense, bound in (("l", "G", exact.lower[j]), ("u", "L", exact.upper[j])):
            if bound is not None:
                yield f"{name}_{j} {sense} {number(bound, unit)} 1 {j} 1"
    for i, name in enumerate(exact.model.row_names[: exact.own]):
        low, high, word = exact.row_lower[i], exact.row_upper[i], _word(name, f"r_{i}")
        terms = _terms(zip(exact.columns[i], exact.values[i], strict=True), exact.scale)
        if low is not None and low == high:
            yield f"{word} E {number(low, unit)} {terms}"
            continue
        if low is not None:
            yield f"{word} G {number(low, unit)} {terms}"
        if high is not None:
            yield f"{word if low is None else word + '_u'} L {number(high, unit)} {terms}"


def _terms(pairs: Iterable[tuple[int, int]], power: int) -> str:
    """Write pairs of an index and a whole number, in units of 2**-power."""
    unit = 1 << power
    listed = [f"{j} {number(value, unit)}" for j, value in pairs if value]
    return " ".join((str(len(listed)), *listed))


def _minus(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value


def _word(name: str, instead: str) -> str:
    """Make a name fit a word of the format."""
    word = re.sub(r"[^!-~]", "_", name)
    return "_" + word if word.startswith("%") else word or instead


def _printable(text: str) -> str:
    """Keep a comment on one line, in ASCII."""
    return re.sub(r"[^ -~]", "?", text)
