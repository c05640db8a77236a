"""The problems of dlsched as a good modeller first writes them for general solvers, with no bound, cut or start of ours.

=====================  =============================================================================================
family                 model
=====================  =============================================================================================
``ring_allocation``    a binary for each job and count: one count a job, counts within the cluster (HiGHS, SCIP, CP-SAT)
``async_sgd``          the same, over nodes
``matching_placement`` a binary for each job and vector of counts by type; largest ratio as a variable (HiGHS, SCIP, CP-SAT)
``elastic_stream``     with ticks: units by slot as binaries, used parts, restarts as changes (HiGHS, SCIP, CP-SAT)
``srpt_mapping``       an optional interval for each layout of a job, a cumulative for each server (CP-SAT, PyJobShop);
                       the complete model of ``dlsched.formulate`` (HiGHS, SCIP)
``ring_embedding``     the complete model of ``dlsched.formulate`` (HiGHS, SCIP, CP-SAT)
=====================  =============================================================================================

Costs of a job on a count, and layouts of a gang, come from the library; solutions are decoded and judged by its checker.
CP-SAT gets linear models in whole numbers. A family or objective that is not listed has no plain model: ``None``.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pulp

import dlsched
from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping
from dlsched.async_sgd.costs import complete_table as node_table
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.elastic_stream.slots import stream_of, useful_times_s
from dlsched.matching_placement.arrays import arrays, placement
from dlsched.matching_placement.formulations.milp import configurations, count_configurations
from dlsched.ring_allocation.costs import complete_table as gpu_table
from dlsched.solvers.milp import solve_milp
from dlsched.srpt_mapping.layouts import Layout, layouts, lengths_s, timed

MOST_COLUMNS = 200_000
"""Beyond it PuLP alone takes longer than the limit of a minute."""

PARTS, DIGITS = 2**10, 2**30
"""For CP-SAT: the parts of 1 in which a variable that is not whole is counted, and the largest coefficient of a row."""


class Plain(NamedTuple):
    """A model, the solution that values of its variables stand for, and the instance's objective over that of the model."""

    model: pulp.LpProblem
    decode: Callable[[Mapping[str, float]], Any]
    unit: float = 1.0


class Answer(NamedTuple):
    """Objective by the checker, bound as the solver states it of its model, and whether it says that it proved the optimum.

    ``constant``: the part of the objective that all solutions share, where it is known.
    """

    objective: float | None
    bound: float | None
    proven: bool
    constant: float = 0.0


def linear(instance: Any) -> Plain | None:
    """The plain linear model of an instance."""
    build = _LINEAR.get(type(instance))
    return None if build is None else build(instance)


def _choices(table: Any, ids: list[str], capacity: int, answer: Callable[[dict[str, int]], Any]) -> Plain | None:
    """One count a job, counts within the capacity, least sum of costs."""
    if table.pairs > MOST_COLUMNS:
        return None
    model, ways, columns = pulp.LpProblem("choices"), [], {}
    for job, name in enumerate(ids):
        pairs = range(table.starts[job], table.starts[job + 1])
        own = [pulp.LpVariable(f"x{pair}", cat="Binary") for pair in pairs]
        model += pulp.lpSum(own) == 1
        columns |= {x.name: (name, int(table.counts[pair])) for x, pair in zip(own, pairs, strict=True)}
        ways += [(x, table.counts[pair], table.costs[pair]) for x, pair in zip(own, pairs, strict=True)]
    model += pulp.lpSum(int(count) * x for x, count, _ in ways) <= capacity
    model.setObjective(pulp.lpSum(float(cost) * x for x, _, cost in ways))
    return Plain(model, lambda values: answer(dict(columns[x] for x in columns if values.get(x, 0) > 0.5)))


def _ring_allocation(instance: ring_allocation.Instance) -> Plain | None:
    try:
        table = gpu_table(instance, most_pairs=MOST_COLUMNS)
    except UsageError:  # too many columns
        return None
    return _choices(table, [job.id for job in instance.jobs], instance.gpus, ring_allocation.Allocation)


def _async_sgd(instance: async_sgd.Instance) -> Plain | None:
    if sum(map(instance.most, range(len(instance.jobs)))) > MOST_COLUMNS:
        return None
    return _choices(node_table(instance), [job.id for job in instance.jobs], instance.nodes, async_sgd.Allocation)


