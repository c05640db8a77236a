"""Epochs, classes of equal servers, and capacity rows that every embedding satisfies, for all bounds.

*Epochs.* Between two arrivals all slots are alike; epoch e begins with slot t_e, has L_e slots, and every job with
a_i <= t_e may run in it.

*Classes.* Servers with equal capacities that cost the same while they are on; m_c of them in class c.

*Rows.* For every resource r:  sum_i l_i^r y_is <= C_s^r  on every server s. And for a divisor d, one of the demands, since
the y are integers:  sum_i floor(l_i^r / d) y_is <= floor(C_s^r / d). Capacities here are at least what the checker tolerates.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from dlsched.core.gap import FEASIBLE
from dlsched.core.labels import separable_labels
from dlsched.ring_embedding.instance import Instance

_LOOSE = Fraction(11, 10) * Fraction(FEASIBLE)  # a tenth more than the checker tolerates
_DIVISORS = 6  # of one resource


class Epoch(NamedTuple):
    """An epoch: its first slot, and its number of slots."""

    first: int
    slots: int


class CapacityRow(NamedTuple):
    """A row of every server, exactly: what a worker of each job uses, and what a server of each class has."""

    name: str
    demand: tuple[Fraction, ...]
    capacity: tuple[Fraction, ...]


def loose(value: float) -> Fraction:
    """A capacity with a little more than its tolerance, exactly."""
    return Fraction(value) * (1 + _LOOSE)


def epochs(instance: Instance) -> list[Epoch]:
    """Epochs from the first arrival on, in order."""
    starts = sorted({job.arrival_slot for job in instance.jobs})
    ends = [*starts[1:], instance.slots + 1]
    return [Epoch(start, end - start) for start, end in zip(starts, ends, strict=True)]


def classes(instance: Instance) -> tuple[list[list[int]], list[int]]:
    """Servers of every class, in the order of the file, and the class of every server."""
    found: dict[tuple[float | Fraction, ...], list[int]] = {}
    for index, (server, price) in enumerate(zip(instance.servers, instance.on_prices, strict=True)):
        found.setdefault((*map(server.holds, instance.resources), price), []).append(index)
    members = list(found.values())
    of = {server: number for number, held in enumerate(members) for server in held}
    return members, [of[server] for server in range(len(of))]


def rows(instance: Instance) -> list[CapacityRow]:
    """Rows of every server, without those that another row with the same prices makes redundant."""
    found: list[CapacityRow] = []
    firsts = [instance.servers[held[0]] for held in classes(instance)[0]]
    for label, name in zip(separable_labels(instance.resources, "r"), instance.resources, strict=True):
        demand = tuple(Fraction(job.demand.get(name, 0.0)) for job in instance.jobs)
        capacity = tuple(loose(server.holds(name)) for server in firsts)
        plain = CapacityRow(label, demand, capacity)
        divided = []
        for divisor in sorted({amount for amount in demand if amount})[:_DIVISORS]:
            part = tuple(Fraction(math.floor(amount / divisor)) for amount in demand)
            whole = tuple(Fraction(math.floor(amount / divisor)) for amount in capacity)
            row = CapacityRow(f"{label}_by_{float(divisor)!r}", part, whole)
            if all(share * divisor == amount for share, amount in zip(part, demand, strict=True)):
                plain = CapacityRow(label, part, whole)  # all demands are multiples of the divisor: never weaker
            elif any(share * divisor < amount for share, amount in zip(whole, capacity, strict=True)):
                divided.append(row)
        found += [plain, *divided]
    return found


def fits(instance: Instance, job: int, demands: list[CapacityRow], number: int) -> int:
    """The most workers of a job that an empty server of a class holds, at most N_i."""
    most = instance.jobs[job].max_workers
    for row in demands:
        if row.demand[job]:
            most = min(most, math.floor(row.capacity[number] / row.demand[job]))
    return most
