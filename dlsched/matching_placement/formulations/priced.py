"""matching_placement over the configurations that a placement up to a cutoff can use: ``milp`` with few of its columns.

Job i costs k_i(c) >= 0 with the configuration c, at prices p_g >= 0 of the workers at least u_i = min_c (k_i(c) + p c) in all.
There are s_g workers of type g.

*Theorem.* Let the costs of a placement add up to at most U. Then each job i has a configuration c with

    k_i(c) + p c  <=  U + p s - sum_{j != i} u_j   =: allowed_i.

*Proof.* A placement c_1 .. c_S keeps the stock: sum_j p c_j <= p s. So sum_j (k_j(c_j) + p c_j) <= U + p s. Each term with
j != i is at least u_j, and what is left for i is allowed_i.

So the columns of the model are the pairs (i, c) of ``milp`` with k_i(c) + p c <= allowed_i, and a placement with any other column
is worse than the cutoff. The optimum of the instance is the model's, or beyond the cutoff, whatever the prices are: they only
decide how many columns are left. (Prices of the linear program over configurations leave few.)

============== ============================ ========================================= ===============================
objective      k_i(c)                       U, from the cutoff as an objective        limit of the placements
============== ============================ ========================================= ===============================
``mean``       J_i(c)                       S times the cutoff                        mean <= cutoff
``alpha_fair`` offset_i - U_i(c)            sum_i offset_i - cutoff                   sum of utilities >= cutoff
``max_rho``    0 if J_i(c) / J_i(equal      0                                         each ratio <= cutoff
               share) <= cutoff, else inf
============== ============================ ========================================= ===============================

Offsets are those of ``algorithms.time_costs``; names and rows are those of ``milp``. u_i is found as certificates of prices are
verified, by ``least_values``. Floats may be off: allowed_i is raised by ``ROOM`` of all that is added up, some thousand
times what n terms of 2^-52 can be off for n of some thousands, so that only too many columns are listed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.algorithms.time_costs import Fair
from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays
from dlsched.matching_placement.configurations.least_value import (
    FairCost,
    Law,
    Seconds,
    Within,
    cheapest_rate,
    least_values,
)
from dlsched.matching_placement.formulations.milp import LARGEST, build_milp
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.formulation import Formulation

if TYPE_CHECKING:
    import pulp

ROOM = 2.0**-32
"""Part of all that is added up by which a limit is raised; a power raises it as it raises errors."""
VAST = 1e150
"""Largest price; sums and products of larger ones may not be finite."""
CELLS = 20_000_000
"""Largest number of counts, those of vectors that are extended, at a time: 160 MB."""
WORK = 400_000_000
"""Largest number of counts in all: twenty times the largest at a time."""


def build_priced(
    instance: Instance, prices: Sequence[float], cutoff: float | None
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build the model at prices of the types' workers; it has every placement up to the objective ``cutoff`` (None: all).

    UsageError: prices or cutoff are no such numbers, or too many columns, or too many vectors on the way to them.
    """
    if cutoff is None:
        return build_milp(instance)
    built = build_milp(instance, columns=columns_within(arrays(instance), instance, prices, cutoff))
    built.model.name = f"matching_placement_up_to_{cutoff!r}"
    return replace(built, limit=cutoff)


def columns_within(data: Arrays, instance: Instance, prices: Sequence[float], cutoff: float) -> list[Counts]:
    """Configurations of every job that a placement up to the cutoff can use, and maybe some more; errors as above."""
    if len(prices) != data.types or not all(0 <= price <= VAST for price in prices):
        raise UsageError(where="prices", found=list(prices), allowed=f"{data.types} numbers from 0 to {VAST:g}")
    if not math.isfinite(cutoff):
        raise UsageError(where="cutoff", found=cutoff, allowed="a finite number")
    unit_prices = np.array(prices)
    law, total = cast("tuple[Law, float]", objective_of(instance).law(data, cutoff))
    least = least_values(data, unit_prices, law).tolist()
    if math.inf in least:  # a job without any configuration within the cutoff: there is no such placement
        return [np.zeros((0, data.types), dtype=np.int64) for _ in least]
    # allowed_i of the theorem is most - (all_least - least[i]), raised by the room for rounding
    all_least, most = math.fsum(least), total + float(dot(unit_prices, data.stock))
    room = ROOM * data.costs.steepness * (abs(most) + abs(total) + all_least + float(np.abs(data.costs.offset).sum()))
    columns_of, work = list[Counts](), 0
    for job in range(data.jobs):
        columns, cells = listed(data, job, law, unit_prices, most - (all_least - least[job]) + room)
        columns_of.append(columns)
        work += cells
        if work > WORK or sum(map(len, columns_of)) > LARGEST:
            raise _too_many()
    return columns_of


