"""Upper bounds on the least utility: the largest v whose quotas z_i >= n_i(v) a relaxation can meet, with certificates.

All worker-slots that jobs need for v, or all that they can have, are asked of the relaxation of ``horizon.relaxation``,

    maximise theta:  theta n_i(v) <= z_i = sum_ec w_iec,  theta <= 1,

over its rows. Where theta < 1, v is out of reach, and at the prices pi of the rows of z_i the largest v' with
sum_i pi_i n_i(v') <= theta sum_i pi_i n_i(v) is the next to be tried: it is below v, and no v between them is in reach
(Newton's method for the root of theta(v) = 1, as Dinkelbach 1967 has it). In the end theta = 1, and w are a fractional plan.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Quotas
from dlsched.certificates import DualsCertificate, exact_sum
from dlsched.core.limits import Budget
from dlsched.ring_embedding.certificate import certified
from dlsched.ring_embedding.horizon.relaxation import Program
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.ceilings import Ceilings
from dlsched.solvers.lp import linear_program

_ROUNDS = 60
_CLOSE = 1e-9  # distance of theta from 1
_LOOSE = 1e-7  # relative slack of quotas that a solver with tolerances has met before
_BLOCKS = 1e-6  # share of the prices of all quotas; a job with a larger share limits the least utility


def aggregated(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """All slots and servers as one pool: the largest v whose quotas fit, for the tightest row. No solver."""
    tick, ceilings = (budget or Budget()).tick, Ceilings(instance)
    prices = ({}, *({f"pool_{row.name}": 1.0} for row in ceilings.rows))
    found = [certified(ceilings, "aggregated", each, tick) for each in prices]
    return min(found, key=lambda certificate: certificate.value)


def horizon(instance: Instance, budget: Budget | None = None) -> DualsCertificate:
    """The largest v that the relaxation over all slots can meet; errors as ``horizon.relaxation.relax``."""
    water = Water(instance, budget)
    water.rise(float(water.quotas.tops.min()))
    return water.certificate()


class Water:
    """Levels of utility that the relaxation can meet, one after the other.

    ``level``: the last one found; ``fixed``: by job, quotas of those that can have no more than an earlier level.
    """

    def __init__(self, instance: Instance, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.program = Program(instance, self.budget.tick)
        self.quotas = Quotas(self.program.tables)
        self.level = float(self.quotas.tops.max())
        self.fixed: dict[int, int] = {}
        self._proof: dict[str, float] = {}
        self._pi: Floats = np.zeros(len(instance.jobs))

    def certificate(self) -> DualsCertificate:
        """The certificate of the prices found before any job was fixed."""
        return certified(self.program.ceilings, "horizon", self._proof, self.budget.tick)

    def rise(self, most: float) -> None:
        """Set ``level`` to the largest, up to ``most``, that all jobs which are not fixed can have, or their maxima."""
        self.level, self._pi = most, np.zeros_like(self._pi)
        for _ in range(_ROUNDS):
            self.budget.tick()
            quotas = [0 if job in self.fixed else n for job, n in enumerate(self.quotas.at(self.level))]
            theta = self._solve(quotas)
            if theta >= 1 - _CLOSE:
                break
            # Newton's method: at these prices no level between the next one and this one is in reach.
            self._pi = np.where(quotas, self.program.duals[self.program.spent], 0.0)
            if not self.fixed:
                self._proof = self.program.prices()
            prices = [Fraction(price) for price in self._pi.tolist()]
            supply = Fraction(theta) * exact_sum(price * n for price, n in zip(prices, quotas, strict=True))
            lower = self.quotas.largest(prices, supply, self.level)
            if lower >= self.level:
                break
            self.level = lower

    def fix(self) -> bool:
        """Fix the jobs that limit the others or are at their maximum; return whether any is still free."""
        blocks = self._pi > _BLOCKS * self._pi.sum()
        for job, quota in enumerate(self.quotas.at(self.level)):
            if job not in self.fixed and (blocks[job] or self.quotas.tops[job] <= self.level):
                self.fixed[job] = quota
        return len(self.fixed) < len(blocks)

    def wanted(self) -> list[int]:
        """Fewest worker-slots that the last optimum gives every job."""
        return [self.fixed.get(job, quota) for job, quota in enumerate(self.quotas.at(self.level))]

    def _solve(self, quotas: Sequence[int]) -> float:
        """The largest fraction of these quotas, up to 1, that can be met beside the fixed ones."""
        program, jobs, first = self.program, len(quotas), len(self.program.columns)
        rows = program.rows.copy()
        for job, quota in enumerate(quotas):
            if quota:
                rows.add([(first + job, -1.0), (first + jobs, float(quota))], 0.0)
        for job, quota in self.fixed.items():
            rows.add([(first + job, -1.0)], -quota * (1 - _LOOSE))
        costs = np.zeros(first + jobs + 1)
        costs[-1] = -1.0
        bounds = [(0.0, most) for most in program.upper] + [(0.0, float(table.units)) for table in program.tables]
        answer = linear_program(
            costs,
            a_ub=rows.matrix(len(costs)),
            b_ub=rows.right,
            bounds=[*bounds, (0.0, 1.0)],
            time_s=self.budget.left.time_s,
        )
        program.point, program.duals = answer.x, np.maximum(0.0, -answer.upper)
        return -answer.objective
