"""The meaning of ring_embedding: what an embedding is worth, and which rules it breaks.

maximise sum_i mu_i(zeta_i z_i) - sum_t sum_(s on in t) e_s - sum_i e_i z_i,   z_i = sum_t sum_s y_is[t], worker-slots of job i

A server is on in a slot in which it has a worker; e_s and e_i are what its power and that of a worker cost in a slot. With the
objective ``max_min``: maximise min_i mu_i(zeta_i z_i).

``slots``       rings stand in slots 1 .. T
``workers``     a ring holds jobs and servers that exist, whole numbers >= 1, and sum_s y_is[t] <= N_i
``arrival``     y_is[t] = 0 for t < a_i
``budget``      l_i^r z_i <= F_i^r
``capacity``    sum_i l_i^r y_is[t] <= C_s^r
``ring``        the order names every server of the ring once, and each has a route to the next, the last to the first
``bandwidth``   on every directed link, the b_i of the rings that cross it, each as often as it does, add up to B_e at most

Capacities, budgets and bandwidths may be exceeded by 1e-9 of themselves. A ring on one server uses no link. Rings are
routed in the order given, by code that nothing but checkers uses.
"""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

from dlsched.cluster.network import Router
from dlsched.core.gap import tolerance
from dlsched.core.result import Violation
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.objectives import SUM, objective_of
from dlsched.ring_embedding.solution import Embedding, Ring

_COUNTS = 2**53
Amounts = dict[tuple[str, str], list[float]]
"""Amounts used, by server and resource, or by the two ends of a directed link."""


def objective(instance: Instance, embedding: Embedding) -> float:
    """Total utility less the price of energy, or the least utility; a job that never runs counts with the utility of nothing."""
    return objective_of(instance).value(instance, embedding)


def total(instance: Instance, embedding: Embedding) -> float:
    """Total utility less the price of energy."""
    earned = utilities(instance, embedding).values()
    return math.fsum([*earned, -float(energy_price(instance, embedding))])


def least(instance: Instance, embedding: Embedding) -> float:
    """The least utility of a job."""
    return min(utilities(instance, embedding).values())


def utilities(instance: Instance, embedding: Embedding) -> dict[str, float]:
    """Utility of every job's worker-slots, by job id."""
    counts = worker_slots(instance, embedding)
    return {job.id: worth(job, counts[job.id]) for job in instance.jobs}


def energy_price(instance: Instance, embedding: Embedding) -> Fraction:
    """Exact price of the energy that an embedding uses."""
    counts, on = worker_slots(instance, embedding), slots_on(instance, embedding)
    workers = (
        price * counts[job.id] for job, price in zip(instance.jobs, instance.worker_prices, strict=True) if price
    )
    servers = (price * on[node.id] for node, price in zip(instance.servers, instance.on_prices, strict=True) if price)
    return sum((*workers, *servers), Fraction(0))


def energy_kwh(instance: Instance, embedding: Embedding) -> float:
    """Kilowatt-hours used in all slots by servers that are on and by workers."""
    counts, on = worker_slots(instance, embedding), slots_on(instance, embedding)
    powers = [job.worker_power_w * counts[job.id] for job in instance.jobs]
    powers += [node.power_on_w * on[node.id] for node in instance.servers]
    return math.fsum(powers) * instance.slot_s / 3.6e6


def slots_on(instance: Instance, embedding: Embedding) -> dict[str, int]:
    """Number of slots in which each server has a worker, by server id."""
    on = {server.id: 0 for server in instance.servers}
    for rings in embedding.slots.values():
        for name in {server for ring in rings.values() for server in ring.workers}:
            if name in on:
                on[name] += 1
    return on


def worker_slots(instance: Instance, embedding: Embedding) -> dict[str, int]:
    """z_i by job id: workers in a slot, added up over the slots."""
    counts = {job.id: 0 for job in instance.jobs}
    for rings in embedding.slots.values():
        for job, ring in rings.items():
            if job in counts:
                counts[job] += sum(ring.workers.values())
    return counts


def worth(job: Job, count: int) -> float:
    """mu_i(zeta_i z): utility of ``count`` worker-slots."""
    return job.utility.at(job.rate * count)


