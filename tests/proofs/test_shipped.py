"""The proofs beside the shipped instances: each is closed, and proves the optimum that its instance's file states."""

from collections.abc import Callable
from pathlib import Path

import pytest
from shipped import ROOT

import dlsched
from dlsched.core.gap import meets
from dlsched.families import family_of
from dlsched.proofs.checker import check_proof

LARGEST, LARGEST_IN_ALL = 100_000, 6_000_000
PROOFS = sorted(ROOT.glob("*/*.vipr.gz"))
SOME = 12
"""Every so many a proof is checked in short runs, too."""


def marked(index: int, path: Path) -> object:
    """A parameter: most of them are for long runs."""
    marks = () if index % SOME == 0 else (pytest.mark.long,)
    return pytest.param(path, id=f"{path.parent.name}-{path.name.removesuffix('.vipr.gz')}", marks=marks)


def test_they_are_small_and_have_an_instance() -> None:
    """At most 100 kB each and 6 MB in all, of every family."""
    sizes = [path.stat().st_size for path in PROOFS]
    assert max(sizes) <= LARGEST and sum(sizes) <= LARGEST_IN_ALL
    assert {path.parent.name for path in PROOFS} == set(dlsched.FAMILIES)
    assert all(instance_of(path).exists() for path in PROOFS)


def instance_of(path: Path) -> Path:
    """File of the instance that a proof is of."""
    return path.with_name(path.name.removesuffix(".vipr.gz") + ".json")


@pytest.mark.parametrize("path", [marked(*each) for each in enumerate(PROOFS)])
def test_each_is_accepted_by_both_checkers(path: Path, viprchk: Callable[..., bool], tmp_path: Path) -> None:
    """Its two sides meet in the known optimum."""
    import gzip

    instance = dlsched.read(instance_of(path))
    found = check_proof(path, instance)
    if instance.known is None or instance.known.optimum is None:
        assert found.infeasible
    else:
        constant = family_of(instance).constant(instance)
        assert found.closed and found.lower is not None and found.upper is not None
        assert meets(float(found.lower), instance.known.optimum, constant)
        assert meets(float(found.upper), instance.known.optimum, constant)
    plain = tmp_path / "proof.vipr"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert viprchk(plain)
