"""Certificates that methods hand out prove their value as it stands: own ``check`` takes every result, and no higher claim.

Streams without ticks are drawn with weights, pauses, early ends and ties, at time scales from 1e-9 to 1e12; of the other
families and objectives the nasty instances of their folders. Run with ``-s`` a campaign prints what it counted.
"""

import json
import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from async_sgd.nasty import nasty as nasty_async
from elastic_stream.nasty import nasty as nasty_stream
from matching_placement.nasty import nasty as nasty_placement
from ring_allocation.nasty import nasty as nasty_allocation
from ring_embedding.nasty import nasty as nasty_embedding
from ring_embedding.nasty import nasty_objective
from srpt_mapping.nasty import nasty as nasty_gangs

from dlsched.core.errors import InstanceError, UsageError
from dlsched.core.limits import Limits
from dlsched.elastic_stream import Instance as Stream
from dlsched.elastic_stream import exact
from dlsched.elastic_stream.planning import plan_stream
from dlsched.families import family_of
from dlsched.results.reading import claim_from
from dlsched.results.verification import verify_claim

HIGHER = 2e-16, 1e-12, 1e-9
"""Of what is proven: by how much claims are forged beyond it, and by one float."""
NODES = 4, 25, 500
"""Limits in turn: certificates of searches that are stopped soon, or late, or end."""
_ALPHAS = 0.0, 0.5, 1.0, 1.0 + 1e-9, 2.0, 5.0, 20.0
_EFFORT = 1000.0
_LARGER = 0.1
"""Of the streams: those of some tens of jobs."""


@pytest.fixture(autouse=True)
def short_plans(monkeypatch):
    """Plans of streams try fewer weights, which no certificate depends on."""
    monkeypatch.setattr(
        exact, "plan_stream", lambda *given, **named: plan_stream(*given, **named | {"effort": _EFFORT})
    )


def free_stream(generator: np.random.Generator) -> Stream:
    """Draw a stream without ticks, of 1 to 6 jobs, or some tens; equal weights too, tables on a line, arrivals together."""
    scale = 10.0 ** float(generator.integers(-9, 13))
    units = int(generator.choice([1, 2, 3, 4, 4, 8, 16]))
    number = int(generator.integers(10, 31) if generator.random() < _LARGER else generator.integers(1, 7))
    weights = [[1.0], [3.0], [0.1], [1.0, 2.0, 4.0], [0.1, 7.0, 1e3], [1e-9, 1.0, 1e9]][int(generator.integers(6))]
    crowd = float(generator.choice([0.0, 0.3, 1.0, 3.0]))
    jobs: list[dict[str, Any]] = []
    for index in range(number):
        job = jobs[0] if jobs and generator.random() < 0.15 else _job(generator, units, scale)
        late = crowd * index * float(generator.choice([0.0, 1.0, float(generator.random())]))
        further = {"arrival_s": scale * late, "weight": float(generator.choice(weights))}
        jobs.append(job | {"id": f"j{index}"} | further)
    return Stream(name="free", units=units, jobs=jobs)


def _job(generator: np.random.Generator, units: int, scale: float) -> dict[str, Any]:
    counts = sorted({1, *generator.integers(1, units + 1, size=4).tolist()})
    alone = scale * float(generator.choice([0.512, 1.0, 1.5, 2.048, 10.0, 5 * generator.random() + 0.1]))
    bend = float(generator.choice([0.0, 0.0, 0.3, 1.0, 1.7]))  # 1: on a line, above: not a bit slower than that
    times = {count: alone / count**bend * float(generator.choice([1.0, 1.0, 1.1])) for count in counts}
    job = {"epochs": float(generator.choice([1.0, 1.0, 2.0, 0.3])), "epoch_time_s": times}
    if generator.random() < 0.4:
        job["restart_s"] = alone * float(generator.choice([1e-3, 0.1, 1.0, 10.0]))
    if generator.random() < 0.25:
        job |= {"stops_at": float(generator.choice([0.25, 0.3, 1e-3]))}
        job["early_stop"] = [{"fraction": 0.5, "probability": 0.5}]
    return job


def ticked_stream(generator: np.random.Generator) -> Any:
    """A nasty stream with ticks, some of whose jobs weigh other things."""
    data = nasty_stream(generator, ticked=True).model_dump(exclude_none=True)
    for job in data["jobs"]:
        job["weight"] = float(generator.choice([1.0, 1.0, 3.0, 0.1, 1e6]))
    return Stream(**data)


