"""Small networks in which heuristics for rings do badly.

Instances have one switch, or two racks with a link between them; servers of one or two GPUs; one to four
slots. A worker takes a GPU, links have 1 GB/s, no budget binds, energy costs nothing, and the sum of
utilities counts. The search varies what makes the ratio: utilities, bandwidth of rings, workers and arrivals
of jobs, and servers.

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

import math
from functools import partial
from itertools import chain

import numpy as np

from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.core.arguments import require_arguments
from dlsched.core.elementary import four_digits, log_uniform
from dlsched.core.errors import UsageError
from dlsched.core.messages import several
from dlsched.families import FAMILIES
from dlsched.ring_embedding.generator import PRESETS, generate
from dlsched.ring_embedding.instance import RANGES, Job
from dlsched.worst.spaces import Data, Number, Space, copied, searched, sizes_said, within

LINK, _ = RANGES["links[].bandwidth_bytes_per_s"].searched
"""B/s of all links."""
JOBS, SERVERS, SLOTS = 4, 4, 4
"""Default maxima; a server has at most 2 GPUs."""
STEEPNESS, _ = RANGES["jobs[].utility.steepness"].searched
"""Steepness of sigmoids: one worker-slot below the midpoint they are worth a fiftieth of their height."""

PROBED, SPARE = 40, 4
"""Jobs drawn to see whether a preset has a kind of utility; and jobs drawn per job that a draw keeps."""

_UTILITIES = {
    "sigmoid": searched(RANGES, "jobs[].utility.height", "jobs[].utility.midpoint"),
    "capped": searched(RANGES, "jobs[].utility.slope", "jobs[].utility.cap"),
    "sqrt": searched(RANGES, "jobs[].utility.scale"),
    "log": searched(RANGES, "jobs[].utility.scale", "jobs[].rate"),
}
(_LOAD,) = searched(RANGES, "jobs[].bandwidth_bytes_per_s")
_FIXED = {"sigmoid": {"steepness": STEEPNESS}}

Racks = list[list[float]]
"""GPUs of the servers of each rack; the servers of a rack share a switch."""


def space_of(
    *,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    servers: int | None = None,
    slots: int | None = None,
    utility: str | None = None,
) -> Space:
    """Make the space of at most ``jobs`` jobs, ``slots`` slots, ``servers`` servers and ``gpus`` GPUs; None: 4, 4, 4 and 8.

    Jobs of a ``preset`` have its utilities, and its network does not change; others have the ``utility`` ``sigmoid`` (the
    paper's; by default), ``capped``, ``sqrt`` or ``log``.
    """
    require_arguments(PRESETS, preset or "small", 0, jobs=jobs, gpus=gpus, servers=servers, slots=slots)
    if preset is not None:
        return _of_preset(preset, utility, jobs=jobs, gpus=gpus, servers=servers, slots=slots)
    kind = utility or "sigmoid"
    if kind not in _UTILITIES:
        raise UsageError(where="utility", found=repr(kind), allowed=", ".join(_UTILITIES))
    servers, slots = servers or SERVERS, slots or SLOTS
    gpus = gpus or 2 * servers
    return Space(
        family=FAMILIES["ring_embedding"],
        draw=partial(_draw, kind=kind, jobs=jobs or JOBS, gpus=gpus, servers=servers, slots=slots),
        numbers=(*_UTILITIES[kind], _workers(gpus), _LOAD, *_slots(slots)),
        members=(("jobs", 1, jobs or JOBS), ("nodes", 1, servers + 2)),
        repair=partial(_with_network, gpus=gpus, servers=servers),
        reference="circuit" if kind == "sigmoid" else "exact",
        presets={
            name: partial(_draw_generated, name, kind=kind, jobs=jobs or JOBS, gpus=gpus, servers=servers, slots=slots)
            for name in PRESETS
            if _serves(name, kind)
        },
        words=f"{sizes_said(jobs or JOBS, gpus)} of up to {several(servers, 'server')} in one or two racks, "
        f"up to {several(slots, 'slot')}, links of {LINK:.0e} B/s, {kind} utilities",
        wider=["--utility", "--servers", "--slots", "--jobs", "--gpus"],
    )


def _workers(most: int) -> Number:
    return Number("jobs[].max_workers", 1, most, whole=True)


def _slots(most: int) -> tuple[Number, Number]:
    return Number("slots", 1, most, whole=True), Number("jobs[].arrival_slot", 1, most, whole=True)


def _of_preset(preset: str, utility: str | None, **sizes: int | None) -> Space:
    if utility is not None:
        raise UsageError(
            where="utility", found=f"{utility!r} with the preset {preset}", allowed="none, as presets have their own"
        )
    arguments = {name: size for name, size in sizes.items() if size is not None}
    slots = generate(preset=preset, **arguments).slots  # refuses arguments that do not go together
    worth = [f"jobs[].utility.{name}" for name in ("scale", "slope", "cap", "height", "midpoint")]
    others = ("jobs[].bandwidth_bytes_per_s", "jobs[].rate")
    numbers = [
        *searched(RANGES, *worth, of_presets=True),
        *searched(RANGES, *others, whole=["jobs[].max_workers"], of_presets=True),
    ]

    def draw(rng: np.random.Generator) -> Data:
        return _repaired(generate(preset=preset, seed=int(rng.integers(2**31)), **arguments).as_data())

    return Space(
        family=FAMILIES["ring_embedding"],
        draw=draw,
        numbers=[*numbers, *_slots(slots)[1:]],
        members=(("jobs", 1, arguments.get("jobs", 200)),),
        repair=_repaired,
        words=f"as {preset} has them" + "".join(f", {several(size, name[:-1])}" for name, size in arguments.items()),
        wider=["--servers", "--slots", "--jobs", "--gpus"],
    )


def _serves(preset: str, kind: str) -> bool:
    """Whether jobs of a preset have utilities of the kind."""
    instance = generate(preset=preset, jobs=PROBED, servers=1, slots=2, seed=0)
    return any(job.utility.kind == kind for job in instance.jobs)


def _draw_generated(
    preset: str, rng: np.random.Generator, *, kind: str, jobs: int, gpus: int, servers: int, slots: int
) -> Data | None:
    """Draw a preset's jobs with utilities of the kind, on its servers in one or two racks; None if none remain."""
    length, count = int(rng.integers(1, slots + 1)), int(rng.integers(1, jobs + 1))
    seed = int(rng.integers(2**31))
    instance = generate(preset=preset, jobs=SPARE * count, servers=servers, slots=length, seed=seed)
    # the space's servers have at most two GPUs, and all together at most ``gpus``
    sizes = [min(node.capacity["gpu"], 2.0) for node in instance.nodes if node.capacity]
    while sum(sizes) > gpus:
        sizes.pop()
    racks = _racks(rng, sizes)
    # loads keep their proportion to the widest link
    widest = max(link.bandwidth_bytes_per_s for link in instance.links)
    drawn = [
        {
            "id": "",
            "arrival_slot": job.arrival_slot,
            "max_workers": within(_workers(gpus), job.max_workers),
            "demand": {"gpu": 1.0},
            "bandwidth_bytes_per_s": within(_LOAD, four_digits(job.bandwidth_bytes_per_s / widest * LINK)),
        }
        | _per_worker_slot(job)
        for job in instance.jobs
        if job.utility.kind == kind
    ]
    if not drawn or not sizes:
        return None
    whole: Data = {"format": "dlsched/ring_embedding/1", "name": "drawn", "slots": length}
    return _repaired(whole | network_of(racks) | {"jobs": _in_range(kind, drawn[:count])})


def _per_worker_slot(job: Job) -> Data:
    """Return rate and utility of a job with progress in worker-slots; a logarithm's rate is how fast it flattens."""
    match job.utility:
        case Sigmoid() as curve:
            figures = {"height": curve.height, "midpoint": curve.midpoint / job.rate}
        case Capped() as curve:
            figures = {"slope": curve.slope * job.rate, "cap": curve.cap}
        case Sqrt() as curve:
            figures = {"scale": curve.scale * math.sqrt(job.rate)}
        case Log() as curve:
            figures = {"scale": curve.scale}
        case curve:
            raise AssertionError(f"no utility of the space: {curve.kind}")
    rate = job.rate if job.utility.kind == "log" else 1.0
    return {"rate": rate, "utility": {"kind": job.utility.kind} | _FIXED.get(job.utility.kind, {}) | figures}


def _in_range(kind: str, jobs: list[Data]) -> list[Data]:
    """Bring utilities into their ranges, scaled so that the largest value is at the end of its range."""
    first, *_ = _UTILITIES[kind]
    *_, name = first.path.split(".")
    # one factor for all jobs: the most valuable one is at the end of the range
    scale = first.high / max(job["utility"][name] for job in jobs)
    for job in jobs:
        for worth in ("height", "slope", "cap", "scale"):
            if worth in job["utility"]:
                job["utility"][worth] *= scale
        for number in _UTILITIES[kind]:
            *_, name = number.path.split(".")
            record = job if name == "rate" else job["utility"]
            record[name] = within(number, four_digits(record[name]))
    return jobs


def _draw(rng: np.random.Generator, kind: str, jobs: int, gpus: int, servers: int, slots: int) -> Data:
    length = int(rng.integers(1, slots + 1))
    count = int(rng.integers(min(2, servers, gpus), min(servers, gpus) + 1))
    sizes = [1.0] * count
    # second GPUs, as far as there are GPUs
    for server in range(min(count, gpus - count)):
        sizes[server] += float(rng.integers(2))
    racks = _racks(rng, sizes)
    drawn = [_job(rng, kind, length) for _ in range(int(rng.integers(min(2, jobs), jobs + 1)))]
    whole = {"format": "dlsched/ring_embedding/1", "name": "drawn", "slots": length}
    return _repaired(whole | network_of(racks) | {"jobs": drawn})


def _racks(rng: np.random.Generator, sizes: list[float]) -> Racks:
    """Put servers into one rack or, as often, into two halves."""
    half = -(-len(sizes) // 2)
    return [sizes[:half], sizes[half:]] if rng.random() < 0.5 else [sizes]


def _job(rng: np.random.Generator, kind: str, slots: int) -> Data:
    fields: Data = {"rate": 1.0, "utility": {"kind": kind} | _FIXED.get(kind, {})}
    for number in _UTILITIES[kind]:
        value = log_uniform(rng, number.low, number.high)
        *_, name = number.path.split(".")
        (fields if name.endswith("rate") else fields["utility"])[name] = float(f"{value:.1g}")  # so that jobs tie
    return {
        "id": "",
        "arrival_slot": int(rng.integers(1, slots + 1)),
        "max_workers": int(rng.integers(1, 5)),
        "demand": {"gpu": 1.0},
        "bandwidth_bytes_per_s": float(rng.choice([0.1, 0.5, 1])) * LINK,
    } | fields


def network_of(racks: Racks) -> Data:
    """Return nodes and links of servers in racks; a single server needs no switch, a single rack no core."""
    racks = [rack for rack in racks if rack]
    names = ["switch"] if len(racks) == 1 else [f"rack{index}" for index in range(len(racks))]
    placed = [(gpus, name) for rack, name in zip(racks, names, strict=True) for gpus in rack]
    nodes: list[Data] = [{"id": f"s{index}", "capacity": {"gpu": gpus}} for index, (gpus, _) in enumerate(placed)]
    ends = [[f"s{index}", name] for index, (_, name) in enumerate(placed)] + ([names] if len(names) == 2 else [])
    if len(nodes) == 1:
        return {"nodes": nodes, "links": []}
    links = [{"ends": each, "bandwidth_bytes_per_s": LINK} for each in ends]
    return {"nodes": [*nodes, *({"id": name} for name in names)], "links": links}


def racks_of(data: Data) -> Racks:
    """Return the racks of a network; servers without a link are a rack of their own, or join the first of two."""
    # a link begins at a server and ends at its switch; that of two racks begins at a switch
    above = {link["ends"][0]: link["ends"][1] for link in data["links"]}
    racks: dict[str, list[float]] = {}
    for node in data["nodes"]:
        if "capacity" in node:
            racks.setdefault(above.get(node["id"], ""), []).append(node["capacity"]["gpu"])
    unlinked = racks.pop("", []) if len(racks) > 2 else []
    found = list(racks.values())
    return [found[0] + unlinked, *found[1:]] if found else []


def _with_network(data: Data, gpus: int, servers: int) -> Data | None:
    """Link all servers in one or two racks, and repair the jobs; None without servers, or with more than the space has."""
    racks = racks_of(data)
    sizes = list(chain.from_iterable(racks))
    if len(racks) > 2 or not 1 <= len(sizes) <= servers or sum(sizes) > gpus:
        return None
    return _repaired(data | network_of(racks))


def _repaired(data: Data) -> Data:
    """Number the jobs, and write arrivals within the slots for all of them."""
    changed = copied(data)
    for index, job in enumerate(changed["jobs"]):
        job["id"] = f"j{index}"
        job["arrival_slot"] = min(job.get("arrival_slot", 1), changed["slots"])
    return changed
