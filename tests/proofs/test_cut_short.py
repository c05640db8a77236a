"""Proofs that are cut short at any moment: whatever was reached, both checkers accept the file, and its range holds the optimum.

A moment is a tick of the search: between two cases, within the pivots of one, or while rows are derived.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_random_instances import KINDS

import dlsched
from dlsched.core.errors import UsageError
from dlsched.core.gap import rounding
from dlsched.core.limits import Limits
from dlsched.families import FAMILIES, AnyFamily, family_of
from dlsched.proofs.checker import check_proof
from dlsched.proofs.proof import Proof, model_of
from dlsched.proofs.prover.prover import Deadline

PROOFS, SHORT = 200, 12
MOST = 100
"""Ticks after which a search that would go on ends anyway."""
NEAR = 1e-9
NASTY = {"elastic_stream": "stream with ticks", "ring_embedding": "rings", "async_sgd": "async_sgd"}
"""Families whose drawn instances are small enough only where tests of methods draw them."""


def ended(instance: object, path: Path, moment: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Proof, int]:
    """Prove an instance, and interrupt it at a tick; return the proof, and how many ticks there were."""
    ticks = 0

    def tick(self: Deadline) -> None:
        nonlocal ticks
        ticks += 1
        if ticks >= moment:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Deadline, "tick", tick)
        proof = dlsched.prove(instance, path, limits=Limits(nodes=MOST))  # type: ignore[arg-type]
    return proof, ticks


def drawn(family: AnyFamily, numbers: np.random.Generator) -> object:
    """A small instance that has a solution, and a model with rows; of a preset, or a nasty one."""
    while True:
        jobs = int(numbers.integers(2, 6))
        if family.name in NASTY:
            instance = KINDS[NASTY[family.name]].draw(numbers)
        else:
            preset = list(family.presets)[int(numbers.integers(len(family.presets)))]
            instance = family.generate(preset=preset, jobs=jobs, gpus=2 * jobs, seed=int(numbers.integers(2**31)))
        if not family.infeasible(instance) and has_rows(instance):
            return instance


def has_rows(instance: object) -> bool:
    """Whether the instance has a linear model, and that a row: viprchk reads no other."""
    try:
        return bool(model_of(instance, None)[1].model.numConstraints())  # type: ignore[arg-type]
    except UsageError:
        return False


def seeds(most: int, short: int) -> list[object]:
    """A few in every run, the others in the campaigns."""
    return [*range(short), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(short, most))]


def hold(proof: Proof, path: Path, instance: object, accepts: Callable[[Path], bool]) -> None:
    """Assert that both checkers accept a proof, and that its range holds the optimum, which is another method's."""
    assert accepts(path)
    found = check_proof(path, instance)  # type: ignore[arg-type]
    assert (found.lower is None, found.upper is None) == (proof.lower is None, proof.upper is None)
    assert found.lower is None or float(found.lower) >= proof.lower  # what its solution decodes to may be better
    assert found.upper is None or float(found.upper) <= proof.upper
    best = dlsched.solve(instance).objective  # type: ignore[arg-type]
    assert best is not None
    constant = family_of(instance).constant(instance)  # type: ignore[arg-type]
    room = NEAR * abs(best - constant) + rounding(best, constant)
    assert found.lower is None or found.lower <= best + room
    assert found.upper is None or found.upper >= best - room


@pytest.mark.parametrize("seed", seeds(PROOFS, SHORT))
def test_both_checkers_accept_it(
    seed: int, tmp_path: Path, viprchk: Callable[[Path], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all families in turn; the moment is uniform among those of the whole search."""
    numbers, path = np.random.default_rng([seed, 2026]), tmp_path / "proof.vipr"
    instance = drawn(FAMILIES[list(FAMILIES)[seed % len(FAMILIES)]], numbers)
    _, ticks = ended(instance, path, MOST, monkeypatch)
    proof, _ = ended(instance, path, int(numbers.integers(1, ticks + 1)), monkeypatch)
    assert proof.status in ("interrupted", "optimal", "feasible")
    hold(proof, path, instance, viprchk)


@pytest.mark.parametrize("seed", seeds(100, 3))
def test_trees_that_end_at_any_case(seed: int, tmp_path: Path, viprchk: Callable[[Path], bool]) -> None:
    """Gangs, whose proofs split into many cases: the search ends after 2 to 63 of them."""
    numbers, path, family = np.random.default_rng([seed, 7]), tmp_path / "proof.vipr", FAMILIES["srpt_mapping"]
    preset = list(family.presets)[seed % len(family.presets)]
    instance = family.generate(preset=preset, jobs=int(numbers.integers(5, 8)), gpus=8, seed=seed)
    proof = dlsched.prove(instance, path, limits=Limits(nodes=int(2 ** numbers.uniform(1, 6))))
    assert proof.status in ("node_limit", "optimal", "feasible")
    hold(proof, path, instance, viprchk)
