"""Heuristics of prism, all without a guarantee: plain functions from an instance to a placement, or None.

Those of the task, and our reconstructions from the descriptions of machine-written programs for it (the post "Scheduler Design
for Multi-LLM Serving Systems", ucbskyadrs.github.io, January 2026, and the comments of the program of generation 83 in the
repository audreyccheng/ShinkaEvolve): packing at a target pressure, insertion by regret, moves and swaps. No code is theirs.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction

from prism.instance import Instance, Whole
from prism.solution import Placement, placement_of

Groups = list[list[int]]


class _Gpus:
    """Models, load and used memory of each GPU while models are placed."""

    def __init__(self, instance: Instance) -> None:
        self.data: Whole = instance.whole
        self.groups: Groups = [[] for _ in range(instance.gpus)]
        self.loads, self.used = [0] * instance.gpus, [0] * instance.gpus

    def pressure(self, gpu: int, put: Iterable[int] = (), taken: Iterable[int] = ()) -> Fraction | None:
        """Pressure of a GPU with some models more and some less, in integers' units; None: they do not fit."""
        load, free = self.loads[gpu], self.data.memory - self.used[gpu]
        load += sum(self.data.loads[each] for each in put) - sum(self.data.loads[each] for each in taken)
        free += sum(self.data.sizes[each] for each in taken) - sum(self.data.sizes[each] for each in put)
        return Fraction(load, free) if free > 0 else None

    def options(self, index: int) -> list[tuple[Fraction, int]]:
        """Pressure with a model, and the GPU, for all GPUs with room, ascending."""
        tried = ((self.pressure(gpu, [index]), gpu) for gpu in range(len(self.groups)))
        return sorted((pressure, gpu) for pressure, gpu in tried if pressure is not None)

    def put(self, index: int, gpu: int, times: int = 1) -> None:
        """Put a model on a GPU; ``times`` -1: take it away."""
        self.groups[gpu].append(index) if times == 1 else self.groups[gpu].remove(index)
        self.loads[gpu] += times * self.data.loads[index]
        self.used[gpu] += times * self.data.sizes[index]

    def largest(self) -> tuple[Fraction, int]:
        """Largest pressure, and its GPU."""
        free = [self.data.memory - used for used in self.used]
        return max((Fraction(load, room), gpu) for gpu, (load, room) in enumerate(zip(self.loads, free, strict=True)))


def _heavy_first(instance: Instance) -> list[int]:
    return sorted(range(len(instance.jobs)), key=lambda index: -instance.whole.loads[index])


def _by_load(instance: Instance, choose: Callable[[_Gpus, int], Iterable[tuple[Fraction, int]]]) -> _Gpus | None:
    gpus = _Gpus(instance)
    for index in _heavy_first(instance):
        options = choose(gpus, index)
        if not options:
            return None
        gpus.put(index, min(options)[1])
    return gpus


def _baseline(instance: Instance) -> _Gpus | None:
    def now(gpus: _Gpus, index: int) -> list[tuple[Fraction, int]]:
        return [(gpus.pressure(gpu) or Fraction(0), gpu) for _, gpu in gpus.options(index)]

    return _by_load(instance, now)


def _best_fit(instance: Instance) -> _Gpus | None:
    return _by_load(instance, _Gpus.options)


def _regret(instance: Instance) -> _Gpus | None:
    gpus, rest = _Gpus(instance), _heavy_first(instance)
    while rest:
        top, _ = gpus.largest()
        ranked = []
        for index in rest:
            options = [(max(pressure, top), pressure, gpu) for pressure, gpu in gpus.options(index)]
            if not options:
                return None
            best, second = options[0], options[min(1, len(options) - 1)]
            only = len(options) == 1
            ranked.append((not only, best[0] - second[0], best[1] - second[1], best[0], index, best[2]))
        *_, index, gpu = min(ranked)
        gpus.put(index, gpu)
        rest.remove(index)
    return gpus


