"""The page of proofs shows what it says, and its table of formulas is that of the proofs."""

import contextlib
import doctest
import io
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dlsched.worst.proving import prove

PAGE = (Path(__file__).parents[3] / "docs" / "worst_proofs.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_its_example_prints_what_it_shows(cli: Any, tmp_path: Path) -> None:
    """The proof, and what check says of it."""
    (_, code), (_, shown), (_, checked), _ = BLOCKS
    out, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    assert out.getvalue() == shown
    for name, data in (("worst", names["proven"].instance.as_data()), ("proof", names["proven"].as_data())):
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    ended = cli("check", tmp_path / "worst.json", tmp_path / "proof.json")
    assert ended.out == checked.partition("\n")[2]


def test_its_example_of_more_jobs_is_true() -> None:
    """A session of Python."""
    session = doctest.DocTestParser().get_doctest(BLOCKS[3][1], {}, "worst_proofs", None, None)
    assert doctest.DocTestRunner().run(session).failed == 0
    assert len(session.examples) == 3


def none(_: int, __: int) -> None:
    """No bound."""


FORMULAS: dict[tuple[str, str, str], Callable[[int, int], Fraction | None]] = {
    ("doubling", "powers", "monotone"): none,
    ("doubling", "powers", "sublinear"): lambda m, p: Fraction(p, 2),
    ("doubling", "powers", "convex"): lambda m, p: Fraction(2 * p + 2, p + 4),
    ("marginal", "all", "monotone"): none,
    ("marginal", "all", "sublinear"): lambda m, p: Fraction(m, 2),
    ("marginal", "all", "convex"): lambda m, p: Fraction(1),
    ("hull", "powers", "any"): lambda m, p: Fraction(p - 1),
    ("hull", "powers", "sublinear"): lambda m, p: Fraction(3 * p, p + 4),
    ("hull", "powers", "convex"): lambda m, p: Fraction(2 * p + 2, p + 4),
    ("hull", "all", "monotone"): lambda m, p: Fraction(m - 1),
    ("hull", "all", "sublinear"): lambda m, p: Fraction(2 * m - 1, m + 1),
    ("hull", "all", "convex"): lambda m, p: Fraction(1),
}


@pytest.mark.parametrize("case", FORMULAS)
@pytest.mark.parametrize(("jobs", "gpus"), [(2, 5), (2, 9), (3, 6)])
def test_its_formulas_are_what_is_proven(case: tuple[str, str, str], jobs: int, gpus: int) -> None:
    """Where C = P + J - 1."""
    method, counts, tables = case
    if (method, counts) == ("hull", "all"):
        gpus = 5
    most = gpus - jobs + 1
    found = prove("ring_allocation", method, jobs=jobs, gpus=gpus, tables=tables, counts=counts).supremum
    assert found == FORMULAS[case](most, 1 << (most.bit_length() - 1))
