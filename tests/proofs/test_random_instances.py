"""Three thousand random instances of all families and objectives: their proofs, by both checkers, against brute force.

Half of a family's instances are those that tests of methods draw, half are nasty: ties, near ties, 24 orders of magnitude.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from shipped import ROOT
from test_random_instances import KINDS, optimum_of

import dlsched
from dlsched import elastic_stream, ring_embedding
from dlsched.core.errors import DlschedError, UsageError
from dlsched.core.gap import rounding
from dlsched.core.limits import Limits
from dlsched.families import FAMILIES, family_of
from dlsched.proofs.checker import check_proof
from dlsched.proofs.verification import verify_proof
from dlsched.results.verification import Verification
from dlsched.testing import CASES

Accepts = Callable[[Path], bool]
NODES = 5000
NEAR = 1e-9
"""Of brute force, relative to what a solution changes of the objective."""
BLOCK = 50
OF_FAMILY = {name: [kind for kind in KINDS if KINDS[kind].family == name] for name in FAMILIES}
"""Kinds of nasty instances, by family, in turn; one stream in ten has no ticks."""
OF_FAMILY["elastic_stream"] = ["stream with ticks"] * 9 + ["stream"]


def plain(family: str, seed: int, count: int) -> list[Any]:
    """Instances as hypothesis draws them for tests of methods."""
    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(CASES[family].instances())
    def draw(instance: Any) -> None:
        found.append(instance)

    draw()
    return found[:count]


def nasty(kind: str, seed: int) -> Any:
    """The instance of that kind and seed, the same as in the campaign of methods."""
    return KINDS[kind].draw(np.random.default_rng([seed, *kind.encode()]))


def block_of(family: str, block: int) -> Iterator[tuple[str, str, Any]]:
    """Yield what an instance is called, its kind and itself: half of a block is plain."""
    kinds = OF_FAMILY[family]
    for number, instance in enumerate(plain(family, block, BLOCK // 2)):
        yield f"{family}, plain {block}/{number}", kinds[0], instance
    for seed in range(BLOCK // 2 * block, BLOCK // 2 * (block + 1)):
        kind = kinds[seed % len(kinds)]
        yield f"{kind} {seed}", kind, nasty(kind, seed)


def hold_proof(
    called: str, kind: str, instance: Any, path: Path, accepts: Accepts, formulation: str | None = None
) -> str:
    """Prove an instance; hold the file to both checkers and what it proves to brute force; say what came of it."""
    family, told = family_of(instance), f"{called}: {json.dumps(instance.as_data())}"
    try:
        proof = dlsched.prove(instance, path, formulation=formulation, limits=Limits(nodes=NODES))
    except UsageError as error:
        assert str(error), told
        for build in family.formulations.values():
            with pytest.raises(UsageError):
                build(instance)
        return "refused"
    assert accepts(path) or b"\nCON 0 0\n" in path.read_bytes(), told  # viprchk reads no problem without rows
    found = check_proof(path, instance)
    optimum, exact = optimum_of(KINDS[kind], instance)
    assert exact, told
    assert found.infeasible == (optimum is None), told
    assert found.infeasible == (proof.status == "infeasible") == (b"\nRTP infeas\n" in path.read_bytes()), told
    if optimum is None:
        return "infeasible"
    constant = family.constant(instance)
    slack = NEAR * max(abs(optimum - constant), KINDS[kind].size(instance)) + rounding(optimum, constant)
    told = f"{proof.status} {proof.lower!r} to {proof.upper!r} {proof.message}, optimum {optimum!r}; {told}"
    assert found.lower is None or found.lower <= optimum + slack, told
    assert found.upper is None or found.upper >= optimum - slack, told
    assert found.closed == (proof.status == "optimal"), told
    assert found.closed, told
    assert abs(found.lower - optimum) <= slack and abs(found.upper - optimum) <= slack, told
    assert found.objective == pytest.approx(optimum, rel=NEAR, abs=slack), told
    return "closed"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample(family: str, tmp_path: Path, viprchk: Accepts) -> None:
    """Four instances of each family, two of them nasty."""
    instances = [(f"plain {number}", OF_FAMILY[family][0], each) for number, each in enumerate(plain(family, 1, 3)[1:])]
    kinds = (OF_FAMILY[family][0], OF_FAMILY[family][-1])
    instances += [(f"{kind} {seed}", kind, nasty(kind, seed)) for seed, kind in enumerate(kinds, start=7)]
    for called, kind, instance in instances:
        hold_proof(called, kind, instance, tmp_path / "proof.vipr", viprchk)


def test_placements_by_prices_and_a_cutoff(tmp_path: Path, viprchk: Accepts) -> None:
    """Some by ``priced``, which ``prove`` takes for large ones only."""
    seen, kind = Counter[str](), OF_FAMILY["matching_placement"][0]
    for number, instance in enumerate(plain("matching_placement", 3, 30)):
        seen[hold_proof(f"plain {number}", kind, instance, tmp_path / "proof.vipr", viprchk, "priced")] += 1
    assert set(seen) <= {"closed", "infeasible"}, seen


def one_slot() -> Any:
    """A second's work in a slot of sixteen: 1 s."""
    return elastic_stream.Instance(
        name="one slot",
        units=2,
        tick_s=16.0,
        jobs=[{"id": "a", "epochs": 0.5, "epoch_time_s": {"1": 2.0}, "arrival_s": 0.0, "restart_s": 1.0}],
    )


