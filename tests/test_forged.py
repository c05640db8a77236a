"""Forged results: what is false is refused, what cannot be verified is called claimed, and nothing crashes.

A forgery changes one thing of a result that dlsched wrote. What the change is, says what has to come of it: ``REFUSED``, or
``CLAIMED``: passed, but the forged number stands on a line that says "claimed" and on none that says "verified".
"""

import copy
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import FAMILIES
from dlsched.cli.check import _lines
from dlsched.core.errors import InputError
from dlsched.core.family import AnyFamily
from dlsched.core.limits import Limits
from dlsched.families import family_of
from dlsched.results.reading import claim_from
from dlsched.results.verification import require_same_instance, verify_claim

INSTANCES = Path(__file__).parents[1] / "instances"
REFUSED, CLAIMED, ANY = "refused", "claimed", "any"
Forgery = tuple[str, dict[str, Any], str]


def seeded(family: str) -> Path:
    """The smallest of a family's shipped instances that were drawn from a seed."""
    return min((INSTANCES / family).glob("*-seed*.json"), key=lambda path: path.stat().st_size)


def results(instance: Any) -> Iterator[dict[str, Any]]:
    """Results of every method on an instance, as files hold them."""
    for name in family_of(instance).methods:
        try:
            result = dlsched.solve(instance, method=name, limits=Limits(time_s=30.0, nodes=2000))
        except dlsched.UsageError as refusal:
            # it is a method of another objective, or of slices
            assert "found the objective" in str(refusal) or "none on a slice of a GPU" in str(refusal)
            continue
        yield json.loads(json.dumps(result.as_data()))


def forgeries(data: dict[str, Any], better: float, generator: np.random.Generator) -> Iterator[Forgery]:
    """Forge each field; ``better`` is -1 where less is better, else 1."""

    def forged(what: str, expected: str, **fields: Any) -> Forgery:
        return what, copy.deepcopy(data) | fields, expected

    for name in ("colour", "=1+1", "", "verified: 1.0\n", "exact "):
        yield forged("method", REFUSED, method=name)
        yield forged("name", REFUSED, instance=data["instance"] | {"name": name or "x"})
        yield forged("solver", REFUSED, solver=name or "CPLEX 22")
        yield forged("figure", REFUSED, figures=data["figures"] | {name or "x": 1.0})
    yield forged("hash", REFUSED, instance=data["instance"] | {"sha256": "0" * 64})
    yield forged("family", REFUSED, family="elastic" if data["family"] != "elastic_stream" else "ring_allocation")
    yield forged("sense", REFUSED, sense="minimize" if data["sense"] == "maximize" else "maximize")
    yield forged("seed", REFUSED, seed=7 if data["seed"] is None else None)
    yield forged("runtime", REFUSED, runtime_s=-1.0)
    for status in ("optimal", "feasible", "no_solution", "infeasible", "time_limit", "node_limit"):
        if status != data["status"]:
            kept = {key: value for key, value in data["limits"].items() if not key.startswith(status[:4])}
            yield forged(f"{data['status']} called {status}", _of_status(data, status), status=status, limits=kept)
    for name, value in data["figures"].items():
        yield forged("figure", REFUSED, figures=data["figures"] | {name: value * 1.001 + 1e-3})
    if data["objective"] is not None:
        for factor in (1 - 1e-6, 1 + 1e-6, 0.5, 2.0, 1e308 / max(1.0, data["objective"])):
            off = (data["objective"] - data.get("constant", 0.0)) * (factor - 1)
            yield (
                forged("objective", REFUSED, objective=data["objective"] + off, gap=None)
                if off
                else forged("objective", REFUSED, objective=1.0, gap=None)
            )
        yield forged("objective alone", REFUSED, solution=None, gap=None)
        for _ in range(8):
            solution = _changed(data["solution"], generator)
            if solution is not None:
                yield forged("solution", ANY, solution=solution)
    if data["gap"] is not None:
        yield forged("gap", REFUSED, gap=data["gap"] + 1e-3)
    if data["bound"] is not None:
        worth = abs(data["bound"] - data.get("constant", 0.0))
        for share in (1e-3, 0.1):
            tighter = data["bound"] - better * share * worth if worth else data["bound"] - better
            fields = {"bound": tighter, "gap": None}
            expected = CLAIMED if data["objective"] is None else ANY
            yield forged("bound of a certificate", REFUSED, bound_source="certificate", **fields)
            yield forged("bound of someone", expected, bound_source="dlsched knapsack 0.1.0", **fields)
            yield forged("bound of a liar", REFUSED, bound_source="x\nverified: 4500.0 (exact)", **fields)
    if data["certificate"] is not None:
        yield forged("no certificate", REFUSED, certificate=None, bound_source="certificate")
        value = data["certificate"]["value"]
        lie = value - better * max(1e-6 * abs(value), 1e-9)
        yield forged("certificate's value", REFUSED, certificate=data["certificate"] | {"value": lie})
        for extreme in (1e308, -1e308, 1e-320, 3.5):
            changed = {key: _extreme(field, extreme, generator) for key, field in data["certificate"].items()}
            yield forged("certificate", ANY, certificate=changed | {"value": value})


