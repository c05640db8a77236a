"""Small networks in which heuristics for rings do badly.

One switch, or two racks with a link between them; servers of one or two GPUs; one to four slots. A worker takes a GPU, links have
1 GB/s, no budget binds, energy costs nothing, and the sum of utilities counts. What makes the ratio is free: utilities, the
bandwidth of rings, how many workers jobs can use and when they arrive; and the network, by moves of its own.

===========  =====================================  ======================================================================
``utility``  free, progress being worker-slots      how far ratios go
===========  =====================================  ======================================================================
``sigmoid``  height 1 to 10, midpoint .5 to 6;      With the range of heights, of all that look at one slot: they see little
             steepness is 2                         gain where a sigmoid is flat. As exp(2 midpoint) of FIFO, LAS and DRF,
                                                    which share GPUs among jobs until none gets past its midpoint.
``capped``   slope 1 to 10, cap 10 to 100           Of FIFO, LAS and DRF with the range of slopes, and of the first two with
                                                    GPUs too. Of the exact slot greedy 2 at most; by hand 4/3 with two jobs.
``sqrt``     scale 1 to 10                          As of ``capped``.
``log``      scale 1 to 10; the rate .1 to 10, by   As of ``capped``.
             which it flattens sooner or later
===========  =====================================  ======================================================================
"""

import copy
from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np

from dlsched.core.arguments import require_arguments
from dlsched.core.errors import UsageError
from dlsched.core.figures import log_uniform
from dlsched.families import FAMILIES
from dlsched.ring_embedding.generator import PRESETS, generate
from dlsched.worst.space import Data, Number, Space

JOBS, SERVERS, SLOTS = 4, 4, 4
"""The most, where nothing is said; a server has 2 GPUs at most."""
LINK = 1e9
"""B/s of all links."""
STEEPNESS = 2.0
"""Of sigmoids: a worker-slot below the midpoint they are worth a fiftieth of their height."""

Racks = list[list[float]]
"""GPUs of the servers of each rack; those of one rack are at one switch."""

_UTILITIES = {
    "sigmoid": (Number("jobs[].utility.height", 1, 10), Number("jobs[].utility.midpoint", 0.5, 6)),
    "capped": (Number("jobs[].utility.slope", 1, 10), Number("jobs[].utility.cap", 10, 100)),
    "sqrt": (Number("jobs[].utility.scale", 1, 10),),
    "log": (Number("jobs[].utility.scale", 1, 10), Number("jobs[].rate", 0.1, 10)),
}
_FIXED = {"sigmoid": {"steepness": STEEPNESS}}


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    servers: int | None = None,
    slots: int | None = None,
    utility: str | None = None,
) -> Space:
    """Make the space.

    Parameters
    ----------
    jobs, gpus
        The most of them, >= 1; None: 4 jobs, and 2 GPUs on each server. ``gpus`` is said of all servers together.
    preset
        Draws come from the generator with this preset; their networks stay as they are.
    servers
        The most servers; None: 4.
    slots
        The most slots; None: 4.
    utility
        ``sigmoid`` (the paper's; by default), ``capped``, ``sqrt`` or ``log``; presets have their own.

    Raises
    ------
    UsageError
        A number out of range, an unknown preset or utility, or what does not go with a preset.
    """
    require_arguments(PRESETS, preset or "small", 0, jobs=jobs, gpus=gpus, servers=servers, slots=slots)
    if preset is not None:
        return _of_preset(preset, utility, jobs=jobs, gpus=gpus, servers=servers, slots=slots)
    kind = utility or "sigmoid"
    if kind not in _UTILITIES:
        raise UsageError(f"utility: found {kind!r}, allowed: {', '.join(_UTILITIES)}")
    servers, slots = servers or SERVERS, slots or SLOTS
    gpus = gpus or 2 * servers
    moves = (_move_arrival, partial(_change_network, gpus=gpus, servers=servers))
    return Space(
        family=FAMILIES["ring_embedding"],
        draw=partial(_draw, kind=kind, jobs=jobs or JOBS, gpus=gpus, servers=servers, slots=slots),
        numbers=(*_UTILITIES[kind], *_numbers(gpus, LINK), Number("slots", 1, slots, whole=True)),
        members=(("jobs", 1, jobs or JOBS),),
        moves=(*moves, _bend) if kind in ("sigmoid", "capped") else moves,
        simpler=(_fewer_slots, _smaller_networks, _plainer_jobs),
        repair=_repaired,
        reference="circuit" if kind == "sigmoid" else "exact",
    )


