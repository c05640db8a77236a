"""Instances of ring_embedding: the example, and random ones from a seed.

``PRESETS`` describes the presets in words, ``_RECIPES`` has their sizes; ``paper-sqrt`` and ``paper-log``
are ``paper`` with other utilities. Servers stand in racks, except in ``general`` (leaves and spines or a
ring of switches, with listed paths) and in ``fat-tree`` (a bundled fat tree).

In presets not from the paper, links have 3 to 8 Gbit/s and rings reserve as much, so that bandwidth is
scarce; servers have one or two GPUs (2, 4 or 8 in ``mixed``).

From the paper (Yu et al. 2022, section on experiments): T, the servers of 1, 2, 4 or 8 GPUs in racks of 2 to 5, N_i from
1 to 5, F_i from 1000 to 6000, zeta_i from 50 to 500, b_i from .1 to 5 Gbit/s, rack links of 200 to 3200 and server links
of 10 to 100 Gbit/s, sigmoids with height 1 to 100, steepness in (0, 1], midpoint 300 to 3000. All are drawn uniformly, and
a worker takes one GPU: our choices. With 200 slots F_i >= N_i T, so these budgets never bind; links hold most rings.

Arrivals: the paper takes them from a Google trace that is not at hand. Ours come in bursts, about eight jobs each: the
first in slot 1, the others in slots drawn from the first three quarters; each job has a burst by chance and comes up to a
few slots after it (geometric, a slot in the mean).

Other utilities than the paper's sigmoid have a height too, 1 to 100: square roots and logarithms are worth it at the
progress of N_i workers in each of the T slots, capped ones from a fifth of that or later; other sigmoids have their
midpoint at a tenth to six tenths of it, losses have fallen by half at a fiftieth to three tenths of it. So utilities are of
similar size. Figures are rounded to four significant digits.

Alpha-fair utilities have a shift that is the progress of a worker of middling rate in four slots. With energy they have
heights as above. In ``paper-alpha1``, ``paper-alpha2`` and ``fair`` all jobs have the same utility, worth 50 at the progress of
a job of middling rate and workers in every slot, so that progress is what is shared fairly.

Losses begin 1.5 to 8 above a floor of .05 to 2. Power is our choice, of the order of server data sheets: 300 W for a server of
one GPU that is on to 800 W for one of eight, 200 to 400 W for a worker. With the prices of the presets a cluster that is used
to the full takes about 30 % of the utility that it earns. Slots are five minutes with the paper's sizes, else an hour.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dlsched.catalogue.ring_embedding import LISTED
from dlsched.cluster.topologies import Shape, drawn_bandwidth, drawn_topology, gbit, network_data, racks
from dlsched.cluster.utility import KINDS, AlphaFair, Log, Sigmoid, Sqrt, Utility
from dlsched.core.arguments import drawing, require_arguments, require_moderate
from dlsched.core.elementary import four_digits, whole
from dlsched.core.errors import InstanceError, UsageError
from dlsched.core.ranges import Ends, Values
from dlsched.ring_embedding.instance import RANGES, Instance

Drawn = dict[str, Any]

PRESETS = LISTED.presets

_CONCAVE = ("sqrt", "log", "capped")
_SPREAD = 8  # jobs of a burst, roughly
_SHIFT = 4  # slots of a worker, whose progress is the shift of alpha-fair utilities
_IDLE_W = RANGES["nodes[].power_on_w"].usual  # of one GPU and of eight
_SIZES = RANGES["nodes[].capacity{}"].choices  # GPUs of a server
_WORKERS, _RATE, _WORKER_W = (RANGES[f"jobs[].{name}"].usual for name in ("max_workers", "rate", "worker_power_w"))
_HEIGHT = RANGES["jobs[].utility.height"].usual
_RING_GBIT, _LINK_GBIT = (gbit(RANGES[f"{name}[].bandwidth_bytes_per_s"].usual) for name in ("jobs", "links"))


@dataclass(frozen=True, slots=True)
class _Recipe:
    """Default sizes, and ranges; those not from the paper are choices of ours."""

    jobs: int
    servers: int
    slots: int
    shape: Shape = "racks"
    sizes: Values = _SIZES
    workers: Ends = _WORKERS  # N_i
    ring_gbit: Ends = _RING_GBIT  # as links have: about half of them hold a given ring, few hold two
    server_gbit: Ends = _LINK_GBIT
    upper_gbit: Ends = _LINK_GBIT
    rate: Ends = _RATE  # logarithms are then nearly straight over one slot, and large rings worth it
    kinds: tuple[str, ...] = (*_CONCAVE, "sigmoid")
    budgets: tuple[int, int] | None = None  # F_i; None: half of the jobs have one that may bind
    cpus: bool = False
    alpha: float | None = None  # of alpha-fair utilities
    slot_s: float = 3600.0
    energy_price: float | None = None  # of a kWh; None: nothing has a power
    objective: Literal["sum", "max_min"] = "sum"


_PAPER = _Recipe(
    jobs=100,
    servers=50,
    slots=200,
    sizes=(1, 2, 4, 8),
    workers=(1, 5),
    ring_gbit=(0.1, 5.0),
    server_gbit=(10.0, 100.0),
    upper_gbit=(200.0, 3200.0),
    rate=(50.0, 500.0),
    kinds=("paper",),
    budgets=(1000, 6000),
)

_RECIPES = {
    "paper": _PAPER,
    **{
        preset: replace(_PAPER, kinds=(kind,))  # the paper's sizes with a kind of utility, by its name
        for preset in PRESETS
        if (kind := preset.removeprefix("paper-")) in KINDS
    },
    "slot": _Recipe(jobs=20, servers=20, slots=1, kinds=_CONCAVE),
    "small": _Recipe(jobs=4, servers=4, slots=4, workers=(1, 4)),
    "mixed": _Recipe(jobs=10, servers=8, slots=6, sizes=(2, 4, 8), cpus=True),
    "general": _Recipe(jobs=8, servers=8, slots=4, shape="general"),
    "fat-tree": _Recipe(jobs=12, servers=16, slots=10, shape="fat-tree"),
    "energy": _Recipe(
        jobs=20, servers=12, slots=24, sizes=(1, 2, 4, 8), workers=(1, 5), kinds=("alpha",), alpha=0.5, energy_price=0.5
    ),
    "paper-energy": replace(_PAPER, kinds=("alpha",), alpha=0.5, slot_s=300.0, energy_price=1.0),
    "paper-alpha1": replace(_PAPER, kinds=("alike",), alpha=1.0),
    "paper-alpha2": replace(_PAPER, kinds=("alike",), alpha=2.0),
    "fair": _Recipe(jobs=6, servers=4, slots=5, workers=(1, 4), kinds=("alike",), alpha=1.0, objective="max_min"),
}


def example() -> Instance:
    """Three jobs on four servers in two racks; small enough to solve by hand.

    A ring of ``a`` or ``b`` reserves more than a link to the core has, so it stays in a rack. For all eight GPUs to be busy
    each would have three in a rack of its own, and ``c`` one in either; but there c's ring shares the link of a server with
    a's and that of another with b's, which hold only one. So a slot holds seven workers. ``b`` may use eight GPUs in all:
    in the slot in which it leaves one, ``c`` gets its second. Best are 9, 8 and 3 worker-slots, worth
    6 sqrt(36) + 10 ln 9 + 10 / (1 + exp(-2)) = 66.78.
    """

    def job(name: str, workers: int, bandwidth: float, utility: Utility, **more: object) -> Drawn:
        always = {"id": name, "max_workers": workers, "bandwidth_bytes_per_s": bandwidth, "utility": utility}
        return always | {"rate": 1.0, "demand": {"gpu": 1}} | more

    return Instance(
        name="two-racks",
        slots=3,
        **network_data(racks([2, 2], 2.5e9, 1.25e9), [{"gpu": 2}] * 4),
        jobs=[
            job("a", 3, 2.0e9, Sqrt(scale=6.0), rate=4.0),
            job("b", 3, 2.0e9, Log(scale=10.0), budget={"gpu": 8}),
            job("c", 2, 1.25e9, Sigmoid(height=10.0, steepness=2.0, midpoint=2.0), arrival_slot=2),
        ],
    )


@drawing
def generate(
    *,
    preset: str = "paper",
    jobs: int | None = None,
    servers: int | None = None,
    gpus: int | None = None,
    slots: int | None = None,
    seed: int = 0,
    alpha: float | None = None,
    energy_price: float | None = None,
) -> Instance:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    preset
        One of ``PRESETS``.
    jobs, servers, slots
        How many, >= 1; None: as the preset has them.
    gpus
        GPUs of all servers, instead of ``servers``: as many servers as hold them, the last with what is left.
    seed
        Of ``numpy.random.default_rng``.
    alpha
        Of alpha-fair utilities, >= 0; None: as the preset has it.
    energy_price
        Of a kWh, in utility, >= 0; None: as the preset has it.

    Raises
    ------
    UsageError
        An unknown preset, a number out of range, both ``servers`` and ``gpus``, ``alpha`` where no utility has one, or
        ``energy_price`` where nothing has a power.
    """
    require_arguments(PRESETS, preset, seed, jobs=jobs, servers=servers, gpus=gpus, slots=slots)
    if servers is not None and gpus is not None:
        raise UsageError(where="servers", found=f"{servers} and {gpus} gpus", allowed="one of the two")
    recipe, generator = _RECIPES[preset], np.random.default_rng(seed)
    recipe = replace(recipe, jobs=jobs or recipe.jobs, servers=servers or recipe.servers, slots=slots or recipe.slots)
    own = _given(preset, alpha=alpha, energy_price=energy_price)
    recipe = replace(
        recipe, alpha=own.get("alpha", recipe.alpha), energy_price=own.get("energy_price", recipe.energy_price)
    )
    sizes = _sizes(generator, recipe, gpus)
    size_option = f"--servers {len(sizes)}" if gpus is None else f"--gpus {gpus}"
    command = (
        f"dlsched generate ring_embedding --preset {preset} --jobs {recipe.jobs} {size_option} --slots {recipe.slots}"
    )
    topology = drawn_topology(generator, recipe.shape, len(sizes), recipe.server_gbit, recipe.upper_gbit)
    arrivals = enumerate(_arrivals(generator, recipe))
    drawn = [{"id": f"j{index}", **_job(generator, recipe, arrival)} for index, arrival in arrivals]
    capacities = [{"gpu": size} for size in sizes]
    for capacity in capacities if recipe.cpus else ():
        capacity["cpu"] = capacity["gpu"] * int(generator.integers(3, 9))
    whole: Drawn = {} if recipe.objective == "sum" else {"objective": recipe.objective}
    if recipe.energy_price is not None:
        whole = {"slot_s": recipe.slot_s, "energy_price_per_kwh": recipe.energy_price}
    power = [_idle_power(size) for size in sizes] if recipe.energy_price is not None else None
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in own.items())
    return Instance(
        name=f"{preset}-{recipe.jobs}x{len(sizes)}x{recipe.slots}-seed{seed}",
        source=f"{command} --seed {seed}{options}",
        slots=recipe.slots,
        jobs=drawn,
        **network_data(topology, capacities, power),
        **whole,
    )