def _matching(instance: matching_placement.Instance) -> Plain | None:
    """Counts of workers by type for every job, each type within its stock."""
    data = arrays(instance)
    if (
        instance.objective == "alpha_fair"
        or sum(map(count_configurations, [data] * data.jobs, range(data.jobs))) > MOST_COLUMNS
    ):
        return None
    model, columns, costs, used = pulp.LpProblem("matching"), {}, [], [[] for _ in data.stock]
    most = max(float(data.cost(job, configurations(data, job)).max()) for job in range(data.jobs))
    largest = pulp.LpVariable("largest", 0, most)
    for job in range(data.jobs):
        rows = configurations(data, job)
        own = [pulp.LpVariable(f"x{job}_{row}", cat="Binary") for row in range(len(rows))]
        model += pulp.lpSum(own) == 1
        columns |= {x.name: (job, row.tolist()) for x, row in zip(own, rows, strict=True)}
        costs += (own_costs := [float(cost) * x for x, cost in zip(own, data.cost(job, rows), strict=True)])
        if data.bottleneck:
            model += pulp.lpSum(own_costs) <= largest
        for x, row in zip(own, rows, strict=True):
            for kind in row.nonzero()[0]:
                used[kind].append(int(row[kind]) * x)
    for terms, stock in zip(used, data.stock, strict=True):
        model += pulp.lpSum(terms) <= int(stock)
    model.setObjective(largest if data.bottleneck else pulp.lpSum(costs))

    def decode(values: Mapping[str, float]) -> matching_placement.Placement:
        chosen = dict(columns[x] for x in columns if values.get(x, 0) > 0.5)
        return placement(instance, [chosen[job] for job in range(data.jobs)])

    return Plain(model, decode, 1.0 if data.bottleneck else 1 / data.jobs)


def _stream(instance: elastic_stream.Instance) -> Plain | None:
    """Units by slot until the end of the stream of ``srpt-knee``; a job ends no sooner than the part used of any slot it has."""
    if instance.tick_s is None or any(job.restart_s >= instance.tick_s for job in instance.jobs):
        return None
    tick_s, times = instance.tick_s, useful_times_s(instance)
    known = dlsched.solve(instance, method="srpt-knee").solution
    last = math.ceil(max(period.end_s for periods in known.periods.values() for period in periods) / tick_s)
    firsts = [math.ceil(job.arrival_s / tick_s - 1e-9) for job in instance.jobs]
    if sum(len(own) * (last - first) for own, first in zip(times, firsts, strict=True)) > MOST_COLUMNS:
        return None
    model, used, flows, columns = pulp.LpProblem("stream"), [[] for _ in range(last)], [], {}
    for j, (job, own) in enumerate(zip(instance.jobs, times, strict=True)):
        if not own:
            continue
        end, work = pulp.LpVariable(f"end{j}", 0, last), []
        began = before = None
        for t in range(firsts[j], last):
            held = {n: pulp.LpVariable(f"x{j}_{t}_{n}", cat="Binary") for n in own}
            part = {n: pulp.LpVariable(f"u{j}_{t}_{n}", 0, 1) for n in own}
            columns |= {x.name: (j, t, n) for n, x in held.items()}
            model += pulp.lpSum(held.values()) <= 1
            model += end >= t * pulp.lpSum(held.values()) + pulp.lpSum(part.values())
            for n, x in held.items():
                model += part[n] <= x
                used[t].append(n * x)
                work.append(tick_s / (own[n] * job.work) * part[n])
            if job.restart_s and before is not None:
                # a period that begins in a slot costs a restart if the job has held units before
                for n, x in held.items():
                    change = pulp.LpVariable(f"y{j}_{t}_{n}", 0, 1)
                    model += change >= x - before[n] + began - 1
                    model += part[n] >= job.restart_s / tick_s * change
                    work.append(-job.restart_s / (own[n] * job.work) * change)
            if job.restart_s:
                now = pulp.LpVariable(f"began{j}_{t}", 0, 1)
                model += now >= pulp.lpSum(held.values())
                if began is not None:
                    model += now >= began
                began, before = now, held
        model += pulp.lpSum(work) >= 1
        flows.append(job.weight * (tick_s * end - job.arrival_s))
    for terms in used:
        model += pulp.lpSum(terms) <= instance.units
    model.setObjective(pulp.lpSum(flows))

    def decode(values: Mapping[str, float]) -> elastic_stream.Stream:
        plan: list[dict[int, int]] = [{} for _ in instance.jobs]
        for x, (j, t, n) in columns.items():
            if values.get(x, 0) > 0.5:
                plan[j][t] = n
        return stream_of(instance, plan)

    return Plain(model, decode, 1 / instance.total_weight)


