"""Nasty numbers, and one nasty instance through everything that dlsched has for it: every method, the check of every result."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.core.gap import MEETING, rounding
from dlsched.core.limits import Limits
from dlsched.core.ranges import MAGNITUDES
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of
from dlsched.results.reading import claim_from
from dlsched.results.verification import verify_claim

OWN, OTHERS = 1e-9, 1e-6
"""Relative errors allowed of objectives and bounds: of our own algorithms, and where another's solver answers."""

POWERS = tuple(map(math.log10, MAGNITUDES))
"""Least and most power of ten of a number that may be anything."""
NEAR = (1.0, 1.0 + 1e-12, 1.0 + 3e-12, 1.0 - 1e-9, 0.1 + 0.2)
"""Factors that tie, or miss a tie by rounding."""


def magnitude(generator: np.random.Generator) -> float:
    """A number of any magnitude."""
    return float(10.0 ** generator.uniform(*POWERS))


def magnitudes(generator: np.random.Generator, quantities: Collection[str]) -> Callable[[str], float]:
    """How an instance draws its quantities: near 1, a few values, or anything, each about a base of its own."""
    bases = {name: magnitude(generator) if generator.random() < 0.4 else 1.0 for name in quantities}
    ways = {name: generator.integers(5) for name in quantities}

    def draw(name: str) -> float:
        match ways[name]:
            case 0:
                factor = 1.0
            case 1:
                factor = float(generator.choice(NEAR))
            case 2:
                factor = float(generator.choice([1.0, 2.0, 4.0, 0.5, 3.0]))
            case 3:
                factor = float(generator.choice([1e-9, 1.0, 1e9]))
            case _:
                factor = 10.0 ** generator.uniform(-4, 4)
        return bases[name] * factor

    return draw


def hold(
    instance: Any,
    optimum: float | None,
    *,
    exact: bool = True,
    limits: Limits | None = None,
    skip: Collection[str] = (),
    others: Collection[str] = (),
    meeting: Collection[str] = (),
    size: float = 0.0,
) -> Counter[str]:
    """Run every method on an instance and hold its result to the optimum; None: it is infeasible.

    Parameters
    ----------
    exact
        Whether ``optimum`` is the optimum; otherwise it is a bound, and only held against objectives.
    limits
        Of every method; 20 s if none are given, so that nothing hangs.
    skip
        Methods that are left out.
    others
        Methods, besides those with ``solvers``, whose answer is another's solver's.
    meeting
        Methods that end when their bound meets the objective: what they call optimal may miss the optimum by ``MEETING``,
        while objective and bound stay on their sides of it as those of all our own algorithms.
    size
        Of what the objective is the difference of, where that can be far larger; errors allowed are relative to it then.

    Returns
    -------
    How often each "method status" came; ``refused`` where a method refuses the instance with a reason.
    """
    family = family_of(instance)
    constant, seen = family.constant(instance), Counter()
    for method in family.methods.values():
        if method.name in skip:
            continue
        try:
            result = family.solve(instance, method=method.name, limits=limits or Limits(time_s=20.0))
        except UsageError:
            seen[f"{method.name} refused"] += 1
            continue
        said = f"{method.name}: {result.status} {result.objective!r} bound {result.bound!r}, optimum {optimum!r}"
        said += f"; {result.message}; {json.dumps(instance.as_data())}"
        seen[f"{method.name} {result.status}"] += 1
        assert result.status is not TerminationStatus.SOLVER_ERROR, said
        failures = verify_claim(
            family, instance, claim_from(json.loads(json.dumps(result.as_data())), "result")
        ).failures
        assert not failures, f"{failures}; {said}"
        if optimum is None:
            assert result.objective is None, said
            continue
        assert result.status is not TerminationStatus.INFEASIBLE, said
        near = OTHERS if method.solvers or method.name in others else OWN
        slack = near * max(abs(optimum - constant), size) + rounding(optimum, constant)
        sign = 1.0 if family.sense_for(instance) == "minimize" else -1.0
        if result.objective is not None:
            assert sign * (result.objective - optimum) >= -slack, said
            if exact and result.status is TerminationStatus.OPTIMAL:
                open_to = MEETING * abs(result.objective - constant) if method.name in meeting else 0.0
                assert abs(result.objective - optimum) <= slack + open_to, said
        if exact and result.bound is not None:
            assert sign * (optimum - result.bound) >= -slack, said
    return seen


def campaign(
    draw: Callable[[np.random.Generator], Any],
    brute_force: Callable[[Any], tuple[float, Any] | None],
    seeds: Iterable[int],
    size: Callable[[Any], float] = lambda instance: 0.0,
    **options: Any,
) -> Counter[str]:
    """Hold the instances of these seeds, each of a ``size``; return what came how often."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        instance = draw(np.random.default_rng(seed))
        found = brute_force(instance)
        seen += hold(instance, None if found is None else found[0], size=size(instance), **options)
    return seen