def check(instance: Instance, embedding: Embedding) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    broken: list[Violation] = []
    total = {job.id: 0 for job in instance.jobs}
    route = Router(instance.nodes, instance.links, instance.paths)
    for slot, rings in embedding.slots.items():
        if type(slot) is not int or not 1 <= slot <= instance.slots:
            broken.append(Violation("slots", f"slot {slot}", message=f"there are slots 1 to {instance.slots}"))
            continue
        used: Amounts = defaultdict(list)
        load: Amounts = defaultdict(list)
        for name, ring in rings.items():
            where = f"{name} in slot {slot}"
            # A ring with a broken rule reserves nothing, so one fault is not reported again as overuse.
            faults = _broken_workers(instance, name, ring, where)
            broken += faults
            if faults:
                continue
            job = instance.jobs[instance.index[name]]
            total[name] += sum(ring.workers.values())
            if slot < job.arrival_slot:
                message = f"the job arrives in slot {job.arrival_slot}"
                broken.append(Violation("arrival", where, float(job.arrival_slot - slot), message))
            for server, count in ring.workers.items():
                for resource, amount in job.demand.items():
                    used[server, resource].append(amount * count)
            hops, faults = _routed(ring, route, where)
            broken += faults
            for hop in hops:
                load[hop].append(job.bandwidth_bytes_per_s)
        broken += _overused(instance, used, load, slot)
    for name, count in total.items():
        job = instance.jobs[instance.index[name]]
        for resource, budget in job.budget.items():
            spent = job.demand.get(resource, 0.0) * count
            broken += _over("budget", f"{name} {resource}", spent, budget, f"{resource} are spent")
    return broken


def infeasible(instance: Instance) -> str | None:
    """None: running no job is feasible in every instance."""
    del instance
    return None


def figures(instance: Instance, embedding: Embedding) -> dict[str, float]:
    """Further figures of a feasible embedding: jobs that run at all, worker-slots, rings that cross a link, fairness.

    Progress zeta_i z_i over all jobs and of the job with the least, and the least utility. Where some power is stated, the
    energy in kWh; where it has a price, utility without it. With ``max_min``, total utility.
    """
    counts, earned = worker_slots(instance, embedding), utilities(instance, embedding).values()
    rings = [ring for slot in embedding.slots.values() for ring in slot.values()]
    progress = [job.rate * counts[job.id] for job in instance.jobs]
    further = {"progress": math.fsum(progress), "least_progress": min(progress), "least_utility": min(earned)}
    if any(node.power_on_w for node in instance.nodes) or any(job.worker_power_w for job in instance.jobs):
        further["energy_kwh"] = energy_kwh(instance, embedding)
    if objective_of(instance) is not SUM:
        further["utility"] = math.fsum(earned)
    return {
        "jobs_run": float(sum(count > 0 for count in counts.values())),
        "worker_slots": float(sum(counts.values())),
        "rings": float(len(rings)),
        "rings_across_servers": float(sum(len(ring.workers) > 1 for ring in rings)),
    } | further


def _over(rule: str, where: str, used: float, allowed: float, words: str) -> list[Violation]:
    if used - allowed > tolerance(allowed):
        return [Violation(rule, where, used - allowed, f"{used:g} of {allowed:g} {words}")]
    return []


def _broken_workers(instance: Instance, name: str, ring: Ring, where: str) -> list[Violation]:
    if name not in instance.index:
        return [Violation("workers", where, message="there is no such job")]
    if not ring.workers:
        return [Violation("workers", where, message="the ring has no worker: leave it out")]
    known = instance.server_index
    for server, count in ring.workers.items():
        if server not in known:
            return [Violation("workers", where, message=f"there is no server {server!r}")]
        if type(count) is not int or not 1 <= count <= _COUNTS:
            return [Violation("workers", where, message=f"{count!r} workers on {server!r}, which must be >= 1")]
    job, total = instance.jobs[instance.index[name]], sum(ring.workers.values())
    if total > job.max_workers:
        message = f"{total} workers, it can use {job.max_workers}"
        return [Violation("workers", where, float(total - job.max_workers), message)]
    return []


def _routed(ring: Ring, route: Router, where: str) -> tuple[list[tuple[str, str]], list[Violation]]:
    """Directed links that the ring crosses, once for each crossing; or the rule that it breaks."""
    if len(ring.order) != len(ring.workers) or any(name not in ring.order for name in ring.workers):
        message = f"the order {list(ring.order)} does not name each of its {len(ring.workers)} servers once"
        return [], [Violation("ring", where, message=message)]
    hops: list[tuple[str, str]] = []
    for here, there in pairwise((*ring.order, ring.order[0]) if len(ring.order) > 1 else ()):
        path = route(here, there)
        if path is None:
            return [], [Violation("ring", where, message=f"there is no route from {here!r} to {there!r}")]
        hops += pairwise(path)
    return hops, []


def _overused(instance: Instance, used: Amounts, load: Amounts, slot: int) -> list[Violation]:
    broken = []
    for (server, resource), amounts in used.items():
        allowed = instance.servers[instance.server_index[server]].holds(resource)
        where = f"{server} {resource} in slot {slot}"
        broken += _over("capacity", where, math.fsum(amounts), allowed, f"{resource} are used")
    bandwidth = {link.ends: link.bandwidth_bytes_per_s for link in instance.links} if load else {}
    for (here, there), amounts in load.items():
        allowed = bandwidth[(here, there) if (here, there) in bandwidth else (there, here)]
        where = f"{here}->{there} in slot {slot}"
        broken += _over("bandwidth", where, math.fsum(amounts), allowed, "B/s are reserved")
    return broken
