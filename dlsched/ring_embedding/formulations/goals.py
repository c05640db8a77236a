"""Goals of a linear model with workers: the sum of utilities less energy, the least utility, or quotas.

==================================  ===================================================================================
name                                mathematics
==================================  ===================================================================================
``g_<job>_<step>``                  g_ik, the part of a step of the utility that is reached, 0 to 1
``utility_<job>``                   sum_k width_ik g_ik <= sum_ts y_is[t]
``step_<job>_<step>``               g_ik <= g_ik', utilities that are not concave only
objective ``sum``                   maximise sum_i mu_i(0) + sum_ik gain_ik g_ik - sum_st e_s on_s[t] - sum_ist e_i y_is[t]
``least``                           v - min_i mu_i(0), where v is the least utility
``least_<job>``                     v <= mu_i(0) + sum_k gain_ik g_ik
objective ``max_min``               maximise v
==================================  ===================================================================================

``something``: sum_ist y_is[t] >= 1, used if only embeddings that run a worker count, to prove that none
pays.

Steps are those of ``algorithms.utility_tables``; for ``least`` utilities are cut at the most that v can be. Quotas (``Stairs``)
have no steps and no fractions. With q_il the quota of job i for stair l:

==================================  ===================================================================================
``meets_<job>_<stair>``             m_il for l >= 1, binary: 1 if the job counts as having its quota
``quota_<job>``                     q_i0 + sum_l (q_il - q_i,l-1) m_il <= sum_ts y_is[t]
``stair_<job>_<stair>``             m_il <= m_i,l-1
``count_<stair>``                   sum_i m_il >= count_l
objective                           maximise sum_i m_il of the last stair, or nothing
==================================  ===================================================================================
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from dlsched.algorithms.utility_tables import UtilityTable, power_of_two, steps
from dlsched.ring_embedding.formulations.workers import Terms, WorkersModel, require_few
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of


@dataclass(frozen=True)
class Stairs:
    """Quotas of worker-slots over all slots, by stair (from 0) and job; they never fall from stair to stair.

    None: the job cannot reach that stair; all jobs must meet stair 0. ``counts``: by stair, how many jobs must meet their
    quota at least. ``maximise``: as many as possible meet the last one; otherwise any answer will do.
    """

    quotas: tuple[tuple[int | None, ...], ...]
    counts: tuple[int, ...]
    maximise: bool = False

    def rises(self) -> Iterator[tuple[int, int, list[int]]]:
        """Yield each job, its quota of stair 0, and the rises to the stairs from 1 on that it can reach."""
        for job, held in enumerate(zip(*self.quotas, strict=True)):
            known = [quota for quota in held if quota is not None]
            yield job, known[0], [there - here for here, there in pairwise(known)]


Goal = Stairs | Literal["something"]
"""Goals other than the instance's objective: quotas, or the objective over embeddings that run a worker."""


def goal_of(instance: Instance, goal: Goal | None) -> Callable[[WorkersModel], None]:
    """The function that adds a goal to a model; None: the instance's objective."""
    if isinstance(goal, Stairs):
        return lambda model: _add_stairs(model, goal)
    if goal == "something":
        return _add_something
    return objective_of(instance).goal


def _add_something(model: WorkersModel) -> None:
    import pulp

    add_sum(model)
    model.add("something", [(y, 1) for y in model.y.values()], 1, sense=pulp.LpConstraintGE)


def add_sum(model: WorkersModel) -> None:
    """Add the goal ``sum``."""
    unit = _unit(sum(table.most for table in model.tables))
    terms = [(g, gain / unit) for reached in _add_utilities(model, model.tables) for g, gain in reached]
    prices = model.network.worker_price.tolist(), model.network.on_price.tolist()
    terms += [(y, -prices[0][i] / unit) for (i, _, _), y in model.y.items() if prices[0][i]]
    terms += [(on, -prices[1][s] / unit) for (s, _), on in model.on.items()]
    model.maximise(terms, sum(table.nothing for table in model.tables) / unit, unit)


def add_least(model: WorkersModel) -> None:
    """Add the goal ``max_min``."""
    import pulp

    top = min(float(table.values.max()) for table in model.tables)
    base = min(table.nothing for table in model.tables)
    unit = _unit(top - base)
    # No job needs more than the least of all maxima: utilities above it are cut.
    cut = [replace(table, values=np.minimum(table.values, top)) for table in model.tables]
    least = pulp.LpVariable("least", 0, (top - base) / unit)
    for i, reached in enumerate(_add_utilities(model, cut)):
        if reached:
            terms = [(least, 1.0), *((g, -gain / unit) for g, gain in reached)]
            model.add(f"least_{model.jobs[i]}", terms, (cut[i].nothing - base) / unit)
    model.maximise([(least, 1.0)], base / unit, unit)


def _unit(most: float) -> float:
    """1 for gains up to ``most`` of 1 to 2**14, else the power of two that scales them to 2**9 to 2**10."""
    return 1.0 if 1 <= most <= 2**14 or most == 0 else power_of_two(most) / 2**10


def _add_utilities(model: WorkersModel, tables: Sequence[UtilityTable]) -> list[Terms]:
    """Add steps of every job's utility; return them with what they gain."""
    import pulp

    held = []
    for table in tables:
        model.network.tick()
        held.append(steps(table))
    require_few(sum(map(len, held)) + len(model.y))
    gains: list[Terms] = []
    for i, (label, found) in enumerate(zip(model.jobs, held, strict=True)):
        model.network.tick()
        reached = [
            pulp.LpVariable(f"g_{label}_{k}", 0, 1, pulp.LpInteger if step.binary else pulp.LpContinuous)
            for k, step in enumerate(found, start=1)
        ]
        gains.append([(g, step.gain) for g, step in zip(reached, found, strict=True)])
        widths: Terms = [(g, step.width) for g, step in zip(reached, found, strict=True)]
        if found:
            model.add(f"utility_{label}", widths + [(y, -1) for y, _ in model.of[i]], 0)
        for k, step in enumerate(found):
            if step.after is not None:
                model.add(f"step_{label}_{k + 1}", [(reached[k], 1), (reached[step.after], -1)], 0)
    return gains


def _add_stairs(model: WorkersModel, stairs: Stairs) -> None:
    import pulp

    count: list[Terms] = [[] for _ in stairs.counts]
    for i, quota, rises in stairs.rises():
        model.network.tick()
        label = model.jobs[i]
        meets = [pulp.LpVariable(f"meets_{label}_{k}", 0, 1, pulp.LpInteger) for k in range(1, len(rises) + 1)]
        terms: Terms = [(m, rise) for m, rise in zip(meets, rises, strict=True) if rise]
        if quota or terms:
            model.add(f"quota_{label}", [*terms, *((y, -1) for y, _ in model.of[i])], -quota)
        for k, (before, after) in enumerate(pairwise(meets), start=2):
            model.add(f"stair_{label}_{k}", [(after, 1), (before, -1)], 0)
        for k, m in enumerate(meets, start=1):
            count[k].append((m, 1))
    for k, least in enumerate(stairs.counts[1:], start=1):
        model.add(f"count_{k}", count[k], least, sense=pulp.LpConstraintGE)
    model.maximise(count[-1] if stairs.maximise else [])