def _complete(instance: Any) -> Plain | None:
    """The model that has every solution, as a textbook writes it."""
    try:
        formulation = dlsched.formulate(instance, complete=True)
    except UsageError:
        return None
    return Plain(formulation.model, formulation.decode, formulation.unit)


_LINEAR: dict[type, Callable[[Any], Plain | None]] = {
    ring_allocation.Instance: _ring_allocation,
    async_sgd.Instance: _async_sgd,
    matching_placement.Instance: _matching,
    elastic_stream.Instance: _stream,
    ring_embedding.Instance: _complete,
    srpt_mapping.Instance: _complete,
}


def by_milp(instance: Any, plain: Plain, solver: str, limit_s: float) -> Answer:
    """HiGHS or SCIP on a linear model."""
    outcome = solve_milp(plain.model, solver=solver, limits=Limits(time_s=limit_s))
    found = None if outcome.values is None else plain.decode(outcome.values)
    bound = None if outcome.bound is None else outcome.bound * plain.unit
    return Answer(judged(instance, found), bound, str(outcome.status) == "optimal")


def by_cpsat(instance: Any, plain: Plain, limit_s: float) -> Answer | None:
    """CP-SAT on a linear model in whole numbers: parts of 1, rows and objective rounded; None where a variable has no bound."""
    from ortools.sat.python import cp_model

    model, variables = cp_model.CpModel(), {}
    for variable in plain.model.variables():
        if variable.lowBound is None or variable.upBound is None:
            return None
        by = 1 if variable.cat == "Integer" else PARTS
        whole = model.new_int_var(math.ceil(variable.lowBound * by), math.floor(variable.upBound * by), "")
        variables[variable.name] = whole, by

    def rounded(terms: Mapping[Any, float], right: float) -> tuple[Any, int, float]:
        """A linear expression in whole numbers, its right side, and the factor between both and the model's."""
        exact = {name.name: value / variables[name.name][1] for name, value in terms.items()}
        factor = DIGITS / max([abs(right), *map(abs, exact.values())], default=1)
        if all(float(value).is_integer() for value in (right, *exact.values())):
            factor = 1
        whole = sum(round(factor * value) * variables[name][0] for name, value in exact.items())
        return whole, round(-right * factor), factor

    for row in plain.model.constraints.values():
        terms, right, _ = rounded(row, row.constant)
        model.add(terms == right if row.sense == 0 else terms <= right if row.sense < 0 else terms >= right)
    terms, offset, factor = rounded(plain.model.objective, plain.model.objective.constant)
    (model.maximize if plain.model.sense == pulp.LpMaximize else model.minimize)(terms)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, limit_s
    status = solver.solve(model)
    bound = (solver.best_objective_bound - offset) / factor * plain.unit
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(None, bound if status == cp_model.UNKNOWN else None, proven=False)
    found = plain.decode({name: solver.value(whole) / by for name, (whole, by) in variables.items()})
    return Answer(judged(instance, found), bound, status == cp_model.OPTIMAL)


