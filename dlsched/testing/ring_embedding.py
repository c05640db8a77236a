"""ring_embedding for tests: instances with edge cases of embeddings, and optima by brute force.

Forests in one part and in several, servers that others are reached through, racks, one server alone; with listed paths:
cycles, thin chords, detours, pairs without a path. Links too thin for some rings or for two of them, rings that need no
bandwidth. One or two resources, demands that are fractions, zero, or more than some or all servers hold, servers without a
resource. Budgets that bind, budgets of 0, late arrivals, identical jobs. All utilities: steep and flat sigmoids, a midpoint
of 0 and one beyond reach, caps that bind, alpha-fair ones from linear to nearly max-min, losses that fall fast, slowly or not
at all, tables with plateaus, ever steeper ones, tables of one point. Energy that is worth its price and that is not, of some
servers or all, of some workers or none; power without a price. The sum of utilities and the least one.
"""

from functools import partial
from itertools import accumulate
from typing import Literal

from hypothesis import strategies as st

from dlsched.cluster.utility import AlphaFair
from dlsched.ring_embedding.instance import RANGES, Instance
from dlsched.testing.cases import Case
from dlsched.testing.drawing import Data, named, several, values
from dlsched.testing.ring_brute_force import brute_force_ring
from dlsched.testing.topologies import forests, graphs, paths

_DIGITS = 4
_SLOTS_S, _ENERGY, _CAPACITIES, _ON, _BANDWIDTHS = (
    values(RANGES[path], _DIGITS)
    for path in (
        "slot_s",
        "energy_price_per_kwh",
        "nodes[].capacity{}",
        "nodes[].power_on_w",
        "links[].bandwidth_bytes_per_s",
    )
)
_DEMANDS, _BUDGETS, _LOADS, _RATES, _WORKERS = (
    values(RANGES[f"jobs[].{name}"], _DIGITS)
    for name in ("demand{}", "budget{}", "bandwidth_bytes_per_s", "rate", "worker_power_w")
)
_SCALES, _SLOPES, _STEEPNESS, _ALPHAS, _SHIFTS, _SPEEDS, _STARTS, _FLOORS = (
    values(RANGES[f"jobs[].utility.{name}"], _DIGITS)
    for name in ("scale", "worth[]", "steepness", "alpha", "shift", "curve.b0", "curve.b1", "curve.b2")
)
_WIDTHS = values(RANGES["jobs[].utility.progress[]"], 3)
_SINGLE = st.one_of(st.just(1.0), st.sampled_from([1.0, 1.2, 2.0]))
_PARTS = st.one_of(st.just(1.0), st.sampled_from([1.0, 0.5, 0.7, 1.1]))

_OF_SUMS = ("density", "gadget", "slot-greedy", "columns")


@st.composite
def ring_embedding_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_servers: int = 3,
    max_slots: int = 3,
    max_workers: int = 3,
    forest: bool | None = None,
    concave: bool | None = None,
    objectives: Literal["plain", "sum", "any"] = "plain",
) -> Instance:
    """Instances of ring_embedding of every awkward kind.

    Parameters
    ----------
    max_jobs, max_servers, max_slots, max_workers
        The most jobs, servers, slots, and workers of a job in one slot.
    forest
        Whether the network is a forest without listed paths; None: either.
    concave
        Whether all utilities are concave; False: at least one is S-shaped; None: either.
    objectives
        ``plain``: sums of the utilities ``sqrt``, ``log``, ``capped`` and ``sigmoid``; ``sum``: sums of all utilities, less the
        price of energy; ``any``: these, and the least utility.
    """
    if min(max_jobs, max_servers, max_slots, max_workers) < 1:
        raise ValueError("max_jobs, max_servers, max_slots and max_workers must be at least 1")
    tree = draw(st.integers(0, 2)) > 0 if forest is None else forest
    size = draw(st.sampled_from([max_servers, max_servers, *range(1, max_servers)]))
    servers = [f"s{index}" for index in range(size)]
    others, pairs = draw(forests(servers) if tree else graphs(servers))
    resources = draw(st.sampled_from([["gpu"], ["gpu"], ["gpu", "memory"]]))
    single = draw(st.booleans())  # servers that hold little more than a worker, so that rings need several
    alike = draw(st.booleans())
    first = draw(_capacities(resources, single))
    capacities = {name: first if alike else draw(_capacities(resources, single)) for name in servers}
    unit = draw(st.sampled_from([1.0, 1.0, 1.25e8, 2.0**-10]))
    thick = draw(st.one_of(st.none(), _BANDWIDTHS))
    links = [(pair, thick if thick is not None and draw(st.booleans()) else draw(_BANDWIDTHS)) for pair in pairs]
    listed = None if tree else draw(paths(servers, pairs))
    slots = draw(st.integers(1, max_slots))
    number = draw(st.integers(1, min(2, max_jobs)) if single else st.sampled_from([max_jobs, *range(1, max_jobs + 1)]))
    kinds = ["sqrt", "log", "capped", "flat"] + ([] if objectives == "plain" else ["alpha_fair", "loss", "table"] * 2)
    kinds += [] if concave is not None else ["sigmoid"] * 4 if objectives == "plain" else ["sigmoid", "table", "table"]
    jobs = several(draw, _jobs(resources, slots, max_workers, single, unit, kinds, concave is None), number)
    if concave is False:
        jobs = [jobs[0] | {"utility": draw(_sigmoids(jobs[0]["rate"], slots * max_workers))}, *jobs[1:]]
    nodes: list[Data] = [{"id": name, "capacity": capacities[name]} for name in servers]
    whole: Data = {}
    if objectives == "any" and draw(st.integers(0, 2)) == 2:
        whole = {"objective": "max_min"}
    elif objectives != "plain" and draw(st.booleans()):
        whole, nodes, jobs = draw(_powered(nodes, jobs))
    return Instance(
        name="drawn",
        slots=slots,
        nodes=nodes + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": amount * unit} for pair, amount in links],
        paths=listed,
        jobs=named(jobs),
        **whole,
    )