def _packed(instance: Instance, target: Fraction, order: Callable[[int, int, int], int]) -> _Gpus | None:
    """Best fit of items w_i + t s_i in bins of t C, in some order."""
    gpus, (loads, sizes, _, _) = _Gpus(instance), instance.whole
    top, bottom = target.as_integer_ratio()
    items = [bottom * load + top * size for load, size in zip(loads, sizes, strict=True)]
    filled = [0] * instance.gpus
    for index in sorted(range(len(items)), key=lambda each: -order(items[each], loads[each], sizes[each])):
        within = [(-filled[gpu], gpu) for pressure, gpu in gpus.options(index) if pressure <= target]
        if not within:
            return None
        gpu = min(within)[1]
        gpus.put(index, gpu)
        filled[gpu] += items[index]
    return gpus


_ORDERS: tuple[Callable[[int, int, int], int], ...] = (
    lambda item, load, size: item,
    lambda item, load, size: load,
    lambda item, load, size: size,
)
_HALVINGS = 20


def _target(instance: Instance) -> _Gpus | None:
    start = _best_fit(instance) or _baseline(instance)
    best = start
    low = Fraction(sum(instance.whole.loads), instance.gpus * instance.whole.memory - sum(instance.whole.sizes))
    for order in _ORDERS:
        lower, upper = low, best.largest()[0] if best is not None else 1024 * low
        for _ in range(_HALVINGS):
            middle = (lower + upper) / 2
            packed = _packed(instance, middle, order)
            if packed is None:
                lower = middle
            else:
                best, upper = packed, packed.largest()[0]
    return best


def _improve(gpus: _Gpus) -> _Gpus:
    """Move a model from the GPU of largest pressure, or swap it, while both GPUs end below; of all ways the lowest."""
    while True:
        top, worst = gpus.largest()
        ways: list[tuple[Fraction, int, int, list[int]]] = []
        for index in gpus.groups[worst]:
            for gpu in (gpu for gpu in range(len(gpus.groups)) if gpu != worst):
                for back in ([], *([other] for other in gpus.groups[gpu])):
                    pressures = gpus.pressure(gpu, [index], back), gpus.pressure(worst, back, [index])
                    if all(pressure is not None and pressure < top for pressure in pressures):
                        ways.append((max(filter(None, pressures), default=Fraction(0)), index, gpu, back))
        if not ways:
            return gpus
        _, index, gpu, back = min(ways)
        for each, source, target in ((index, worst, gpu), *((other, gpu, worst) for other in back)):
            gpus.put(each, source, -1)
            gpus.put(each, target)


def _placed(instance: Instance, *found: _Gpus | None) -> Placement | None:
    """Return the placement of least largest pressure."""
    there = [gpus for gpus in found if gpus is not None]
    return placement_of(instance, min(there, key=lambda gpus: gpus.largest()[0]).groups) if there else None


def baseline(instance: Instance) -> Placement | None:
    """Place models by falling load, each on the GPU of least pressure that has room: the task's own. Cost: O(n G)."""
    return _placed(instance, _baseline(instance))


def best_fit(instance: Instance) -> Placement | None:
    """Place models by falling load, each where the pressure with it is least. Cost: O(n G log G)."""
    return _placed(instance, _best_fit(instance))


def regret(instance: Instance) -> Placement | None:
    """Place next whatever loses most if its best GPU is taken (our reconstruction). Cost: O(n^2 G log G)."""
    return _placed(instance, _regret(instance))


def target(instance: Instance) -> Placement | None:
    """Bisect the pressure; best fit of w_i + t s_i in three orders (our reconstruction). Cost: O(n G log G) a step."""
    return _placed(instance, _target(instance))


def local_search(instance: Instance) -> Placement | None:
    """Improve the baseline by moves and swaps from the GPU of largest pressure (our reconstruction)."""
    gpus = _baseline(instance)
    return None if gpus is None else _placed(instance, _improve(gpus))


def portfolio(instance: Instance) -> Placement | None:
    """Return the best of all the others, each improved by moves and swaps (our reconstruction)."""
    starts = (_baseline(instance), _best_fit(instance), _regret(instance), _target(instance))
    return _placed(instance, *(_improve(gpus) for gpus in starts if gpus is not None))