def _given(preset: str, **numbers: float | None) -> dict[str, float]:
    """The numbers that are not None; UsageError if one is negative or the preset has no use for it."""
    own = {name: float(value) for name, value in numbers.items() if value is not None}
    for name, value in own.items():
        if not 0 <= value < np.inf:
            raise UsageError(where=name, found=value, allowed="a number >= 0")
        if value > 0 and name == "energy_price":
            require_moderate(energy_price=value)
        served = [other for other, recipe in _RECIPES.items() if getattr(recipe, name) is not None]
        if preset not in served:
            raise UsageError(where=name, found=f"{value} for the preset {preset}", allowed=f"for {', '.join(served)}")
    return own


def _idle_power(gpus: int) -> float:
    """Watts of a server that is on but idle, by its number of GPUs."""
    one, eight = _IDLE_W
    return four_digits(one + (eight - one) * (gpus - 1) / 7)


def _sizes(generator: "np.random.Generator", recipe: _Recipe, gpus: int | None) -> list[int]:
    """GPUs of each server, of the preset's sizes with equal chances."""
    if gpus is None:
        return [int(size) for size in generator.choice(recipe.sizes, recipe.servers)]
    sizes: list[int] = []
    while (remaining := gpus - sum(sizes)) > 0:
        sizes.append(min(remaining, int(generator.choice(recipe.sizes))))
    return sizes