def _numbers(workers: int, bandwidth: float) -> tuple[Number, ...]:
    return (
        Number("jobs[].max_workers", 1, workers, whole=True),
        Number("jobs[].bandwidth_bytes_per_s", bandwidth / 10, bandwidth),
    )


def _of_preset(preset: str, utility: str | None, **sizes: int | None) -> Space:
    if utility is not None:
        raise UsageError(
            f"utility: found {utility!r} with the preset {preset}, allowed: none, as presets have their own"
        )
    given = {name: size for name, size in sizes.items() if size is not None}
    generate(preset=preset, **given)  # refuses what does not go together
    figures = [Number(f"jobs[].utility.{name}", 0.01, 1000) for name in ("scale", "slope", "cap", "height", "midpoint")]

    def draw(rng: np.random.Generator) -> Data:
        return _repaired(generate(preset=preset, seed=int(rng.integers(2**31)), **given).as_data())

    return Space(
        family=FAMILIES["ring_embedding"],
        draw=draw,
        numbers=(*figures, *_numbers(8, 2 * LINK), Number("jobs[].rate", 0.01, 1000)),
        members=(("jobs", 1, given.get("jobs", 200)),),
        moves=(_move_arrival,),
        simpler=(_fewer_slots, _plainer_jobs),
        repair=_repaired,
    )


