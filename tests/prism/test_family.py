"""The family prism: every method against brute force, the checker's rules, certificates, and what is refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from prism import FAMILY, Instance, Placement
from prism.certificate import certificate_of, verify
from prism.checker import check, largest_pressure
from prism.exact import partition
from prism.testing import CASE, brute_force, instances

from dlsched.certificates import PriceCertificate
from dlsched.core.errors import InputError, InstanceError, UsageError
from dlsched.core.limits import Limits
from dlsched.core.result import FrozenMapping
from dlsched.core.status import TerminationStatus


def small(*rows: tuple[float, float, float], gpus: int = 2, memory_gb: float = 80.0) -> Instance:
    """Models a, b, ... by size, requests and target."""
    fields = ("id", "size_gb", "requests_per_s", "slo")
    jobs = [dict(zip(fields, (chr(97 + n), *row), strict=True)) for n, row in enumerate(rows)]
    return Instance(name="small", gpus=gpus, memory_gb=memory_gb, jobs=jobs)


@pytest.mark.parametrize("method", FAMILY.methods)
def test_methods_keep_to_the_optimum_by_brute_force(method: str) -> None:
    """Exact methods meet it, heuristics are not below it, bounds are not above it, certificates verify."""

    @settings(derandomize=True, max_examples=15, deadline=None, database=None)
    @given(instances())
    def holds(instance: Instance) -> None:
        if CASE.refuses(method, instance):
            with pytest.raises(UsageError):
                FAMILY.solve(instance, method=method)
            return
        result, found = FAMILY.solve(instance, method=method), brute_force(instance)
        if found is None:
            assert result.status is TerminationStatus.INFEASIBLE
            return
        if FAMILY.methods[method].kind == "exact":
            assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, found[0])
        if result.solution is not None:
            assert not check(instance, result.solution) and result.objective >= found[0]
        if result.certificate is not None:
            exact = verify(instance, result.certificate)
            assert result.certificate.value <= exact <= largest_pressure(instance, found[1])

    holds()


def test_branching_settles_what_weights_cannot() -> None:
    """Six models that fit in pairs of two triangles: fractions of three sets cover them, four sets are needed."""
    pairs = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    sets = [*((each,) for each in range(6)), *pairs]
    counted: list[int] = []
    assert partition(sets, 6, 3, counted.append) is None
    assert sum(counted) > 1
    assert sorted(index for each in partition(sets, 6, 4, counted.append) for index in each) == list(range(6))


def test_no_placement_is_proven_where_counting_does_not() -> None:
    """Three models of half the memory and more on two GPUs."""
    instance = small((41, 1, 1), (41, 1, 1), (41, 1, 1), gpus=2)
    for method in ("exact", "cpsat", "weights"):
        assert FAMILY.solve(instance, method=method).status is TerminationStatus.INFEASIBLE
    assert FAMILY.solve(instance, method="portfolio").status is TerminationStatus.NO_SOLUTION


def test_the_checker_names_what_is_broken() -> None:
    """A model without a GPU, on one that does not exist, one that is not there, and memory used up to the end."""
    instance = small((40, 1, 1), (40, 1, 1), (1, 1, 1))
    broken = {
        "a": Placement(FrozenMapping({"b": 0, "c": 0})),
        "b": Placement(FrozenMapping({"a": 0, "b": 2, "c": 0})),
        "d": Placement(FrozenMapping({"a": 0, "b": 1, "c": 1, "d": 0})),
    }
    for where, placement in broken.items():
        assert [(each.rule, each.where) for each in check(instance, placement)] == [("assignment", where)]
    (full,) = check(instance, Placement(FrozenMapping({"a": 0, "b": 0, "c": 1})))
    assert (full.rule, full.where, full.amount) == ("memory", "gpu0", 0.0)


def test_weights_prove_what_they_say_and_no_more() -> None:
    """By hand: of two GPUs one has half of a weight of 2 on a and 1 on b and c, so a alone, or b with c."""
    instance = small((40, 8, 8), (20, 4, 8), (20, 8, 8))
    certificate = certificate_of(instance, [2, 1, 1], Fraction(1, 40))
    assert verify(instance, certificate) == Fraction(1, 40)
    for refused in (
        PriceCertificate(1.0, 1.0),
        certificate_of(instance, [0, 0, 0], Fraction(1)),
        certificate_of(small((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1)), [1, 1, 1, 1], Fraction(1)),
    ):
        with pytest.raises(ValueError):
            verify(instance, refused)


def test_limits_stop_with_an_answer() -> None:
    """No node at all: the baseline is offered."""
    instance = FAMILY.generate(preset="task", seed=20)
    result = FAMILY.solve(instance, limits=Limits(nodes=0))
    assert result.status is TerminationStatus.NODE_LIMIT and result.solution is not None
    result = FAMILY.solve(instance, method="cpsat", limits=Limits(nodes=1))
    assert result.status is TerminationStatus.NODE_LIMIT and result.solution is not None


def test_wrong_data_are_located() -> None:
    """Two models of one id, a size of 0, a GPU that is no number, an argument of the generator."""
    with pytest.raises(InstanceError, match="unique ids"):
        Instance(name="x", gpus=1, memory_gb=80.0, jobs=[FAMILY.example().jobs[0]] * 2)
    with pytest.raises(InstanceError, match="size_gb"):
        small((0, 1, 1))
    with pytest.raises(InputError, match=r"solution.gpus"):
        FAMILY.read_solution({"gpus": {"a": "first"}}, FAMILY.example())
    for arguments in ({"preset": "task", "seed": 50}, {"preset": "task", "jobs": 3}, {"jobs": 0}, {"preset": "no"}):
        with pytest.raises(UsageError):
            FAMILY.generate(**arguments)


def test_the_example_has_the_optimum_that_it_states() -> None:
    """1/40, with model a alone."""
    assert FAMILY.solve(FAMILY.example()).objective == 1 / 40