def _arrivals(generator: "np.random.Generator", recipe: _Recipe) -> list[int]:
    """Slots in which jobs arrive, ascending; see the module."""
    bursts = max(1, round(recipe.jobs / _SPREAD))
    starts = np.array([1, *generator.integers(1, -(-3 * recipe.slots // 4) + 1, bursts - 1)])
    slots = starts[generator.integers(bursts, size=recipe.jobs)] + generator.geometric(0.5, recipe.jobs) - 1
    return [int(slot) for slot in np.sort(np.minimum(slots, recipe.slots))]


def _job(generator: "np.random.Generator", recipe: _Recipe, arrival: int) -> Drawn:
    workers = whole(generator, *recipe.workers)
    rate = four_digits(generator.uniform(*recipe.rate))
    demand = {"gpu": 1}
    if recipe.cpus:
        demand = {"gpu": int(generator.integers(1, 3)), "cpu": int(generator.integers(1, 9))}
    kind = str(generator.choice(recipe.kinds))
    return {
        "arrival_slot": arrival,
        "max_workers": workers,
        "demand": demand,
        "budget": _budget(generator, recipe, demand, workers),
        "bandwidth_bytes_per_s": drawn_bandwidth(generator, recipe.ring_gbit),
        "rate": rate,
        "utility": _utility(generator, recipe, kind, rate * workers * recipe.slots),
    } | ({} if recipe.energy_price is None else {"worker_power_w": four_digits(generator.uniform(*_WORKER_W))})


def _budget(generator: "np.random.Generator", recipe: _Recipe, demand: Drawn, workers: int) -> Drawn:
    """GPUs of the preset's range; else half of the jobs get a third to all of what they could use."""
    if recipe.budgets is not None:
        low, high = recipe.budgets
        return {"gpu": int(generator.integers(low, high + 1))}
    if recipe.slots == 1 or generator.random() < 0.5:
        return {}
    name = str(generator.choice(list(demand)))
    most = workers * recipe.slots
    return {name: demand[name] * int(generator.integers(-(-most // 3), most + 1))}


def _alpha_fair(recipe: _Recipe, most: float, height: float) -> Drawn:
    """An alpha-fair utility that is worth ``height`` at the progress ``most``."""
    shift = four_digits(float(np.mean(recipe.rate)) * _SHIFT)
    try:
        plain = AlphaFair(alpha=recipe.alpha or 0.0, scale=1.0, shift=shift)
    except InstanceError:
        allowed = "one at which a utility grows up to a number from 1e-100 to 1e100"
        raise UsageError(where="alpha", found=recipe.alpha, allowed=allowed) from None
    return plain.model_dump() | {"scale": four_digits(height / plain.at(most))}


def _utility(generator: "np.random.Generator", recipe: _Recipe, kind: str, most: float) -> Drawn:
    """A utility whose argument is ``most`` when a job has all its workers in every slot."""
    if kind == "alike":
        return _alpha_fair(recipe, float(np.mean(recipe.rate) * np.mean(recipe.workers)) * recipe.slots, 50.0)
    height = generator.uniform(*_HEIGHT)
    if kind == "paper":
        steepness, midpoint = 1.0 - generator.random(), generator.uniform(300.0, 3000.0)
        figures = {"height": height, "steepness": steepness, "midpoint": midpoint}
        kind = "sigmoid"
    elif kind == "sigmoid":
        steepness, midpoint = generator.uniform(4.0, 20.0) / most, generator.uniform(0.1, 0.6) * most
        figures = {"height": height, "steepness": steepness, "midpoint": midpoint}
    elif kind == "alpha":
        return _alpha_fair(recipe, most, height)
    elif kind == "loss":
        start, floor = four_digits(1 / generator.uniform(1.5, 8.0)), generator.uniform(0.05, 2.0)
        speed = start / (generator.uniform(0.02, 0.3) * most)
        curve = {"b0": four_digits(speed), "b1": start, "b2": four_digits(floor)}
        return {"kind": kind, "scale": four_digits(height * start), "curve": curve}
    elif kind == "capped":
        figures = {"slope": height / (generator.uniform(0.2, 1.0) * most), "cap": height}
    else:
        figures = {name: value for name, value in KINDS[kind].sized(most, height) if name != "kind"}
    return {"kind": kind} | {name: four_digits(figure) for name, figure in figures.items()}
