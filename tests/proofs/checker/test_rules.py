"""Each rule by a proof written by hand, with the verdict that follows from the rule; and viprchk's verdict beside it."""

import io
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import NamedTuple

import pytest

from dlsched.core.errors import InputError, ProofError
from dlsched.proofs.checker import Proven, Words, check_derivation
from dlsched.solvers.linear import LinearModel
from proofs.writing import model_of, proof_text


def checked(text: str | bytes, model: LinearModel) -> Proven:
    """Check a text against a model."""
    return check_derivation(Words(io.BytesIO(text if isinstance(text, bytes) else text.encode())), model)


# Two jobs of two counts each under one capacity: minimise 4 a1 + 2 a2 + 5 b1 + 2 b2, at most 3 GPUs. Best: a1, b2, 6.
TWO_JOBS = model_of(
    [4, 2, 5, 2],
    [(1, {0: 1, 1: 1}, 1), (1, {2: 1, 3: 1}, 1), (-inf, {0: 1, 1: 2, 2: 1, 3: 2}, 3)],
    bounds=[(0, inf)] * 4,
)
BOUND = "bound G 6 OBJ { lin 4 4 6 5 6 6 -2 2 1 } -1"
BEST = "opt 2 0 1 3 1"

# Minimise x0, at least 1/2, whole: rounding proves 1. And a real x1 that may be 1/2.
HALF = model_of([1, 1], [(1, {0: 2}, inf), (1, {1: 2}, inf)], real=[1])

# Maximise x + y with 2 x + 2 y <= 3: at most 1.
MOST = model_of([1, 1], [(-inf, {0: 2, 1: 2}, 3)], maximize=True)

# 1 <= 2 x <= 3/2 has no whole solution.
NONE = model_of([1], [(1, {0: 2}, 1.5)])

# Minimise y >= 3 x - 1, y >= 2 - 3 x, y >= 0 real: 2 in either case of x, though 1/2 at x = 1/2.
CASES = model_of([0, 1], [(-1, {0: -3, 1: 1}, inf), (2, {0: 3, 1: 1}, inf)], bounds=[(0, 1), (0, inf)], real=[1])
SPLIT = [
    "no L 0 1 0 1 { asm } 9",
    "yes G 1 1 0 1 { asm } 9",
    "c0 G 2 OBJ { lin 2 4 1 5 -3 } 9",
    "c1 G 2 OBJ { lin 2 3 1 6 3 } 9",
    "all G 2 OBJ { uns 7 5 8 6 } -1",
]