@st.composite
def _powered(draw: st.DrawFn, nodes: list[Data], jobs: list[Data]) -> tuple[Data, list[Data], list[Data]]:
    """The price of energy, and servers and jobs with power: of servers that are worth their price when full, and of others."""
    whole = {"slot_s": draw(_SLOTS_S), "energy_price_per_kwh": draw(_ENERGY)}
    watts = 3.6e6 / whole["slot_s"] / (whole["energy_price_per_kwh"] or 1.0)  # of a price of 1 a slot
    same = draw(st.one_of(st.none(), st.just(0.0), _ON))
    nodes = [node | {"power_on_w": watts * (draw(_ON) if same is None else same)} for node in nodes]
    return whole, nodes, [job | {"worker_power_w": watts * draw(_WORKERS)} for job in jobs]


@st.composite
def _capacities(draw: st.DrawFn, resources: list[str], single: bool) -> Data:
    """Draw capacities of at least one resource, sometimes also of one that no job wants."""
    held = {name: draw(_SINGLE if single else _CAPACITIES) for name in resources if draw(st.integers(0, 15)) != 7}
    return held or {"other": 1.0}


@st.composite
def _jobs(
    draw: st.DrawFn,
    resources: list[str],
    slots: int,
    max_workers: int,
    single: bool,
    unit: float,
    kinds: list[str],
    any_shape: bool,
) -> Data:
    demand = {name: draw(_PARTS if single else _DEMANDS) for name in resources}
    if len(resources) > 1 and draw(st.integers(0, 3)) == 0:
        demand[draw(st.sampled_from(resources))] = 0.0
    job: Data = {
        "max_workers": draw(st.sampled_from([max_workers, max_workers, max_workers, *range(1, max_workers)])),
        "demand": demand,
        "bandwidth_bytes_per_s": draw(_LOADS) * unit,
        "rate": draw(_RATES),
    }
    if draw(st.integers(0, 3)) == 2:
        job["arrival_slot"] = draw(st.integers(1, slots))
    if draw(st.integers(0, 3)) == 2:
        job["budget"] = {draw(st.sampled_from(resources)): draw(_BUDGETS)}
    kind, reach = draw(st.sampled_from(kinds)), slots * max_workers
    if kind == "sigmoid":
        job["utility"] = draw(_sigmoids(job["rate"], reach))
    elif kind == "table":
        job["utility"] = draw(_tables(job["rate"], any_shape))
    else:
        job["utility"] = draw(_concave(kind, job["rate"], reach))
    return job


@st.composite
def _concave(draw: st.DrawFn, kind: str, rate: float, reach: int) -> Data:
    scale = draw(_SCALES)
    if kind in ("sqrt", "log"):
        return {"kind": kind, "scale": scale}
    if kind == "capped":
        most = draw(st.sampled_from([1.0, 1.5, 2.0, 2.0 * reach]))
        return {"kind": kind, "slope": scale / rate, "cap": scale * most}
    if kind == "alpha_fair":  # the first worker-slot is worth scale
        alpha, shift = draw(_ALPHAS), draw(_SHIFTS) * rate
        shift = shift or (rate if alpha >= 1 else 0.0)
        first = AlphaFair(alpha=alpha, scale=1.0, shift=shift).at(rate)
        return {"kind": kind, "alpha": alpha, "scale": scale / first, "shift": shift}
    if kind == "loss":
        start = draw(_STARTS)
        curve = {"b0": draw(_SPEEDS) * start / rate, "b1": start, "b2": draw(_FLOORS)}
        return {"kind": kind, "scale": 2 * scale * start, "curve": curve}
    return {"kind": "sigmoid", "height": scale, "steepness": draw(_SCALES) / rate, "midpoint": 0.0}


@st.composite
def _tables(draw: st.DrawFn, rate: float, any_shape: bool) -> Data:
    """Up to five points, half a worker-slot apart or more; slopes of any order, or each half of the one before."""
    widths = draw(st.lists(_WIDTHS, max_size=4))
    first = draw(_SCALES)
    slopes = [first * 0.5**index for index in range(len(widths))]
    if any_shape:
        slopes = [draw(_SLOPES) for _ in widths]
    progress = [width * rate for width in accumulate(widths, initial=0.0)]
    rises = (slope * width for slope, width in zip(slopes, widths, strict=True))
    return {
        "kind": "table",
        "progress": progress,
        "worth": list(accumulate(rises, initial=draw(st.sampled_from([0.0, 1.5])))),
    }


@st.composite
def _sigmoids(draw: st.DrawFn, rate: float, reach: int) -> Data:
    """A midpoint after some worker-slots, now and then more than there can be; a slope from flat to a jump."""
    steepness = draw(_STEEPNESS)
    midpoint = draw(st.one_of(st.integers(1, reach), st.floats(0.5, 2.0 * reach))) * rate
    return {"kind": "sigmoid", "height": draw(_SCALES), "steepness": steepness / rate, "midpoint": midpoint}


CASE = Case(
    instances=partial(ring_embedding_instances, objectives="any"),
    brute_force=brute_force_ring,
    refuses=lambda method, instance: instance.objective == "max_min" and method in _OF_SUMS,
)