def _draw(rng: np.random.Generator, kind: str, jobs: int, gpus: int, servers: int, slots: int) -> Data:
    length = int(rng.integers(1, slots + 1))
    count = int(rng.integers(min(2, servers, gpus), min(servers, gpus) + 1))
    sizes = [1.0] * count
    for server in range(min(count, gpus - count)):
        sizes[server] += float(rng.integers(2))
    racks = [sizes[: -(-count // 2)], sizes[-(-count // 2) :]] if rng.random() < 0.5 else [sizes]
    drawn = [_job(rng, kind, length) for _ in range(int(rng.integers(min(2, jobs), jobs + 1)))]
    whole = {"format": "dlsched/ring_embedding/1", "name": "drawn", "slots": length}
    return _repaired(whole | _network(racks) | {"jobs": drawn})


def _job(rng: np.random.Generator, kind: str, slots: int) -> Data:
    held: Data = {"rate": 1.0, "utility": {"kind": kind} | _FIXED.get(kind, {})}
    for number in _UTILITIES[kind]:
        value = log_uniform(rng, number.low, number.high)
        *_, name = number.path.split(".")
        (held if name.endswith("rate") else held["utility"])[name] = float(f"{value:.1g}")  # so that jobs tie
    return {
        "id": "",
        "arrival_slot": int(rng.integers(1, slots + 1)),
        "max_workers": int(rng.integers(1, 5)),
        "demand": {"gpu": 1.0},
        "bandwidth_bytes_per_s": float(rng.choice([0.1, 0.5, 1])) * LINK,
    } | held


def _network(racks: Racks) -> Data:
    """Nodes and links of servers in racks; a server alone needs no switch, one rack no other."""
    racks = [rack for rack in racks if rack]
    names = ["switch"] if len(racks) == 1 else [f"rack{index}" for index in range(len(racks))]
    placed = [(gpus, name) for rack, name in zip(racks, names, strict=True) for gpus in rack]
    nodes: list[Data] = [{"id": f"s{index}", "capacity": {"gpu": gpus}} for index, (gpus, _) in enumerate(placed)]
    ends = [[f"s{index}", name] for index, (_, name) in enumerate(placed)] + ([names] if len(names) == 2 else [])
    if len(nodes) == 1:
        return {"nodes": nodes, "links": []}
    links = [{"ends": each, "bandwidth_bytes_per_s": LINK} for each in ends]
    return {"nodes": [*nodes, *({"id": name} for name in names)], "links": links}


def _racks(data: Data) -> Racks:
    """What ``_network`` was made of."""
    above = {link["ends"][0]: link["ends"][1] for link in data["links"]}
    racks: dict[str, list[float]] = {}
    for node in data["nodes"]:
        if "capacity" in node:
            racks.setdefault(above.get(node["id"], ""), []).append(node["capacity"]["gpu"])
    return list(racks.values())


def _repaired(data: Data) -> Data:
    """Number the jobs, and have them arrive within the slots, which is always said."""
    changed = copy.deepcopy(data)
    for index, job in enumerate(changed["jobs"]):
        job["id"] = f"j{index}"
        job["arrival_slot"] = min(job.get("arrival_slot", 1), changed["slots"])
    return changed


def _move_arrival(data: Data, rng: np.random.Generator) -> Data | None:
    """Have a job arrive in another slot."""
    changed = copy.deepcopy(data)
    job = changed["jobs"][rng.integers(len(changed["jobs"]))]
    job["arrival_slot"] = int(rng.integers(1, data["slots"] + 1))
    return None if changed == data else changed


def _change_network(data: Data, rng: np.random.Generator, gpus: int, servers: int) -> Data | None:
    """Add or take a server or a GPU, or place a server in the other rack."""
    racks = [list(rack) for rack in _racks(data)] + [[]]
    rack = racks[rng.integers(2)]
    match rng.integers(4):
        case 0:
            rack.append(1.0)
        case 1 if rack:
            rack.pop(rng.integers(len(rack)))
        case 2 if rack:
            server = rng.integers(len(rack))
            rack[server] = 3.0 - rack[server]
        case 3 if rack:
            (racks[1] if rack is racks[0] else racks[0]).append(rack.pop(rng.integers(len(rack))))
    sizes = list(chain.from_iterable(racks))
    if racks[:2] == _racks(data) or not 1 <= len(sizes) <= servers or sum(sizes) > gpus:
        return None
    return copy.deepcopy(data) | _network(racks)


def _bend(data: Data, rng: np.random.Generator) -> Data:
    """Have a utility flatten after a whole number of worker-slots."""
    changed = copy.deepcopy(data)
    job = changed["jobs"][rng.integers(len(changed["jobs"]))]
    count = int(rng.integers(1, data["slots"] * job["max_workers"] + 1))
    match job["utility"]:
        case {"kind": "sigmoid"} as utility:
            utility["midpoint"] = min(count, 6) - 0.5
        case {"kind": "capped", "slope": slope} as utility:
            utility["cap"] = min(max(10.0, slope * count), 100.0)
    return changed


def _fewer_slots(data: Data) -> Sequence[Data]:
    return [copy.deepcopy(data) | {"slots": count} for count in range(1, data["slots"])]


def _smaller_networks(data: Data) -> Sequence[Data]:
    """All servers at one switch, a server less, a GPU less."""
    racks = _racks(data)
    found = [[list(chain.from_iterable(racks))]] if len(racks) > 1 else []
    places = [(r, s) for r, rack in enumerate(racks) for s in range(len(rack))]
    for r, s in places if len(places) > 1 else []:
        found.append([rack[:s] + rack[s + 1 :] if index == r else rack for index, rack in enumerate(racks)])
    for r, s in places:
        if racks[r][s] > 1:
            found.append([[*rack[:s], 1.0, *rack[s + 1 :]] if index == r else rack for index, rack in enumerate(racks)])
    return [copy.deepcopy(data) | _network(smaller) for smaller in found]


def _plainer_jobs(data: Data) -> Sequence[Data]:
    """A job, or all, in the first slot, without bandwidth, with that of a link, with a worker less."""
    found = []
    for plain in ({"arrival_slot": 1}, {"bandwidth_bytes_per_s": LINK / 10}, {"bandwidth_bytes_per_s": LINK}):
        for chosen in (range(len(data["jobs"])), *([index] for index in range(len(data["jobs"])))):
            changed = copy.deepcopy(data)
            for index in chosen:
                changed["jobs"][index] |= plain
            found.append(changed)
    for index, job in enumerate(data["jobs"]):
        if job["max_workers"] > 1:
            changed = copy.deepcopy(data)
            changed["jobs"][index]["max_workers"] -= 1
            found.append(changed)
    return [changed for changed in found if changed != data]
