"""Models with parameters: what their proofs need, and what a limit leaves of what is proven."""

from fractions import Fraction

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.core.status import Sense
from dlsched.solvers.formulation import Formulation, Parametric, bound_of_all, rebuilt


def build(instance: object, *, size: str = "3") -> Formulation[str, object]:
    """A model that is a text."""
    if not size.isdecimal():
        raise UsageError(where="size", found=size, allowed="a number")
    return Formulation(f"{instance} {size}", lambda values: values, parameters={"size": size})


SIZED = Parametric(build, ("size",))


def test_parameters_are_found_or_given() -> None:
    """The model says which, so that it can be built again."""
    assert SIZED("a").model == "a 3"
    assert SIZED("a", size="4").model == "a 4"
    assert SIZED("a", **SIZED("a").parameters).model == SIZED("a").model


def test_a_file_names_them() -> None:
    """All of them, and those only; a builder without parameters takes nothing from a file."""
    assert rebuilt(SIZED, "a", {"size": "5", "other": "6"}, "file").model == "a 5"
    assert rebuilt(build, "a", {"size": "5"}, "file").model == "a 3"
    with pytest.raises(InputError, match="file: found no comment size"):
        rebuilt(SIZED, "a", {}, "file")
    with pytest.raises(InputError, match="file: size: found x"):
        rebuilt(SIZED, "a", {"size": "x"}, "file")


@pytest.mark.parametrize(
    ("sense", "bound", "infeasible", "found"),
    [
        (Sense.MINIMIZE, 3, False, 3),
        (Sense.MINIMIZE, 7, False, 5),
        (Sense.MINIMIZE, None, True, 5),
        (Sense.MINIMIZE, None, False, None),
        (Sense.MAXIMIZE, 7, False, 7),
        (Sense.MAXIMIZE, 3, False, 5),
        (Sense.MAXIMIZE, None, True, 5),
    ],
)
def test_no_bound_is_beyond_the_limit(sense: Sense, bound: int | None, infeasible: bool, found: int | None) -> None:
    """A limit of 5; without one nothing changes."""
    given = None if bound is None else Fraction(bound)
    assert bound_of_all(given, 5.0, sense, infeasible=infeasible) == found
    assert bound_of_all(given, None, sense, infeasible=infeasible) == given
