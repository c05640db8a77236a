"""Proofs of a model with parameters: whatever prices and cutoff a file names, nothing false is accepted."""

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from shipped import ROOT

import dlsched
from dlsched.core.errors import InputError, ProofError
from dlsched.core.instance import InstanceFile
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import family_of
from dlsched.matching_placement import exact
from dlsched.proofs.checker import Verified, check_proof
from dlsched.proofs.verification import verify_alone

OPTIMA = {
    name: dlsched.read(ROOT / "matching_placement" / f"{name}.json")
    for name in ("mixed", "ties", "one-or-three-max_rho", "one-or-three-alpha_fair-2", "compute-only-5x12-seed3")
}
NEAR = 1e-9


@cache
def lines_of(name: str) -> tuple[str, ...]:
    """A good proof by ``priced``."""
    lines = dlsched.prove(OPTIMA[name], formulation="priced").lines
    assert lines is not None
    return lines


def checked(text: str, instance: InstanceFile, path: Path) -> Verified | None:
    """What the checker says of a text; None: it refuses the text."""
    path.write_text(text, encoding="utf-8")
    try:
        return check_proof(path, instance)
    except (InputError, ProofError):
        return None


def hold(found: Verified | None, instance: InstanceFile) -> None:
    """What is accepted is true of the instance."""
    if found is None:
        return
    assert instance.known is not None and instance.known.optimum is not None
    optimum = instance.known.optimum
    assert not found.infeasible
    assert found.lower is None or float(found.lower) <= optimum + NEAR * abs(optimum)
    assert found.upper is None or float(found.upper) >= optimum - NEAR * abs(optimum)


def another(chance: random.Random, number: str) -> str:
    """Another number, or no number at all."""
    value = float(number)
    others = [value * factor for factor in (0, 0.5, 0.9, 0.999, 1 - 1e-12, 1 + 1e-12, 1.001, 1.1, 2, 1e6, 1e300)]
    words = [repr(other) for other in (*others, -value, value - 1, value + 1)]
    return chance.choice([*words, "", "none", "nan", "inf", "-inf", "1e400", "x", "1_0", f"{number} {number}"])


@pytest.mark.parametrize("name", OPTIMA)
def test_the_good_ones(name: str, tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """Both checkers accept them; the head has prices and cutoff."""
    path = tmp_path / "proof.vipr"
    found = checked("\n".join((*lines_of(name), "")), OPTIMA[name], path)
    assert found is not None and found.closed and viprchk(path)
    hold(found, OPTIMA[name])
    head = [line.split(":")[0] for line in lines_of(name) if line.startswith("% ")]
    assert {"% prices", "% cutoff", "% formulation"} <= set(head)


@pytest.mark.parametrize("name", OPTIMA)
def test_other_prices_and_cutoffs_in_the_head(name: str, tmp_path: Path) -> None:
    """Refused, as the model is another one; or the model is the same, and the claim true."""
    chance, refused = random.Random(name), 0
    for _ in range(60):
        lines = list(lines_of(name))
        for key in chance.choice([("prices",), ("cutoff",), ("prices", "cutoff")]):
            at = next(i for i, line in enumerate(lines) if line.startswith(f"% {key}:"))
            numbers = re.findall(r"\S+", lines[at].partition(":")[2])
            place = chance.randrange(len(numbers))
            numbers[place] = another(chance, numbers[place])
            lines[at] = f"% {key}: {' '.join(numbers)}"
        found = checked("\n".join((*lines, "")), OPTIMA[name], tmp_path / "proof.vipr")
        refused += found is None
        hold(found, OPTIMA[name])
    assert refused > 10


@pytest.mark.parametrize("key", ["prices", "cutoff"])
def test_no_prices_or_cutoff(key: str, tmp_path: Path) -> None:
    """Neither is looked for by the checker."""
    lines = [line for line in lines_of("mixed") if not line.startswith(f"% {key}:")]
    path = tmp_path / "proof.vipr"
    path.write_text("\n".join((*lines, "")), encoding="utf-8")
    with pytest.raises(InputError, match=f"no comment {key}"):
        check_proof(path, OPTIMA["mixed"])


@pytest.mark.parametrize("part", [-10.0, 0.1, 0.5, 0.9, 0.99, 1.0, 1.5])
@pytest.mark.parametrize("name", OPTIMA)
def test_proofs_of_forged_models(name: str, part: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proven by the prover itself at any cutoff: no bound is beyond the cutoff, and none false."""
    instance, path = OPTIMA[name], tmp_path / "proof.vipr"
    assert instance.known is not None and instance.known.optimum is not None
    least = family_of(instance).sense_for(instance) is Sense.MINIMIZE
    optimum = instance.known.optimum
    cutoff = optimum - (1 - part) * abs(optimum) * (1 if least else -1)
    prices, chance = [0.0] * len(instance.types), random.Random(f"{name}{part}")  # type: ignore[attr-defined]
    for scale in (0.0, 1.0, 1000.0):
        forged = [scale * chance.random() for _ in prices]
        monkeypatch.setattr(exact, "default_parameters", lambda instance, forged=forged: (forged, repr(cutoff)))
        proof = dlsched.prove(instance, path, formulation="priced")
        assert proof.status is not TerminationStatus.INFEASIBLE
        found = check_proof(path, instance)
        hold(found, instance)
        bound, side = (found.lower, 1) if least else (found.upper, -1)
        assert bound is not None and side * bound <= side * cutoff
        said, fields = verify_alone(path, instance)
        assert not said.failures and fields is not None and not fields["infeasible"]
        assert bool(fields["optimal"]) == (part >= 1)