def _of_status(data: dict[str, Any], status: str) -> str:
    """A status that can be told from the facts is refused; a bound's method may have ended in any way."""
    plain = data["objective"] is None and data["bound"] is not None and status in ("feasible", "no_solution")
    return ANY if plain else REFUSED


def _extreme(field: Any, extreme: float, generator: np.random.Generator) -> Any:
    """Put an extreme number in a certificate's place of a price or of one multiplier."""
    if isinstance(field, dict) and field:
        return field | {list(field)[int(generator.integers(len(field)))]: extreme}
    return extreme if isinstance(field, float) else field


def _changed(solution: Any, generator: np.random.Generator) -> Any:
    """Change one number or drop one entry of a decision, anywhere."""
    changed = copy.deepcopy(solution)
    places: list[tuple[Any, Any]] = []
    stack = [changed]
    while stack:
        each = stack.pop()
        for key, value in each.items() if isinstance(each, dict) else enumerate(each):
            places.append((each, key))
            if isinstance(value, dict | list):
                stack.append(value)
    inside, key = places[int(generator.integers(len(places)))]
    value = inside[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        if inside is changed:
            return None
        del inside[key]
    else:
        kind = type(value)
        inside[key] = [kind(value + 1), kind(value * 2), kind(-1), kind(1e15), 1e308][int(generator.integers(5))]
    return changed


def judge(instance: Any, what: str, data: dict[str, Any], expected: str) -> str:
    """Check a forgery; return ``refused`` or ``passed``."""
    family = family_of(instance)
    try:
        claim = claim_from(json.loads(json.dumps(data)), "forged")
        if claim.result is not None:
            require_same_instance(family, instance, claim.result, "forged")
        found = verify_claim(family, instance, claim)
    except InputError as error:
        assert "\n" not in str(error), (what, data)
        assert expected != CLAIMED, (what, str(error), data)
        return REFUSED
    lines = _lines(found)
    assert not any("\n" in line for line in lines)
    if not found:
        assert expected != CLAIMED, (what, lines, data)
        return REFUSED
    assert expected != REFUSED, (what, lines, data)
    if found.objective is not None:
        assert found.objective == pytest.approx(data["objective"], rel=1e-8)
    if found.claimed_bound is not None:
        said = [line for line in lines if repr(found.claimed_bound) in line]
        assert any(line.startswith("claimed: ") for line in said), (what, lines)
        assert not any(
            "verified" in line and line.startswith("verified") and repr(data["bound"]) in line for line in lines
        )
    if expected == CLAIMED:
        assert found.claimed_bound == data["bound"], (what, lines)
    return "passed"


def campaign(instances: Iterable[Any], rounds: int) -> Counter[str]:
    """Forge the results of these instances; return how many were refused and how many passed."""
    seen: Counter[str] = Counter()
    for instance in instances:
        for number, data in enumerate(results(instance)):
            assert judge(instance, "true", data, ANY) == "passed", data
            better = -1.0 if data["sense"] == "minimize" else 1.0
            for turn in range(rounds):
                for what, forged, expected in forgeries(data, better, np.random.default_rng([number, turn])):
                    seen[judge(instance, what, forged, expected)] += 1
    return seen


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_forged_results_are_refused_or_called_claimed(family: AnyFamily) -> None:
    """A sample: every field of results of every method on the example."""
    seen = campaign([family.example()], 1)
    assert seen["refused"] > 5 * seen["passed"] > 0


@pytest.mark.long
def test_many_forged_results() -> None:
    """At least ten thousand, of all families."""
    drawn = (dlsched.read(seeded(family)).model_copy(update={"known": None}) for family in FAMILIES)
    seen = campaign([*(family.example() for family in FAMILIES.values()), *drawn], 2)
    print(dict(seen))
    assert seen.total() >= 10_000
