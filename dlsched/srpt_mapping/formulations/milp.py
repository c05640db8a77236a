"""srpt_mapping over layouts in continuous time: a mixed-integer linear program with resource flows, in PuLP.

A layout l of job i says how many GPUs it takes of each server, u_l^m, and how long it runs with them, L_il = n_i alpha_il.
GPUs are handed from job to job: the flow formulation of Artigues, Michelon and Reusser 2003 (EJOR 149, 249-267).

================================  =====================================================================================
name                              mathematics
================================  =====================================================================================
``z_<job>_<layout>``              z_il = 1 if job i has layout l, numbered from 0, binary
``w_<job>``                       w_i, how long job i waits, seconds, up to D_i - p_i; it starts at s_i = r_i + w_i, and
                                  ends at c_i = s_i + sum_l L_il z_il, which is no variable of its own
``y_<first>_<second>``            y_ij = 1 if job j starts when job i has ended or later, binary
``first_<server>_<job>``          e_mi, GPUs of server m that job i is the first to have
``f_<server>_<from>_<to>``        f_mij, GPUs of server m handed from job i to job j
objective                         minimise sum_i w_i + sum_il L_il z_il; the sum of the releases is a constant
``gang_<job>``                    sum_l z_il = 1
``gpus_<server>``                 sum_i e_mi <= g^m
``taken_<server>_<job>``          e_mi + sum_j f_mji = sum_l u_l^m z_il
``handed_<server>_<job>``         sum_j f_mij <= sum_l u_l^m z_il
``flow_<server>_<from>_<to>``     f_mij <= min(max_l u_l^m of i, max_l u_l^m of j) y_ij
``sequence_<first>_<second>``     w_j >= w_i + sum_l L_il z_il - D_i + (r_i + D_i - r_j) y_ij
``pair_<first>_<second>``         y_ij + y_ji <= 1; = 1 where g_i + g_j > G
``busy_<n>``                      sum_S v_i s_i >= v(S) (r(S) + v(S) / 2) - sum_S v_i p_i / 2, divided by v(S), in w_i
================================  =====================================================================================

p_i = min_l L_il is the least length of job i. D_i is how long after its release job i has ended in some optimal schedule:

* No later than the others allow, given the sum F of the flow times of any schedule: D_i <= F - sum of p_k over the others.
* A job that has begun: D_i = p_i, so that w_i = 0, and no y_ji comes before it.
* No later than max r + sum of max_l L_kl: after the last release an optimal schedule has no moment without a running job
  before a job that starts, as that job could start in it.

*Omitted*: layouts with L_il > D_i; and y_ij, with what hangs on it, where r_i + p_i > r_j + D_j - p_j, so i cannot end
before j starts. *Fixed*: y_ij = 1 where r_i + D_i <= r_j. So all numbers are of the size of waits and lengths of good
schedules, however late the clock.

*Valid* (``busy``): the share g_i / G of one machine, see ``dlsched.algorithms.one_machine``.

*Slices.* Where jobs take slices, GPUs count in ``Instance.units``, g_i and G too, and each GPU of a server with slices is as a
server, ``<server>_<gpu>`` with the row ``share_<server>_<gpu>``, or each of its slots, ``profile_<server>_<gpu>_<slot>``.

*Without loss* (twins). Servers with as many GPUs, on which no job has begun, may change places, so one job, that with the
most layouts, takes from them no fewer GPUs of one than of the next; its other layouts are omitted.

*Complete.* Then D_i of a job that has not begun follows from the horizon, and all layouts stay, twins too. All rows hold for
every schedule that ends by the horizon, which is a row of its own, ``until_<job>``: w_i + sum_l L_il z_il <= horizon - r_i;
D_i is a little more, for solvers' rounding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING

from dlsched.algorithms.one_machine import busy_rows
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import separable_labels
from dlsched.solvers.formulation import Formulation, Key, Variables, extendable
from dlsched.solvers.outcome import Incumbent
from dlsched.srpt_mapping.checker import constant, flow_times
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout, layouts, lengths_s, timed, without_twins
from dlsched.srpt_mapping.solution import Schedule, decided, on_clock_of

if TYPE_CHECKING:
    import pulp

LARGEST = 50_000
"""Largest number of pairs of jobs times servers; larger models are refused."""
MARGIN = 1e-3
"""Fraction of F added to every D_i, so that no wait's range is as small as the solvers' tolerances."""

Terms = Sequence[tuple["pulp.LpVariable", float]]


def require_few_pairs(instance: Instance) -> None:
    """Refuse more pairs of jobs times servers, or GPUs and slots that have slices, than ``LARGEST`` (UsageError)."""
    pairs = len(instance.jobs) * (len(instance.jobs) - 1) * instance.columns[-1].stop
    if pairs > LARGEST:
        what = "servers, GPUs and slots" if instance.sliced else "servers"
        raise UsageError(where="milp", found=f"{pairs:,} pairs of jobs times {what}", allowed=f"{LARGEST:,}")


@extendable("milp")
def build_milp(
    instance: Instance, *, complete: bool = False, horizon_s: float | None = None, tick: Tick = no_tick
) -> "Formulation[pulp.LpProblem, Schedule]":
    """Build the model; its unit is the seconds of its unit of time.

    That is 1 s where some schedule's sum of flow times is from 1 to 2**14 s, else a power of two that brings it to 2**9 or
    more and below 2**10: solvers have absolute tolerances. The model's name states it where it is not 1 s. The schedule has
    the layouts and the order of the values; its times are made anew, exactly, and are no later.

    ``complete`` keeps all schedules that end by the horizon, in every layout with its replicas spread in the fastest way; jobs
    then start when the values say, later only by what a solver's tolerance let overlap. Else one optimum remains.
    ``horizon_s``, with it: the latest end of a job on the instance's clock; None: after the last release there is room for all
    jobs one by one in their slowest layouts. UsageError: too many layouts or pairs (``layouts``, ``LARGEST``), or arguments
    that do not go together.
    """
    import pulp

    require_few_pairs(instance)
    if horizon_s is not None and not complete:
        raise UsageError(where="horizon_s", found=horizon_s, allowed="with complete=True only")
    own = instance.on_own_clock()
    first_s = min(job.release_s for job in instance.jobs)
    choices, times = _all_until(own, horizon_s, first_s, tick) if complete else _worth_it(own, tick)
    unit_s, release, least, within = times.unit_s, times.release, times.least, times.within
    jobs = separable_labels([job.id for job in instance.jobs], "j")
    indices, units = range(len(jobs)), [instance.units_of(job) for job in instance.jobs]
    name = "srpt_mapping" if unit_s == 1 else f"srpt_mapping_in_units_of_2_to_the_{math.frexp(unit_s)[1] - 1}_s"
    problem = pulp.LpProblem(name.replace("-", "minus_"), pulp.LpMinimize)

    def add(name: str, terms: Terms, sense: int, right: float) -> None:
        problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    # variables: layouts, waits, and orders of pairs; an order that is certain is fixed, an impossible one has none
    z = [
        [pulp.LpVariable(f"z_{jobs[i]}_{n}", 0, 1, pulp.LpInteger) for n in range(len(choices[i]))]
        or [pulp.LpVariable(f"z_{jobs[i]}_none", 0, 0, pulp.LpInteger)]
        for i in indices
    ]
    length = [list(zip(z[i], times.lengths[i], strict=False)) for i in indices]
    w = [pulp.LpVariable(f"w_{jobs[i]}", 0, within[i] - least[i]) for i in indices]
    fixed = {(i, j) for i, j in permutations(indices, 2) if release[i] + within[i] <= release[j]}
    y = {
        (i, j): pulp.LpVariable(f"y_{jobs[i]}_{jobs[j]}", int((i, j) in fixed), 1, pulp.LpInteger)
        for i, j in permutations(indices, 2)
        if release[i] + least[i] <= release[j] + (within[j] - least[j])
    }
    waits = [(wait, 1) for wait in w] + [pair for own_terms in length for pair in own_terms]
    problem.setObjective(pulp.LpAffineExpression(waits, constant(instance) / unit_s))
    for i in indices:
        add(f"gang_{jobs[i]}", [(chosen, 1) for chosen in z[i]], pulp.LpConstraintEQ, 1)
        if complete and instance.jobs[i].begun is None:
            add(f"until_{jobs[i]}", [(w[i], 1), *length[i]], pulp.LpConstraintLE, times.latest - release[i])
    for (i, j), before in y.items():
        if (i, j) not in fixed:
            most = release[i] - release[j] + within[i]
            terms = [(w[j], 1), (w[i], -1), *((chosen, -each) for chosen, each in length[i]), (before, -most)]
            add(f"sequence_{jobs[i]}_{jobs[j]}", terms, pulp.LpConstraintGE, -within[i])
    for i, j in combinations(indices, 2):
        alone = units[i] + units[j] > instance.total_units
        either = [(y[pair], 1) for pair in ((i, j), (j, i)) if pair in y and pair not in fixed]
        if either:
            add(f"pair_{jobs[i]}_{jobs[j]}", either, pulp.LpConstraintEQ if alone else pulp.LpConstraintLE, 1)
    groups = [("limit", label) for label in separable_labels([group.id for group in instance.groups], "k")]
    for m, (rule, server) in enumerate([*_columns(instance), *groups]):
        # flows between the jobs that can use this server, up to what both can take; or between those of a group
        most_of = [max((layout.usage[m] for layout in own), default=0) for own in choices]
        users = [i for i in indices if most_of[i]]
        used = {
            i: [(chosen, -layout.usage[m]) for chosen, layout in zip(z[i], choices[i], strict=True) if layout.usage[m]]
            for i in users
        }
        first = {i: pulp.LpVariable(f"first_{server}_{jobs[i]}", 0, most_of[i]) for i in users}
        flow = {}
        for i, j in permutations(users, 2):
            if (i, j) in y:
                pair, most = f"{server}_{jobs[i]}_{jobs[j]}", min(most_of[i], most_of[j])
                flow[i, j] = pulp.LpVariable(f"f_{pair}", 0, most)
                add(f"flow_{pair}", [(flow[i, j], 1), (y[i, j], -most)], pulp.LpConstraintLE, 0)
        if users:
            add(f"{rule}_{server}", [(first[i], 1) for i in users], pulp.LpConstraintLE, instance.capacities[m])
        for i in users:
            tick()
            taken = [(flow[j, i], 1) for j in users if (j, i) in flow]
            handed = [(flow[i, j], 1) for j in users if (i, j) in flow]
            add(f"taken_{server}_{jobs[i]}", [(first[i], 1), *taken, *used[i]], pulp.LpConstraintEQ, 0)
            if handed:
                add(f"handed_{server}_{jobs[i]}", [*handed, *used[i]], pulp.LpConstraintLE, 0)
    # rows of the one-machine relaxation
    shares = [each / instance.total_units for each in units]
    for number, (weights, right) in enumerate(busy_rows(release, least, shares) if all(choices) else ()):
        add(f"busy_{number}", [(w[i], weight) for i, weight in weights.items()], pulp.LpConstraintGE, right)

    def decode(values: Incumbent) -> Schedule:
        chosen = [
            max(zip(z[i], choices[i], strict=True), key=lambda pair: values.get(pair[0].name, 0.0))[1] for i in indices
        ]
        before = [pair for pair, variable in y.items() if values.get(variable.name, 0.0) > 0.5]
        starts = [each + max(0.0, values.get(wait.name, 0.0)) for each, wait in zip(release, w, strict=True)]
        picked = [(i, chosen[i]) for i in _order(starts, before)]
        not_before_s = [each * unit_s for each in starts] if complete else None
        return Schedule(on_clock_of(instance, own, timed(own, picked, not_before_s=not_before_s)))

    # what side constraints can refer to
    starts: dict[Key, pulp.LpAffineExpression] = {
        job.id: pulp.LpAffineExpression([(wait, unit_s)], job.release_s)
        for job, wait in zip(instance.jobs, w, strict=True)
    }
    ends: dict[Key, pulp.LpAffineExpression] = {
        job.id: starts[job.id] + pulp.LpAffineExpression([(chosen, each * unit_s) for chosen, each in own_terms])
        for job, own_terms in zip(instance.jobs, length, strict=True)
    }
    placed: dict[Key, pulp.LpAffineExpression] = {
        (job.id, server.id): pulp.LpAffineExpression(
            [
                (chosen, 1)
                for chosen, layout in zip(variables, own_terms, strict=False)
                if any(layout.usage[m] for m in columns)
            ]
        )
        for job, variables, own_terms in zip(instance.jobs, z, choices, strict=True)
        for server, columns in zip(instance.servers, instance.columns, strict=True)
    }
    variables = Variables(starts=starts, ends=ends, placed=placed)
    until_s = first_s + times.latest * unit_s if complete else None
    return Formulation(problem, decode, unit_s, variables=variables, chosen=decided, horizon_s=until_s)


def _columns(instance: Instance) -> list[tuple[str, str]]:
    """Rule and label of every column of ``Instance.columns``: a server, or a GPU or slot by their numbers."""
    found = []
    labels = separable_labels([server.id for server in instance.servers], "s")
    for server, label, columns in zip(instance.servers, labels, instance.columns, strict=True):
        if not instance.sliced or server.slicing == "none":
            found.append(("gpus", label))
        elif server.geometry is None:
            found += [("share", f"{label}_{gpu}") for gpu in range(len(columns))]
        else:
            slots = product(range(server.gpus), range(server.geometry.slots))
            found += [("profile", f"{label}_{gpu}_{slot}") for gpu, slot in slots]
    return found


def _all_until(
    instance: Instance, horizon_s: float | None, first_s: float, tick: Tick
) -> tuple[list[list[Layout]], "_Times"]:
    """All layouts of every job, and its times, with D_i from the horizon; ``first_s``: when the own clock starts."""
    choices = layouts(instance, tick=tick)
    lengths = lengths_s(instance, choices)
    longest_s = math.fsum(max(own, default=0.0) for own in lengths)
    latest_s = max(job.release_s for job in instance.jobs) + longest_s * (1 + MARGIN)
    if horizon_s is not None:
        latest_s = horizon_s - first_s
    for job, own in zip(instance.jobs, lengths, strict=True):
        soonest_s = job.release_s + min(own, default=0.0)
        if not soonest_s <= latest_s < math.inf:
            allowed = f"{first_s + soonest_s!r} s or later, when job {job.id!r} can end"
            raise UsageError(where="horizon_s", found=horizon_s, allowed=allowed)
    return choices, _times(instance, choices, latest_s)


def _worth_it(instance: Instance, tick: Tick = no_tick) -> tuple[list[list[Layout]], "_Times"]:
    """The layouts that the model keeps of every job, and its times: none that takes longer than D_i, and no twins."""
    choices = without_twins(instance, layouts(instance, tick=tick))
    times = _times(instance, choices)
    lengths, layouts_of = [], []
    for own, own_lengths, most in zip(choices, times.lengths, times.within, strict=True):
        short = [n for n, length in enumerate(own_lengths) if length <= most]
        layouts_of.append([own[n] for n in short])
        lengths.append([own_lengths[n] for n in short])
    return layouts_of, replace(times, lengths=lengths)


@dataclass(frozen=True, slots=True)
class _Times:
    """The unit of time in seconds; in units, by job: L_il; p_i; r_i; and D_i; and the horizon of a complete model."""

    unit_s: float
    lengths: list[list[float]]
    least: list[float]
    release: list[float]
    within: list[float]
    latest: float = math.inf


def _times(instance: Instance, choices: list[list[Layout]], latest_s: float | None = None) -> _Times:
    """Times with D_i of the best known schedule, or of the latest end of all jobs."""
    release = [job.release_s for job in instance.jobs]
    lengths = lengths_s(instance, choices)
    least = [min(own, default=0.0) for own in lengths]
    end_s = max(release) + sum(max(own, default=0.0) for own in lengths)
    within, unit_s = [end_s - each for each in release], 1.0
    # D_i by the best known schedule or the horizon, with a margin for tolerances; jobs that have begun do not wait
    if all(choices):
        flows = _known_s(instance, choices, least)
        flow_s = math.fsum(flows)
        spare_s = max(0.0, math.fsum([*flows, *(-each for each in least)]))
        known = [min(each, shortest + spare_s) + MARGIN * flow_s for each, shortest in zip(within, least, strict=True)]
        within = known if latest_s is None else [latest_s + MARGIN * flow_s - each for each in release]
        begun = [job.begun is not None for job in instance.jobs]
        within = [p if runs else each for p, runs, each in zip(least, begun, within, strict=True)]
        unit_s = 1.0 if 1 <= flow_s <= 2**14 else math.ldexp(1.0, math.frexp(flow_s)[1] - 10)
    return _Times(
        unit_s,
        [[each / unit_s for each in own] for own in lengths],
        [each / unit_s for each in least],
        [each / unit_s for each in release],
        [max(each, shortest) / unit_s for each, shortest in zip(within, least, strict=True)],
        math.inf if latest_s is None else latest_s / unit_s,
    )


def _known_s(instance: Instance, choices: list[list[Layout]], least: list[float]) -> list[float]:
    """Flow times of the jobs in the best of some schedules in which every job has its fastest layout."""
    jobs = instance.jobs
    chosen = [min(own, key=lambda layout: layout.iteration_s) for own in choices]
    # orders by earliest end, length, work and release
    keys = [(job.release_s + p, p, p * job.gpus, job.release_s) for job, p in zip(jobs, least, strict=True)]
    orders = [sorted(range(len(jobs)), key=[key[n] for key in keys].__getitem__) for n in range(4)]
    schedules = [timed(instance, [(i, chosen[i]) for i in order]) for order in orders]
    return min((flow_times(instance, schedule) for schedule in schedules), key=math.fsum)


def _order(starts: Sequence[float], before: Sequence[tuple[int, int]]) -> list[int]:
    """Jobs in the order of their starts, but each after those that y puts before it: starts may be equal up to tolerance."""
    remaining = sorted(range(len(starts)), key=starts.__getitem__)
    order: list[int] = []
    while remaining:
        waiting = {j for i, j in before if i in remaining}
        order.append(next((i for i in remaining if i not in waiting), remaining[0]))
        remaining.remove(order[-1])
    return order
