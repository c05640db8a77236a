"""The formulation ``priced`` at prices and a cutoff that are found: by column generation, and by the beam search.

Nothing that is found here has to be believed: ``formulations.priced`` says what its model holds at any prices and cutoff.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.core.limits import TooMany
from dlsched.matching_placement.arrays import arrays, counts_of
from dlsched.matching_placement.configurations.generation import generate_columns
from dlsched.matching_placement.configurations.thresholds import bound_by_prices
from dlsched.matching_placement.formulations.milp import build_milp
from dlsched.matching_placement.formulations.priced import build_priced
from dlsched.matching_placement.heuristics.beam import beam
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.parametric import Parametric

if TYPE_CHECKING:
    import pulp

NONE = "none"
"""The cutoff of a model that holds all placements."""


def build(
    instance: Instance, *, prices: str | None = None, cutoff: str | None = None, complete: bool = False
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build the model.

    Parameters
    ----------
    instance
        A valid instance.
    prices
        Numbers by type, in order of the types' first workers, with blanks between them; None: the prices of the linear program
        over configurations.
    cutoff
        An objective, or "none"; None: that of the beam search.
    complete
        Whether all placements remain: the model is ``milp``.

    Raises
    ------
    UsageError
        As ``formulations.priced.build_priced``.
    """
    if complete:
        return build_milp(instance, complete=True)
    if prices is None or cutoff is None:
        found_prices, found_cutoff = found(instance)
        prices, cutoff = prices or _written(found_prices), cutoff or found_cutoff
    upto = None if cutoff == NONE else _read("cutoff", cutoff)
    built = build_priced(instance, [_read("prices", price) for price in prices.split()], upto)
    return replace(built, parameters={"prices": prices, "cutoff": cutoff})


PRICED = Parametric(build, ("prices", "cutoff"))
"""The builder of ``priced``."""


def found(instance: Instance) -> tuple[list[float], str]:
    """Return prices of the types, and a cutoff in words: the objective of a good placement, none if there is no placement."""
    data, held = arrays(instance), beam(instance)
    if held is None:
        return [0.0] * data.types, NONE
    start = counts_of(instance, held)
    try:
        prices = (
            bound_by_prices(data, data.total(start))[1] if data.bottleneck else generate_columns(data, start).prices
        )
    except TooMany:
        prices = np.zeros(data.types)
    return prices.tolist(), repr(float(objective_of(instance).value(instance, held)))


def _written(prices: list[float]) -> str:
    return " ".join(map(repr, prices))


def _read(where: str, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UsageError(where=where, found=repr(word), allowed="numbers") from None
