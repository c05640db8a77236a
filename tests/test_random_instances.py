"""Twenty thousand random instances of all families and objectives by every method: brute force, and the check of every result.

Numbers are nasty: ties, near ties, 24 orders of magnitude. Half of the instances that can have them have weights, jobs that end
early, or jobs that run already. Streams without ticks have no optimum to compare with: their results are held against the
family's bound. Methods that call solvers, each of which costs a process, run on one instance in twenty.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from async_sgd.nasty import nasty as nasty_async
from elastic_stream.nasty import nasty as nasty_stream
from matching_placement.nasty import nasty as nasty_placement
from matching_placement.nasty import nasty_objective as nasty_fair_placement
from nasty import hold
from ring_allocation.nasty import nasty as nasty_allocation
from ring_embedding.nasty import most_gained
from ring_embedding.nasty import nasty as nasty_ring
from ring_embedding.nasty import nasty_objective as nasty_ring_objective
from srpt_mapping.nasty import nasty as nasty_gangs

from dlsched import elastic_stream
from dlsched.families import FAMILIES
from dlsched.testing import CASES

PROGRAMS = 20
"""One instance of so many is given to solvers, too."""


class Kind(NamedTuple):
    """A family with an objective: how an instance is drawn, and what its results are held to."""

    family: str
    draw: Callable[[np.random.Generator], Any]
    share: int
    """Of a hundred instances."""
    size: Callable[[Any], float] = lambda instance: 0.0
    others: tuple[str, ...] = ()
    """Methods whose ``optimal`` meets a bound of linear programs, within 1e-6."""
    meeting: tuple[str, ...] = ()
    """Methods that end when certified bounds meet their objective, as docs/formats.md says: within 1e-6."""


KINDS = {
    "ring_allocation": Kind("ring_allocation", nasty_allocation, 16),
    "async_sgd": Kind("async_sgd", nasty_async, 14),
    "stream with ticks": Kind(
        "elastic_stream", lambda rng: nasty_stream(rng, True, weighted=rng.random() < 0.5), 14, meeting=("plan",)
    ),
    "stream": Kind("elastic_stream", lambda rng: nasty_stream(rng, False, weighted=rng.random() < 0.5), 10),
    "placement": Kind("matching_placement", nasty_placement, 12),
    "fair placement": Kind("matching_placement", nasty_fair_placement, 10),
    "gangs": Kind("srpt_mapping", lambda rng: nasty_gangs(rng, begun=rng.random() < 0.5), 14),
    "rings": Kind("ring_embedding", nasty_ring, 4, others=("exact", "plan")),
    "objectives of rings": Kind("ring_embedding", nasty_ring_objective, 6, most_gained, others=("exact", "plan")),
}


def optimum_of(kind: Kind, instance: Any) -> tuple[float | None, bool]:
    """What brute force finds, None where it is infeasible; without ticks a bound, and False: it is no optimum."""
    if kind.family == "elastic_stream" and instance.tick_s is None:
        return None if elastic_stream.infeasible(instance) else elastic_stream.bound(instance).value, False
    found = CASES[kind.family].brute_force(instance)
    return None if found is None else found[0], True


def hold_one(name: str, seed: int) -> Counter[str]:
    """One instance by every method, or by those without a solver."""
    kind = KINDS[name]
    instance = kind.draw(np.random.default_rng([seed, *name.encode()]))
    optimum, exact = optimum_of(kind, instance)
    by_solvers = {method.name for method in FAMILIES[kind.family].methods.values() if method.solvers}
    if name in ("rings", "objectives of rings"):
        by_solvers |= {"circuit", "slot-greedy"}
    if name == "gangs":
        by_solvers.add("intervals")
    skip = by_solvers if seed % PROGRAMS else set()
    if name == "stream":  # no program without ticks
        skip = by_solvers
    return hold(
        instance,
        optimum,
        exact=exact,
        size=kind.size(instance),
        others=kind.others,
        meeting=kind.meeting,
        skip=skip,
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_sample(name: str) -> None:
    """An instance of each kind by every method, and three without solvers."""
    seen = sum((hold_one(name, seed) for seed in (1, 2, 3, PROGRAMS)), Counter[str]())
    assert seen.total() >= 20


@pytest.mark.parametrize("seed", [766, 2219])
def test_streams_at_the_edge(seed: int) -> None:
    """A plan that its bound meets 1.3e-9 above the optimum; an arrival that is a tick but for as much as may be."""
    assert hold_one("stream with ticks", seed)["plan optimal"] == 1


@pytest.mark.long
@pytest.mark.parametrize("block", range(20))
def test_twenty_thousand(block: int) -> None:
    """A thousand a block, of all kinds by their shares."""
    seen: Counter[str] = Counter()
    for name, kind in KINDS.items():
        for seed in range(10 * kind.share * block, 10 * kind.share * (block + 1)):
            seen += hold_one(name, seed)
    print(f"\n{dict(sorted(seen.items()))}")
