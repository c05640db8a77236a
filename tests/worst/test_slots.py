"""The earliest refusals of a GPU with slots, against the policies themselves on every sequence of jobs."""

from itertools import combinations_with_replacement, permutations, product

import pytest

from dlsched import srpt_mapping
from dlsched.cluster.slicing import GEOMETRIES
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.heuristics import fifo
from dlsched.worst.slots import earliest_refusal

DOUBLE = ("1g.10gb", "1g.20gb", "1g.24gb", "1g.35gb", "1g.45gb")
"""1g with the memory of 2g, of which no source has the driver's order; on an A100-40GB ``1g.10gb``."""


def without_double(name):
    """The profiles of which the order is known."""
    shape = GEOMETRIES[name]
    double = {each for each, profile in shape.profiles.items() if each.startswith("1g") and profile.size == 2}
    assert double <= set(DOUBLE)
    return shape._replace(profiles={each: profile for each, profile in shape.profiles.items() if each not in double})


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("rule", ["first-fit", "fgd"])
def test_half_a_gpu_is_used(name, rule):
    """4 of 8 slots by 2g, 2g, then 3g; on an A30 nothing is refused that fits. That no rule has more than 4 is shown by hand."""
    found = earliest_refusal(without_double(name), rule)
    if name.startswith("A30"):
        assert found is None
    else:
        assert found.used == 4 and [each[:2] for each in found.profiles] == ["2g", "2g", "3g"]
        assert earliest_refusal(GEOMETRIES[name], "fgd").used == 4
        whole = earliest_refusal(GEOMETRIES[name], "first-fit")
        assert whole.used == 2 and [each[:2] for each in whole.profiles] == ["1g", "4g"]
        assert whole.profiles[0] in DOUBLE


def fits(shape, jobs):
    """Whether jobs have starts without a common slot, by trying all."""
    for starts in product(*(shape.profiles[job].starts for job in jobs)):
        slots = [at + k for job, at in zip(jobs, starts, strict=True) for k in range(shape.profiles[job].size)]
        if len(slots) == len(set(slots)):
            return True
    return False


def least_used(name, profiles, rule, most):
    """The fewest slots used when the policy lets a job wait, over all orders of at most so many jobs that fit at once."""
    shape, least = GEOMETRIES[name], []
    stage = {"replicas": 1, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}
    for size in range(1, most + 1):
        for jobs in combinations_with_replacement(profiles, size):
            if sum(shape.profiles[job].size for job in jobs) > shape.slots or not fits(shape, jobs):
                continue
            for order in set(permutations(jobs)):
                instance = srpt_mapping.Instance(
                    name="one",
                    intra_bandwidth_bytes_per_s=1.0,
                    nic_bandwidth_bytes_per_s=1.0,
                    servers=[{"id": "s", "gpus": 1, "slicing": name}],
                    jobs=[
                        {"id": f"j{k}", "release_s": 0, "iterations": 1, "stages": [stage], "profile": job}
                        for k, job in enumerate(order)
                    ],
                )
                schedule = fifo(instance, backfill=True, slices=rule)
                waits = [k for k in range(size) if schedule.jobs[f"j{k}"].start_s > 0]
                if waits:
                    least.append(sum(shape.profiles[job].size for job in order[: waits[0]]))
    return min(least, default=None)


@pytest.mark.parametrize("rule", ["first-fit", "best-fit", "dot-product", "fgd"])
@pytest.mark.parametrize(("name", "most"), [("A30-24GB", 4), ("A100-40GB", 5)])
def test_the_policies_refuse_as_early(name, most, rule):
    """On one GPU best fit and the dot product do as first fit."""
    shape = without_double(name)
    found = earliest_refusal(shape, "fgd" if rule == "fgd" else "first-fit")
    assert least_used(name, list(shape.profiles), rule, most) == (None if found is None else found.used)


def test_double_memory():
    """With 1g.10gb in ascending order first fit refuses 4g.20gb beside it; FGD knows better."""
    assert least_used("A100-40GB", ["1g.10gb", "4g.20gb"], "first-fit", 2) == 2
    assert least_used("A100-40GB", ["1g.10gb", "4g.20gb"], "fgd", 2) is None


def test_no_rule_uses_more_than_half():
    """Wherever four 1g go, 4g has no start beside at most three of them, or 3g none beside all; each time they fit at once."""
    ones, shape = GEOMETRIES["A100-40GB"].masks("1g.5gb"), GEOMETRIES["A100-40GB"]
    assert fits(shape, ["1g.5gb"] * 3 + ["4g.20gb"]) and fits(shape, ["1g.5gb"] * 4 + ["3g.20gb"])
    for order in permutations(ones, 4):
        used = [sum(order[:count]) for count in range(1, 5)]
        refused = any(all(mask & each for mask in shape.masks("4g.20gb")) for each in used[:3])
        assert refused or all(mask & used[3] for mask in shape.masks("3g.20gb"))


@pytest.mark.parametrize(("rule", "touched"), [("first-fit", 2), ("best-fit", 2), ("fgd", 9)])
def test_gpus_touched(rule, touched):
    """Nine jobs of a thousandth and one of 999 fit on two of nine GPUs; FGD spreads the small ones over all."""
    stage = {"replicas": 1, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}
    instance = srpt_mapping.Instance(
        name="nine",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        servers=[{"id": "s", "gpus": 9, "slicing": "shares"}],
        jobs=[
            {"id": f"j{k}", "release_s": 0, "iterations": 1, "stages": [stage], "gpu_share": share}
            for k, share in enumerate([0.001] * 9 + [0.999])
        ],
    )
    schedule = fifo(instance, backfill=True, slices=rule)
    assert len({start.placement[0].gpus for start in schedule.jobs.values()}) == touched
    assert {start.start_s for start in schedule.jobs.values()} == {0.0}


def test_unknown_rules_are_refused():
    """The message lists the rules."""
    with pytest.raises(UsageError, match="rule: found 'worst-fit', allowed: first-fit, fgd"):
        earliest_refusal(GEOMETRIES["A30-24GB"], "worst-fit")
