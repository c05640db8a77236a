"""``CASES``, the data that tests need on each family, from ``dlsched.testing.<family>.CASE``."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeAlias

from hypothesis.strategies import SearchStrategy

from dlsched.core.family import InstanceT
from dlsched.core.result import SolutionT
from dlsched.families import FAMILIES


@dataclass(frozen=True, kw_only=True)
class Case(Generic[InstanceT, SolutionT]):
    """A family as tests see it.

    Parameters
    ----------
    instances
        The strategy of its instances, small enough for brute force.
    brute_force
        The optimum of a small instance and a solution that attains it, None when infeasible. It knows none of the
        family's algorithms.
    too_hard
        Whether a method, by its name, needs minutes on a small instance, so that tests leave it out.
    refuses
        Whether a method, by its name, must refuse an instance with ``UsageError``, since it does not serve its objective.
    """

    instances: Callable[..., SearchStrategy[InstanceT]]
    brute_force: Callable[[InstanceT], tuple[float, SolutionT] | None]
    too_hard: Callable[[str, InstanceT], bool] = lambda method, instance: False
    refuses: Callable[[str, InstanceT], bool] = lambda method, instance: False


AnyCase: TypeAlias = Case[Any, Any]
"""A case of a family that is known by its name only."""


class _Cases(Mapping[str, AnyCase]):
    """The cases by family; each is imported on first use."""

    def __getitem__(self, family: str) -> AnyCase:
        if family not in FAMILIES:
            raise KeyError(family)
        case: AnyCase = import_module(f"dlsched.testing.{family}").CASE
        return case

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


CASES: Mapping[str, AnyCase] = _Cases()
