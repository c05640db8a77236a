"""``CASES``, what tests need of each family (``case`` of its record), and draws that several families share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dlsched.allocation.cost_table import CostTable
from dlsched.catalogue.families import load
from dlsched.core.errors import UsageError
from dlsched.core.family import InstanceT
from dlsched.core.ranges import NOTHING, Range
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
        target = FAMILIES[family].case
        if not target:
            raise UsageError(where=f"family {family}", found="no case", allowed="`case` in the record, a target")
        case: AnyCase = load(target)
        return case

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


CASES: Mapping[str, AnyCase] = _Cases()


def fitting(allowed: Sequence[Sequence[int]], capacity: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of one allowed number (given ascending) each whose sum fits, in lexicographic order.

    >>> list(fitting([(1, 2), (1, 2, 4)], 4))
    [(1, 1), (1, 2), (2, 1), (2, 2)]
    """
    if not allowed:
        yield ()
        return
    reserve = sum(counts[0] for counts in allowed[1:])  # prefixes without room for the rest are dropped
    for count in allowed[0]:
        if count + reserve > capacity:
            return
        for rest in fitting(allowed[1:], capacity - count):
            yield count, *rest


Data: TypeAlias = dict[str, Any]
"""Fields of an instance's file."""


def several(draw: st.DrawFn, kind: st.SearchStrategy[Data], number: int) -> list[Data]:
    """Draw ``number`` jobs of a kind, sometimes all equal."""
    identical = draw(st.integers(0, 5)) == 0
    return [draw(kind)] * number if identical else [draw(kind) for _ in range(number)]


def named(jobs: Sequence[Data]) -> list[Data]:
    """Jobs with ids by their position."""
    return [{"id": f"j{index}", **job} for index, job in enumerate(jobs)]


def odd(low: float, high: float, digits: int = 6) -> st.SearchStrategy[float]:
    """Draw numbers from ``low`` to ``high`` with few digits."""
    return st.floats(low, high, allow_subnormal=False).map(lambda value: float(f"{value:.{digits}g}"))


def values(drawn: Range, digits: int = 6) -> st.SearchStrategy[float]:
    """Draw test values of a range: ties, edges, and numbers in between with so many digits."""
    few = [st.just(*each) if len(each) == 1 else st.sampled_from(each) for each in (drawn.ties, drawn.edges) if each]
    kinds = few if drawn.tested == NOTHING else [*few, odd(*drawn.tested, digits)]
    return st.one_of(*kinds) if len(kinds) > 1 else kinds[0]


def whole_numbers(drawn: Range) -> st.SearchStrategy[int]:
    """Draw test values of a range of whole numbers."""
    low, high = drawn.tested
    return st.integers(int(low), int(high))


def numbers(low: float, high: float, whole: bool | None) -> st.SearchStrategy[float]:
    """Numbers from one whole number to another: whole ones, of which many tie; floats in between; None: either."""
    low, high = int(low), int(high)
    integers = st.integers(low, high).map(float)
    if whole is not None:
        return integers if whole else odd(low, high)
    few = st.integers(low, min(high, low + 3)).map(float)
    return st.one_of(few, integers, odd(low, high))


@st.composite
def cost_tables(
    draw: st.DrawFn, *, max_jobs: int = 5, max_pairs: int = 6, max_count: int = 12, whole: bool | None = None
) -> CostTable:
    """Cost tables for ``dlsched.allocation``: any counts, costs of either sign, ties, identical jobs.

    ``whole``: True for whole-numbered costs, False for floats, None for both.
    """
    cost = numbers(-9, 60, whole)
    rows = [
        draw(st.dictionaries(st.integers(1, max_count), cost, min_size=1, max_size=max_pairs))
        for _ in range(draw(st.integers(1, max_jobs)))
    ]
    if draw(st.integers(0, 4)) == 0:
        rows = rows[:1] * len(rows)
    return CostTable.from_rows(rows)