def listed(data: Arrays, job: int, law: Law, prices: Floats, allowed: float) -> tuple[Counts, int]:
    """List every configuration of a job with cost and price of at most ``allowed``; and how many counts that took.

    Count vectors are extended type by type, by rising bandwidth, for all sizes n of the whole at once. The first type taken is
    the slowest, so it and n fix the ring. A vector of rate R and price P is dropped if too few workers are left for its n, or
    if P and the least of cost at the rate R + x and price of x, x >= 0 made of fractions of the types to come, are more than
    ``allowed``: no extension costs less.
    """
    # one vector for each size; ``missing`` workers are still to come
    able = data.able(job)
    kinds = able[np.argsort(data.bandwidth[able], kind="stable")]
    size: Counts = np.arange(int(data.least[job]), int(data.most[job]) + 1)
    missing, work = size, 0
    counts: Counts = np.zeros((len(size), data.types), dtype=np.int64)
    rate: Floats = np.zeros(len(size))
    paid, ring = rate, rate
    for at, kind in enumerate(kinds.tolist()):
        ways = np.minimum(missing, data.stock[kind]) + 1
        cells = int(ways.sum()) * data.types
        work += cells
        if cells > CELLS or work > WORK:
            raise _too_many()
        # every vector with 0, 1, ... workers of this type; the first type with a worker fixes the ring
        parent, taken = np.repeat(np.arange(len(ways)), ways), run_lengths(ways)
        counts, size, missing = (each[parent] for each in (counts, size, missing))
        rate, paid, ring = (each[parent] for each in (rate, paid, ring))
        slowest = (missing == size) & (taken > 0)
        ring = np.where(slowest, data.traffic[job] * ((size - 1) / size) / data.bandwidth[kind], ring)
        counts[:, kind], missing = taken, missing - taken
        rate, paid = rate + taken * data.rates[job, kind], paid + taken * prices[kind]
        later_kinds = kinds[at + 1 :]
        # drop those that no extension can bring within the limit
        to_come = data.rates[None, job, later_kinds], prices[later_kinds], data.stock[None, later_kinds]
        bound = paid + cheapest_rate(law, np.array([job]), np.zeros_like(size), rate, ring, *to_come)
        good = np.flatnonzero((missing <= data.stock[later_kinds].sum()) & (bound <= allowed))
        counts, size, missing = (each[good] for each in (counts, size, missing))
        rate, paid, ring = (each[good] for each in (rate, paid, ring))
    return counts, work


def _too_many() -> UsageError:
    """The error of too many columns, or vectors on the way to them."""
    return UsageError(
        f"a placement up to the cutoff may have any of too many configurations at these prices, allowed: {LARGEST}"
    )


def mean_law(data: Arrays, cutoff: float) -> tuple[Law, float]:
    """Law of cost, and most of the sum, for the mean."""
    return Seconds(data.work), cutoff * data.jobs


def fair_law(data: Arrays, cutoff: float) -> tuple[Law, float]:
    """The same for alpha-fair utilities."""
    assert isinstance(data.costs, Fair)
    return FairCost(data, data.costs), float(data.costs.offset.sum()) - cutoff


def threshold_law(data: Arrays, cutoff: float) -> tuple[Law, float]:
    """The same for the largest ratio."""
    return Within(data, cutoff * data.costs.equal), 0.0