def fair_placement(generator: np.random.Generator) -> Any:
    """A nasty placement of the largest ratio, or of a fair sum whose utilities are not refused as too far apart."""
    drawn = nasty_placement(generator)
    data = drawn.model_dump(exclude_none=True)
    if generator.random() < 0.4:
        return type(drawn)(**data | {"objective": "max_rho"})
    for alpha in generator.permutation(_ALPHAS).tolist():
        with suppress(InstanceError):
            return type(drawn)(**data | {"objective": "alpha_fair", "alpha": alpha})
    return drawn


def begun_gangs(generator: np.random.Generator) -> Any:
    """Nasty gangs, the first of which that fit have begun, on servers as they are drawn."""
    drawn = nasty_gangs(generator)
    data = drawn.model_dump(exclude_none=True)
    room = {server["id"]: server["gpus"] for server in data["servers"]}
    first_s = min(job["release_s"] for job in data["jobs"])
    for job in data["jobs"]:
        if sum(stage["replicas"] for stage in job["stages"]) > sum(room.values()) or generator.random() < 0.3:
            continue
        held: Counter[tuple[int, str]] = Counter()
        for number, stage in enumerate(job["stages"]):
            for _ in range(stage["replicas"]):
                server = str(generator.choice([name for name, free in room.items() if free]))
                room[server] -= 1
                held[number, server] += 1
        job["release_s"] = first_s
        job["begun"] = [
            {"stage": stage, "server": server, "replicas": count} for (stage, server), count in held.items()
        ]
    return type(drawn)(**data)


DRAWS: dict[str, Callable[[np.random.Generator], Any]] = {
    "free streams": free_stream,
    "nasty free streams": lambda generator: nasty_stream(generator, ticked=False, most_jobs=5),
    "ticked streams": ticked_stream,
    "placements": nasty_placement,
    "fair placements": fair_placement,
    "allocations": nasty_allocation,
    "asynchronous jobs": nasty_async,
    "embeddings": nasty_embedding,
    "embeddings of other objectives": nasty_objective,
    "gangs": nasty_gangs,
    "gangs that have begun": begun_gangs,
}


def holds(instance: Any, nodes: int) -> Counter[str]:
    """Run every method that bounds or proves; own ``check`` takes each result, and refuses what claims more."""
    family, seen = family_of(instance), Counter[str]()
    for method in family.methods.values():
        if method.kind == "heuristic" and method.name != "plan":
            continue
        try:
            result = family.solve(instance, method=method.name, limits=Limits(nodes=nodes))
        except UsageError:
            continue
        if result.certificate is None:
            continue
        data = json.loads(json.dumps(result.as_data()))
        failures = verify_claim(family, instance, claim_from(data, "result")).failures
        assert not failures, (failures, method.name, json.dumps(instance.as_data()))
        kind = f"{result.certificate.kind} {getattr(result.certificate, 'formulation', '')}".strip()
        seen[kind] += 1
        _refused(family, instance, data, result.certificate)
    return seen


def _refused(family: Any, instance: Any, data: dict[str, Any], certificate: Any) -> None:
    """Hold claims beyond what is proven to a refusal; a threshold is proven or not, so only one beyond the optimum is false."""
    if getattr(certificate, "formulation", "") == "threshold":
        return
    exact = family.verify(instance, certificate)
    sign = 1 if family.sense_for(instance) == "minimize" else -1
    nearest = float(exact)
    claims = [math.nextafter(nearest, sign * math.inf)]
    claims += [nearest + sign * part * abs(nearest) for part in HIGHER]
    for claim in claims:
        if sign * Fraction(claim) <= sign * exact:  # of next to nothing a part is nothing
            continue
        forged = data | {"certificate": replace(certificate, value=claim).as_data()}
        failures = verify_claim(family, instance, claim_from(forged, "result")).failures
        assert any(f"{claim!r} is claimed" in failure for failure in failures), (claim, exact, instance)


def campaign(name: str, seeds: range) -> Counter[str]:
    """Hold the instances of these seeds; print and return how many certificates of which kind there were."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        seen += holds(DRAWS[name](np.random.default_rng(seed)), NODES[seed % len(NODES)])
    print(f"\n{name}, {len(seeds)}: {dict(seen)}, none refused by its own check")
    return seen


@pytest.mark.parametrize("name", DRAWS)
def test_a_sample_proves_what_it_says(name):
    """A few instances of each family and objective."""
    assert campaign(name, range(3 if "embeddings" not in name else 2)).total() >= 4


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_1000_free_streams_prove_what_they_say(part):
    """A thousand streams without ticks."""
    seen = campaign("free streams", range(1000 + 100 * part, 1100 + 100 * part))
    assert seen["prices"] >= 100


@pytest.mark.long
@pytest.mark.parametrize("name", list(DRAWS)[1:])
def test_hundreds_prove_what_they_say(name):
    """Three hundred instances of every other family and objective."""
    assert campaign(name, range(1000, 1300)).total() >= 300
