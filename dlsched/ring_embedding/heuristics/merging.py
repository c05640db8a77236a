"""Improvement of a plan by switching servers off and on, slot after slot, if that pays.

*Off.* The rings of a server move to servers that are on in the slot or cost less; workers that do not fit
there get worker-slots in other slots, if those need no further server. What fits nowhere is lost. Servers
that cost the most for each of their workers come first.

*On.* Servers that several rings pay for together (``slot.switching``). Then what is free is filled. Ours; no paper.
"""

import numpy as np

from dlsched.ring_embedding.heuristics.worker_slots import FREE, WorkerSlots
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.switching import opened, without

ROUNDS = 10
_LITTLE = 1e-3  # relative gain; the first round below it is the last
_ROUNDING = 1e-9


def merge(plan: WorkerSlots) -> None:
    """Switch servers off and on in place and fill free capacity, in rounds; the objective never falls.

    Cost: in every round one search for servers per worker on servers that cost something, and few more in other slots; and
    ``slot.filling.fill`` for every kind of server in every slot.
    """
    worth = plan.gain()
    for _ in range(ROUNDS):
        full: dict[int, set[int]] = {job: set() for job in range(len(plan.held))}
        for number, server in _by_use(plan):
            plan.tick()
            if plan.slots[number].used[server]:
                _switch_off(plan, number, server, full)
        for number in plan.slots:
            plan.tick()
            _switch_on(plan, number)
        plan.fill()
        before, worth = worth, plan.gain()
        if worth <= before + _LITTLE * abs(before):
            break


def _by_use(plan: WorkerSlots) -> list[tuple[int, int]]:
    """Pairs of a slot and a server that is on and costs something, the highest cost per worker first."""
    price = plan.network.on_price
    rates = {
        (number, server): float(price[server] / slot.used[server])
        for number, slot in plan.slots.items()
        for server in np.flatnonzero((slot.used > 0) & (price > 0)).tolist()
    }
    return sorted(rates, key=lambda place: (-rates[place], place))


def _switch_on(plan: WorkerSlots, number: int) -> None:
    """Switch on servers that pay for several rings together."""
    network, slot = plan.network, plan.slots[number]
    gains = {}
    for job, record in enumerate(network.instance.jobs):
        other = plan.held[job] - slot.count(job)
        most = min(int(network.most[job]), int(network.total[job]) - other)
        if record.arrival_slot <= number and most > 0:
            gains[job] = network.gains(job, other, most)
    plan.replace(number, opened(slot, gains, plan.share))


def _switch_off(plan: WorkerSlots, number: int, server: int, full: dict[int, set[int]]) -> None:
    """Switch a server off if that pays; ``full``: slots known to take no further worker, by job."""
    price = float(plan.network.on_price[server])
    # First onto servers that are on already; if that does not pay, onto cheaper ones too.
    if not _pays(plan, number, server, 0.0, full):
        _pays(plan, number, server, price, full)


def _pays(plan: WorkerSlots, number: int, server: int, below: float, full: dict[int, set[int]]) -> bool:
    """Switch a server off, and servers cheaper than ``below`` on; if that does not pay, undo it: False."""
    slot, held = plan.slots[number], list(plan.held)
    counts = {job: slot.count(job) for job, (workers, _, _) in slot.rings.items() if server in workers}
    gains = {job: plan.network.gains(job, held[job] - count, count) for job, count in counts.items()}
    other, touched = without(slot, server, gains, plan.share, below), {number: slot}
    saved = slot.on_price - other.on_price
    plan.replace(number, other)
    # Worker-slots that fit on no other server of this slot go to other slots; what fits nowhere is lost.
    for job in counts:
        if plan.held[job] < held[job]:
            _elsewhere(plan, job, held[job], touched, full[job])
    lost = sum(float(plan.net[job].values[held[job]] - plan.net[job].values[plan.held[job]]) for job in counts)
    pays = saved - lost > _ROUNDING * saved
    if not pays:
        for changed, before in touched.items():
            plan.replace(changed, before)
    return pays


def _elsewhere(plan: WorkerSlots, job: int, total: int, touched: dict[int, Slot], full: set[int]) -> None:
    """Give a job up to ``total`` worker-slots on servers that are on; ``touched``: the slots before any change."""
    most, begin = int(plan.network.most[job]), plan.network.instance.jobs[job].arrival_slot
    for number in range(begin, plan.network.instance.slots + 1):
        if number in full or plan.held[job] == total:
            continue
        slot = plan.slots[number]
        before, known = slot.copy(), number in touched
        while plan.held[job] < total and slot.count(job) < most and plan.afford(job, number, slot.count(job) + 1, FREE):
            touched.setdefault(number, before)
        if not known and number not in touched:
            full.add(number)