TRUE: dict[str, tuple[LinearModel, str, list[str], list[str], Proven]] = {
    "one line": (TWO_JOBS, "range 6 6", [BEST], [BOUND], Proven(Fraction(6), Fraction(6), False, 1, None)),
    "no solution asked": (TWO_JOBS, "range 6 inf", [], [BOUND], Proven(Fraction(6), None, False, 1, None)),
    "less is claimed than proven": (
        TWO_JOBS,
        "range 5 7",
        [BEST],
        [BOUND],
        Proven(Fraction(5), Fraction(6), False, 1, None),
    ),
    "nothing is claimed below": (TWO_JOBS, "range -inf 6", [BEST], [], Proven(None, Fraction(6), False, 1, None)),
    "two solutions": (
        TWO_JOBS,
        "range 6 6",
        ["other 2 1 1 2 1", BEST],
        [BOUND],
        Proven(Fraction(6), Fraction(6), False, 1, None),
    ),
    "rounding up": (
        HALF,
        "range 1 inf",
        [],
        ["up G 1 1 0 1 { rnd 1 4 1/2 } -1", "sum G 1 OBJ { lin 2 6 1 2 1 } -1"],
        Proven(Fraction(1), None, False, 1, None),
    ),
    "a maximum, rounded down": (
        MOST,
        "range 1 1",
        ["one 1 0 1"],
        ["down L 1 OBJ { rnd 1 4 1/2 } -1"],
        Proven(Fraction(1), Fraction(1), False, 1, None),
    ),
    "no solution exists": (
        NONE,
        "infeas",
        [],
        ["up G 1 1 0 1 { rnd 1 2 1/2 } -1", "no G 1/4 0 { lin 2 4 1 3 -1/2 } -1"],
        Proven(None, None, True, 1, None),
    ),
    "a split": (CASES, "range 2 2", ["best 2 0 1 1 2"], SPLIT, Proven(Fraction(2), Fraction(2), False, 2, None)),
    "a split, the upper case first": (
        CASES,
        "range 2 inf",
        [],
        [*SPLIT[:4], "all G 2 OBJ { uns 8 6 7 5 } -1"],
        Proven(Fraction(2), None, False, 2, None),
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_accepted(name: str, tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """By both checkers."""
    model, range_, solutions, derivation, proven = TRUE[name]
    text = proof_text(model, range_, solutions, derivation)
    assert checked(text, model)._replace(values=None) == proven
    path = tmp_path / "proof.vipr"
    path.write_text(text, encoding="ascii")
    assert viprchk(path)


def test_the_values_of_the_best_solution() -> None:
    """By name, without zeros."""
    found = checked(proof_text(TWO_JOBS, "range 6 6", ["other 2 1 1 2 1", BEST], [BOUND]), TWO_JOBS)
    assert found.values == {"x0": 1, "x3": 1}


class Damage(NamedTuple):
    """A proof that is to be refused: of which model, why, and whether viprchk accepts it."""

    model: LinearModel
    range_: str
    solutions: list[str]
    derivation: list[str]
    why: str
    accepted: bool = False


FALSE: dict[str, Damage] = {
    "a bound that is too high": Damage(TWO_JOBS, "range 7 inf", [], [BOUND.replace("G 6", "G 7")], "does not follow"),
    "a range beyond the bound": Damage(TWO_JOBS, "range 7 inf", [], [BOUND], "proves the bound of the range"),
    "a multiplier of the wrong sign": Damage(TWO_JOBS, "range 6 inf", [], [BOUND.replace("-2", "2")], "signs"),
    "no line at all": Damage(TWO_JOBS, "range 6 inf", [], [], "proves the bound of the range"),
    "a last line without the word OBJ": Damage(
        TWO_JOBS, "range 6 inf", [], ["b G 6 4 0 4 1 2 2 5 3 2 { lin 4 4 6 5 6 6 -2 2 1 } -1"], "written with OBJ"
    ),
    "a solution that costs more": Damage(TWO_JOBS, "range 6 6", ["o 2 1 1 2 1"], [BOUND], "no solution reaches"),
    "a solution that takes too much": Damage(TWO_JOBS, "range 4 4", ["o 2 1 1 3 1"], [BOUND], "breaks row 6"),
    "a solution below a bound": Damage(HALF, "range -inf 0", ["o 2 0 -1 1 1"], [], "breaks row 0"),
    "half a solution": Damage(HALF, "range -inf 2", ["o 2 0 1/2 1 1"], [], "a fraction on an integer variable"),
    "no solution": Damage(TWO_JOBS, "range 6 6", [], [BOUND], "no solution reaches"),
    "an empty range": Damage(TWO_JOBS, "range 6 5", [BEST], [BOUND], "no solution reaches"),
    "a line that comes later": Damage(TWO_JOBS, "range 6 inf", [], ["b G 6 OBJ { lin 1 7 1 } -1"], "below 7"),
    "a rule that is not there": Damage(
        TWO_JOBS, "range 6 inf", [], ["b G 6 OBJ { say } -1"], "asm or lin or rnd or uns"
    ),
    "an equality from an inequality": Damage(
        HALF, "range -inf inf", [], ["e E 1 1 0 2 { lin 1 4 1 } -1"], "does not follow", True
    ),
    "rounding of a half": Damage(
        HALF, "range 1 inf", [], ["u G 2 1 0 1 { rnd 1 4 1/2 } -1", "s G 1 OBJ { lin 2 6 1 2 1 } -1"], "does not follow"
    ),
    "rounding of half a variable": Damage(
        HALF, "range 1 inf", [], ["u G 1 1 0 1/2 { rnd 1 4 1/4 } -1", "s G 1 OBJ { lin 2 6 2 2 1 } -1"], "rounded"
    ),
    "rounding of an equality": Damage(
        model_of([1], [(1, {0: 2}, 1)]), "range 1 inf", [], ["u G 1 OBJ { rnd 1 2 1/2 } -1"], "rounded"
    ),
    "assumptions that stay": Damage(CASES, "range 2 inf", [], SPLIT[:3], "without assumptions"),
    "a split of which one case does not hold": Damage(
        CASES, "range 2 inf", [], [*SPLIT[:3], "c1 G 1 OBJ { lin 2 3 1 6 3 } 9", SPLIT[4]], "hold in both cases"
    ),
    "a split that leaves the other assumption": Damage(
        CASES, "range 2 inf", [], [*SPLIT[:4], "all G 2 OBJ { uns 8 5 7 6 } -1"], "without assumptions"
    ),
    "a split with a gap": Damage(
        CASES,
        "range 2 inf",
        [],
        ["no L -1 1 0 1 { asm } 9", SPLIT[1], "c0 G 2 OBJ { lin 2 4 1 5 -3 } 9", *SPLIT[3:]],
        "split whole numbers",
    ),
    "absurd under an assumption": Damage(
        NONE, "infeas", [], ["no G 2 1 0 1 { asm } -1", "x G 1 0 { lin 2 4 1 1 -1 } -1"], "is absurd"
    ),
    "absurd, though there is a solution": Damage(TWO_JOBS, "infeas", [BEST], [BOUND], "with a solution"),
    "a line used after its last use": Damage(
        CASES, "range 2 inf", [], [SPLIT[0].replace("} 9", "} 6"), *SPLIT[1:]], "said to be used no later"
    ),
    "a line dropped at once": Damage(
        HALF, "range 1 inf", [], ["u G 1 1 0 1 { rnd 1 4 1/2 } 0", "s G 1 OBJ { lin 2 6 1 2 1 } -1"], "said to be used"
    ),
    # What viprchk accepts, and must not.
    "rounding of a real variable": Damage(
        HALF, "range 1 inf", [], ["u G 1 1 1 1 { rnd 1 5 1/2 } -1", "s G 1 OBJ { lin 2 6 1 0 1 } -1"], "rounded", True
    ),
    "a split at halves": Damage(
        CASES,
        "range 1 inf",
        [],
        [
            "no L -1/2 1 0 1 { asm } -1",
            "yes G 1/2 1 0 1 { asm } -1",
            "c0 G 1/2 OBJ { lin 2 4 1 5 -3 } -1",
            "c1 G 1/2 OBJ { lin 2 3 1 6 3 } -1",
            "all G 1/2 OBJ { uns 7 5 8 6 } -1",
            "more G 1 OBJ { lin 1 9 2 } -1",
        ],
        "split whole numbers",
    ),
    "the cutoff of a maximum": Damage(
        MOST, "range 1 0", ["one 1 0 1"], ["cut L 0 OBJ { sol } -1"], "asm or lin", False
    ),
    "the cutoff of a solution": Damage(
        MOST, "range 0 0", ["none 0"], ["cut L -1 OBJ { sol } -1", "b L 0 OBJ { lin 1 5 1 } -1"], "asm or lin", True
    ),
    "a solution called OBJ": Damage(TWO_JOBS, "range 6 6", ["a OBJ", BEST], [BOUND], "found .OBJ., allowed: a number"),
    "false lines after the bound": Damage(
        TWO_JOBS, "range 6 inf", [], [BOUND, "x G 9 OBJ { lin 0 } -1"], "follow", True
    ),
    "false lines where nothing is claimed": Damage(
        TWO_JOBS, "range -inf 6", [BEST], ["x G 9 OBJ { lin 0 } -1"], "follow", True
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_refused(name: str, tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """By ours, for the reason meant; viprchk accepts what is written beside it."""
    damage = FALSE[name]
    text = proof_text(damage.model, damage.range_, damage.solutions, damage.derivation)
    with pytest.raises((InputError, ProofError), match=damage.why):
        checked(text, damage.model)
    path = tmp_path / "proof.vipr"
    path.write_text(text, encoding="ascii")
    assert viprchk(path) == damage.accepted
