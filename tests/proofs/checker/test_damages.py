"""A campaign of damaged proofs: the checker accepts none that says what is not true, whatever viprchk does."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from dlsched.core.errors import InputError, ProofError
from proofs.damages import DAMAGES, Good, claimed_truly
from proofs.good import good_proofs

from .test_rules import checked


@cache
def proofs() -> list[Good]:
    """Good proofs, made once."""
    return good_proofs()


def accepted(text: str, good: Good) -> bool:
    """Whether the checker accepts a text, and its model."""
    try:
        checked(text.encode("latin-1"), good.model)
    except (InputError, ProofError):
        return False
    return True


def campaign(count: int, seed: int) -> tuple[Counter[str], list[tuple[str, Good, str]]]:
    """Damage as many proofs; count those refused and those accepted though changed, which must be true still."""
    chance, seen, found = random.Random(seed), Counter[str](), []
    for number in range(count):
        kind = list(DAMAGES)[number % len(DAMAGES)]
        good = chance.choice(proofs())
        text = DAMAGES[kind](chance, good, proofs())
        if text == good.text:
            seen["unchanged"] += 1
            continue
        took = accepted(text, good)
        seen["accepted, true" if took else "refused"] += 1
        assert not took or claimed_truly(text, good), f"{kind} of {good.name}:\n{text}"
        found.append((kind, good, text))
    return seen, found


def test_good_proofs_are_good(tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """Both checkers accept them, and the claims are true."""
    for good in proofs():
        assert accepted(good.text, good), good.name
        assert claimed_truly(good.text, good), good.name
        path = tmp_path / "proof.vipr"
        path.write_text(good.text, encoding="ascii")
        assert viprchk(path), good.name


def test_damaged_proofs() -> None:
    """A sample."""
    seen, _ = campaign(330, seed=1)
    assert seen["refused"] > 200, seen


def test_viprchk_accepts_more(tmp_path: Path, viprchk: Callable[..., bool]) -> None:
    """What ours accepts it accepts; of what ours refuses it accepts some, the model of the file not being compared."""
    _, found = campaign(88, seed=2)
    differ = Counter[str]()
    for kind, good, text in found:
        path = tmp_path / "proof.vipr"
        path.write_bytes(text.encode("latin-1"))
        ours, theirs = accepted(text, good), viprchk(path, seconds=2)
        if ours != theirs:
            differ["only ours" if ours else f"only viprchk, {kind}"] += 1
    assert differ["only ours"] == 0, differ
    assert sum(differ.values()) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_damaged_proofs(seed: int) -> None:
    """Fifty thousand in all."""
    seen, _ = campaign(5000, seed)
    print(dict(seen))
    assert seen["refused"] > 3000, seen
