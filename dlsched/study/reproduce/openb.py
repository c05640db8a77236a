"""Arrivals on the GPUs of Alibaba's trace openb, as Weng et al. (USENIX ATC 2023) run them, and a bound on what can be allocated.

Tasks arrive one after another, none leaves, and one that fits nowhere is dropped. Here all are released at 0, in order, and run
a second: then a policy that backfills places each if it fits, and nothing ends before the last one has been tried.

*Bound.* Tasks k take w_k thousandths of a GPU, or of several on one server. For any prices p_k >= 0 a placement allocates at most

    sum_k p_k + sum_GPUs v,

where v is the most that a GPU can hold of w_k - p_k: a knapsack of parts, or (w_k - p_k) / g of a task of g GPUs. A linear
program has good prices, equal for equal tasks; whatever they are, ``ceiling`` is exact.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.solvers.linear import Rows
from dlsched.solvers.lp import linear_program
from dlsched.srpt_mapping import Instance, Schedule, dispatch, heavy_edge
from dlsched.srpt_mapping.generator import SLICES

Nodes = Mapping[tuple[str, int], int]
NODES: Nodes = {
    **{("G2", 8): 549, ("G3", 8): 39, ("V100M32", 8): 21, ("V100M16", 8): 8, ("V100M16", 4): 28, ("V100M32", 4): 9},
    **{("T4", 4): 17, ("T4", 2): 387, ("P100", 2): 131, ("A10", 1): 2, ("V100M16", 1): 19, ("P100", 1): 3},
}
"""Nodes by model and number of GPUs: alibaba/clusterdata, cluster-trace-gpu-v2023, openb_node_list_gpu_node.csv."""
_V100 = "V100M16|V100M32"
SPECS: Mapping[str, Mapping[str, int]] = {
    "share": {"T4": 22, "P100": 9, f"G2|P100|T4|{_V100}": 2},
    "whole": {"T4": 37, "G2": 22, _V100: 18, f"P100|{_V100}": 6, f"P100|T4|{_V100}": 4, "G3": 4},
    "several": {"G2": 1},
}
"""Models that tasks ask for, by how many of 437 in openb_pod_list_gpuspec33.csv, there; of tasks on several GPUs ours."""
Task = tuple[int, str]
"""Thousandths of a GPU, and the models that it accepts, between bars; empty: all."""
_STEP, _FINE = 10, 1000  # thousandths, of which all shares are multiples; prices are in thousandths of a thousandth
_TOP = 1000 // _STEP


def draw(variant: str, part: int, seed: int) -> tuple[Nodes, list[Task]]:
    """The ``part``-th part of the nodes of each kind, and tasks drawn from the population until they ask for all of their GPUs.

    ``variant``: ``default``, or as in the names of openb's lists: ``gpushareNN``, ``multigpuNN``: NN % of the GPUs asked for are
    parts, or of tasks on several; ``gpuspecNN``: NN % of the tasks accept some models only. UsageError: another name.
    """
    name, digits = variant.rstrip("0123456789"), variant.lstrip("abcdefghijklmnopqrstuvwxyz")
    if variant != "default" and not (name in ("gpushare", "multigpu", "gpuspec") and 0 < int(digits or 0) <= 100):
        raise UsageError(
            where="variant", found=repr(variant), allowed="default, gpushare40, multigpu20, gpuspec33, ..."
        )
    rate, generator = int(digits or 0) / 100, np.random.default_rng(seed)
    nodes = {kind: count // part for kind, count in NODES.items() if count >= part}
    weights = {round(1000 * float(need)): weight for need, weight in SLICES["openb"].items()}
    own = {size for size in weights if (size < 1000 if name == "gpushare" else size > 1000 and name == "multigpu")}
    for group, asked in ((own, rate), (weights.keys() - own, 1 - rate)) if own else ():
        of_group = sum(weights[size] * size for size in group)
        weights |= {size: weights[size] * asked / of_group for size in group}
    total, capacity = math.fsum(weights.values()), 1000 * sum(count * gpus for (_, gpus), count in nodes.items())
    # half as many again as are expected to ask for all GPUs
    expected = capacity * total / math.fsum(weight * size for size, weight in weights.items())
    drawn = generator.choice([*weights], int(1.5 * expected), p=[weight / total for weight in weights.values()])
    tasks = []
    for size in drawn[: int(np.searchsorted(drawn.cumsum(), capacity)) + 1].tolist():
        of = SPECS["share" if size < 1000 else "whole" if size == 1000 else "several"]
        limited = name == "gpuspec" and generator.random() < rate
        tasks.append(
            (size, str(generator.choice([*of], p=[n / sum(of.values()) for n in of.values()])) if limited else "")
        )
    return nodes, tasks


def arrivals(*, variant: str, seed: int, part: int = 1) -> Instance:
    """An instance of ``draw``: its servers have pools by the models that tasks accept."""
    nodes, tasks = draw(variant, part, seed)
    pools = sorted({spec for _, spec in tasks} - {""})
    stage = {"compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}
    return Instance(
        name=f"{variant}/{part}/seed{seed}",
        intra_bandwidth_bytes_per_s=1.0,
        nic_bandwidth_bytes_per_s=1.0,
        placement="consolidated",
        servers=[
            {
                "id": f"{model}-{gpus}-{n}",
                "gpus": gpus,
                "slicing": "shares",
                "pools": [p for p in pools if _accepts(p, model)],
            }
            for (model, gpus), count in nodes.items()
            for n in range(count)
        ],
        jobs=[
            {"id": f"t{number}", "release_s": 0.0, "iterations": 1.0, "gpu_share": min(1.0, size / 1000)}
            | {"stages": [{"replicas": max(1, size // 1000), **stage}], "pool": spec or None}
            for number, (size, spec) in enumerate(tasks)
        ],
    )


def planned(instance: Instance) -> Schedule:
    """Place the tasks by best fit in another order, knowing all: those whose kind has no price last; then the largest first."""
    variant, part, seed = instance.name.split("/")
    nodes, tasks = draw(variant, int(part), int(seed.removeprefix("seed")))
    prices = prices_of(nodes, tasks)
    order = sorted(prices, key=lambda task: (not prices[task], not task[1], -task[0]))
    keys = [float(order.index(task)) for task in tasks]
    return dispatch(instance, joins_s=[0.0] * len(tasks), keys=keys, place=heavy_edge, backfill=True)


def _accepts(spec: str, model: str) -> bool:
    return not spec or model in spec.split("|")


def ceiling(nodes: Nodes, tasks: Sequence[Task], prices: Mapping[Task, int]) -> Fraction:
    """No placement of the tasks allocates more GPUs than this, whatever the prices >= 0 (in ``_FINE`` parts) are."""
    total = Fraction(sum(prices[task] for task in tasks))
    for (model, gpus), count in nodes.items():
        worth = {task: _FINE * task[0] - price for task, price in prices.items() if _accepts(task[1], model)}
        most = [0]
        for room in range(_STEP, 1000 + _STEP, _STEP):
            most.append(
                max([most[-1]] + [most[(room - size) // _STEP] + w for (size, _), w in worth.items() if size <= room])
            )
        several = [Fraction(1000 * gain, size) for (size, _), gain in worth.items() if 1000 < size <= 1000 * gpus]
        total += count * gpus * max([Fraction(most[-1]), *several])
    return total / (1000 * _FINE)


def prices_of(nodes: Nodes, tasks: Sequence[Task]) -> Mapping[Task, int]:
    """Prices that make ``ceiling`` least, or nearly: a linear program over prices, and by model the values of a GPU's room."""
    counts, rows, costs = Counter(tasks), Rows(), [float(count) for count in Counter(tasks).values()]
    for model in dict.fromkeys(model for model, _ in nodes):
        first, own = len(costs), {gpus: count for (other, gpus), count in nodes.items() if other == model}
        costs += [0.0] * _TOP + [float(sum(gpus * count for gpus, count in own.items()))]
        for room in range(first, first + _TOP):
            rows.add([(room, 1), (room + 1, -1)], 0.0)
        for column, (size, spec) in enumerate(counts):
            step = size // _STEP
            if not _accepts(spec, model):
                continue
            for room in range(first, first + _TOP + 1 - step):
                rows.add([(room, 1), (room + step, -1), (column, -1)], -size)
            if 1000 < size <= 1000 * max(own):
                rows.add([(first + _TOP, -size / 1000), (column, -1)], -size)
    found = linear_program(costs, a_ub=rows.matrix(len(costs)), b_ub=rows.right, bounds=(0, np.inf))
    return {task: max(0, round(_FINE * price)) for task, price in zip(counts, found.x.tolist(), strict=False)}