def nothing_to_decide() -> Any:
    """A job without work: no variable."""
    job = {"id": "a", "epochs": 0.0, "epoch_time_s": {"1": 1.0}, "arrival_s": 0.0}
    return elastic_stream.Instance(name="nothing to decide", units=1, tick_s=1.0, jobs=[job])


def thirds() -> Any:
    """Work of three slots, a third of it each: in floats three thirds are less than the whole."""
    job = {"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 24.0}, "arrival_s": 0.0}
    return elastic_stream.Instance(name="thirds", units=1, tick_s=8.0, jobs=[job, job | {"id": "b"}])


@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        pytest.param("stream with ticks", nothing_to_decide),
        pytest.param("stream with ticks", one_slot),
        pytest.param("stream with ticks", thirds),
        pytest.param("fair placement", partial(nasty, "fair placement", 137)),
        pytest.param("gangs", partial(nasty, "gangs", 221)),
    ],
    ids=[
        "a model without variables",
        "an equation that a basis leaves out",
        "three thirds",
        "an optimum of 1e-12",
        "no exact point",
    ],
)
def test_hard_on_floats(kind: str, draw: Callable[[], Any], tmp_path: Path, viprchk: Accepts) -> None:
    """Instances that are hard on a prover whose programs are floats."""
    assert hold_proof("by hand", kind, draw(), tmp_path / "proof.vipr", viprchk) == "closed"


@pytest.mark.parametrize("gap", [0.0, 3e-7])
def test_optimal_is_what_the_checker_calls_closed(gap: float, tmp_path: Path) -> None:
    """Whatever gap was asked for."""
    instance, path = dlsched.read(ROOT / "async_sgd" / "two-servers.json"), tmp_path / "proof.vipr"
    assert (dlsched.prove(instance, path, gap=gap).status == "optimal") == check_proof(path, instance).closed


@pytest.mark.parametrize("seed", [510, 518, 544])
def test_a_large_constant_hides_no_gap(seed: int, tmp_path: Path) -> None:
    """Releases of 1e15 s, beside which floats do not show how far the two sides are apart."""
    instance, path = nasty("gangs", seed), tmp_path / "proof.vipr"
    assert (dlsched.prove(instance, path, gap=0.05).status == "optimal") == check_proof(path, instance).closed


def two_tiers() -> ring_embedding.Instance:
    """A job of one worker, and one of up to three: the least utility is 1, the second least at most 3."""
    jobs = [
        {
            "id": f"j{workers}",
            "max_workers": workers,
            "demand": {"gpu": 1},
            "bandwidth_bytes_per_s": 0,
            "rate": 1,
            "utility": {"kind": "capped", "slope": 1, "cap": workers},
        }
        for workers in (1, 3)
    ]
    nodes = [{"id": f"s{workers}", "capacity": {"gpu": workers}} for workers in (1, 3)]
    return ring_embedding.Instance(name="two tiers", slots=1, nodes=nodes, links=[], jobs=jobs, objective="max_min")


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_proof_of_the_least_utility_says_no_more(workers: int, tmp_path: Path) -> None:
    """Of an answer with the largest least utility ``optimal`` is said of that only, not of the utilities after it."""
    instance, path = two_tiers(), tmp_path / "proof.vipr"
    dlsched.prove(instance, path)
    ring = ring_embedding.Ring
    rings = {"j1": ring(workers={"s1": 1}, order=("s1",)), "j3": ring(workers={"s3": workers}, order=("s3",))}
    embedding = ring_embedding.Embedding({1: rings})
    assert family_of(instance).check(instance, embedding) == []
    found = Verification(objective=family_of(instance).objective(instance, embedding))
    said = verify_proof(path, instance, found)
    assert found.failures == []
    assert said is not None and not said["optimal"]
    [sentence] = found.verified
    assert sentence.startswith(
        "verified: optimal in its objective (utility, the least of a job), not in what comes next"
    )


@pytest.mark.long
@pytest.mark.parametrize("block", range(500 // BLOCK))
@pytest.mark.parametrize("family", FAMILIES)
def test_three_thousand(family: str, block: int, tmp_path: Path, viprchk: Accepts) -> None:
    """Five hundred of each family."""
    seen, faults = Counter[str](), list[str]()
    for called, kind, instance in block_of(family, block):
        try:
            seen[hold_proof(called, kind, instance, tmp_path / "proof.vipr", viprchk)] += 1
        except (AssertionError, DlschedError) as fault:
            faults.append(f"{called}: {fault}")
    print(f"\n{family} {block}: {dict(sorted(seen.items()))}, {len(faults)} faults")
    assert not faults, "\n".join(faults)