def gangs_by_cpsat(instance: srpt_mapping.Instance, limit_s: float) -> Answer | None:
    """Gangs in CP-SAT: an optional interval a layout, a cumulative a server and a group, times in 2^-20 of a horizon."""
    from ortools.sat.python import cp_model

    gangs = _gangs(instance)
    if gangs is None:
        return None
    model, ends, takes = cp_model.CpModel(), [], [[] for _ in instance.capacities]
    starts, picks = [], []
    for release, lengths, choices in zip(gangs.releases, gangs.lengths, gangs.choices, strict=True):
        start, end = (model.new_int_var(release, gangs.horizon, "") for _ in range(2))
        own = [model.new_bool_var("") for _ in choices]
        model.add_exactly_one(own)
        for pick, layout, length in zip(own, choices, lengths, strict=True):
            interval = model.new_optional_interval_var(start, length, end, pick, "")
            for resource, units in enumerate(layout.usage):
                if units:
                    takes[resource].append((interval, units))
        starts.append(start)
        ends.append(end)
        picks.append(own)
    for capacity, runs in zip(instance.capacities, takes, strict=True):
        model.add_cumulative([interval for interval, _ in runs], [units for _, units in runs], capacity)
    model.minimize(sum(ends))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, limit_s
    code = solver.solve(model)
    bound = solver.best_objective_bound * gangs.unit_s + gangs.constant_s
    if code not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(None, bound, proven=False)
    chosen = [[solver.value(pick) for pick in own].index(1) for own in picks]
    return gangs.answer(instance, [solver.value(start) for start in starts], chosen, bound, code == cp_model.OPTIMAL)


def gangs_by_pyjobshop(instance: srpt_mapping.Instance, limit_s: float) -> Answer | None:
    """Gangs as a project in PyJobShop: a mode a layout, servers and groups as renewable resources, one thread of CP-SAT."""
    import pyjobshop

    gangs = _gangs(instance)
    if gangs is None:
        return None
    model = pyjobshop.Model()
    resources = [model.add_renewable(capacity) for capacity in instance.capacities]
    modes: list[list[int]] = []
    for release, lengths, choices in zip(gangs.releases, gangs.lengths, gangs.choices, strict=True):
        task = model.add_task(job=model.add_job(release_date=release))
        modes.append([])
        for layout, length in zip(choices, lengths, strict=True):
            used = [(resources[at], units) for at, units in enumerate(layout.usage) if units]
            modes[-1].append(len(model.modes))
            model.add_mode(task, [each for each, _ in used], length, [units for _, units in used])
    model.set_objective(weight_total_flow_time=1)
    result = model.solve(time_limit=limit_s, display=False, num_workers=1)
    bound = (result.lower_bound + sum(gangs.releases)) * gangs.unit_s + gangs.constant_s
    if not result.best.tasks:
        return Answer(None, bound, proven=False)
    chosen = [own.index(task.mode) for own, task in zip(modes, result.best.tasks, strict=True)]
    proven = result.status.name == "OPTIMAL"
    return gangs.answer(instance, [task.start for task in result.best.tasks], chosen, bound, proven)


class _Gangs(NamedTuple):
    """Whole times of gangs: releases (I,), lengths by job and layout; a unit's seconds, and what the sum of ends adds to them."""

    choices: list[list[Layout]]
    releases: list[int]
    lengths: list[list[int]]
    horizon: int
    unit_s: float
    constant_s: float

    def answer(
        self, instance: srpt_mapping.Instance, starts: list[int], chosen: list[int], bound: float, proven: bool
    ) -> Answer:
        """Time the jobs again in the order of their starts, with their true lengths."""
        order = sorted(range(len(starts)), key=starts.__getitem__)
        schedule = timed(instance, [(job, self.choices[job][chosen[job]]) for job in order])
        return Answer(judged(instance, schedule), bound, proven)


def _gangs(instance: srpt_mapping.Instance) -> _Gangs | None:
    """None where jobs have begun, or layouts are too many to list."""
    if any(job.begun is not None for job in instance.jobs):
        return None
    try:
        choices = layouts(instance)
    except UsageError:
        return None
    first_s, seconds = min(job.release_s for job in instance.jobs), lengths_s(instance, choices)
    horizon_s = max(job.release_s for job in instance.jobs) - first_s + math.fsum(map(min, seconds))
    unit_s = horizon_s / 2**20
    releases = [round((job.release_s - first_s) / unit_s) for job in instance.jobs]
    lengths = [[round(length_s / unit_s) for length_s in own] for own in seconds]
    return _Gangs(choices, releases, lengths, 2**21, unit_s, first_s * len(instance.jobs))


def judged(instance: Any, solution: Any) -> float | None:
    """The objective of a solution by the family's checker, None of one that is infeasible or absent."""
    family = _MODULES[type(instance)]
    return None if solution is None or family.check(instance, solution) else family.objective(instance, solution)


_MODULES = {
    module.Instance: module
    for module in (ring_allocation, async_sgd, matching_placement, elastic_stream, srpt_mapping, ring_embedding)
}
