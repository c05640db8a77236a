"""The cost table of an instance: the counts that each job may get, and their costs.

A table of speeds is taken as it is, a law up to the count to which ``allocation.cost_table`` says that it is useful: all laws
together need about C pairs.
"""

from collections.abc import Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from dlsched.allocation.cost_table import CostTable, undominated, useful_most
from dlsched.allocation.counts import is_allowed
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.arrays import JobArrays
from dlsched.ring_allocation.instance import Instance

NumberArray = TypeVar("NumberArray", IntArray, FloatArray)

_TABLES: WeakKeyDictionary[JobArrays, CostTable] = WeakKeyDictionary()  # not in the arrays, which the checker uses

LARGEST_TABLE = 2**27
"""Largest number of pairs from tables; the instance needs more memory for each than the algorithms do."""

LARGEST_LAWS = 2**21
"""Largest number of pairs from laws: a few bytes in a file, but half a GiB in the algorithms."""


def cost_table(instance: Instance, *, fitting: bool = True, current: bool = True, tick: Tick = no_tick) -> CostTable:
    """Tabulate cost_j(w) = weight (epochs tau(w) + restart) of every count that some optimal allocation may need.

    ``fitting`` omits counts that do not fit beside the smallest counts of the other jobs, ``current`` keeps a law's current count
    even if it is beyond the useful ones. UsageError: more pairs than ``LARGEST_TABLE``, of laws than ``LARGEST_LAWS``, or counts
    that add up to over 2^62.
    """
    tick()
    arrays, most = instance.arrays, _most(instance, fitting)
    tick()
    reach = useful(instance, most)
    _require_size(sum(reach.tolist()), LARGEST_LAWS)
    return table_up_to(arrays, most, reach, current=current, tick=tick)


def table_up_to(
    arrays: JobArrays, most: IntArray, reach: IntArray, *, current: bool = True, tick: Tick = no_tick
) -> CostTable:
    """Tabulate counts up to ``most``, shape (J,), those of laws up to ``reach``, shape (L,); the rest is as in ``cost_table``."""
    # tables alone that fit wholly are taken as they are
    tables, fits = _fitting(arrays, most)
    if fits is None and not len(arrays.laws):
        _require_size(len(arrays.counts), LARGEST_TABLE)
        _require_sum(arrays.largest.tolist())
        return table_of(arrays)
    laws, counts, costs = _law_pairs(arrays, reach, most, current)
    lengths = np.zeros(len(arrays.epochs), dtype=np.int64)
    lengths[arrays.tables], lengths[arrays.laws] = tables, laws
    _require_size(int(lengths.sum()), LARGEST_TABLE)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    tick()
    # pairs of laws and of tables go to their jobs' places
    of_law = np.repeat(np.isin(np.arange(len(lengths)), arrays.laws), lengths)
    counts = _merged(of_law, counts, arrays.counts if fits is None else arrays.counts[fits])
    costs = _merged(of_law, costs, arrays.costs if fits is None else arrays.costs[fits])
    _require_sum(counts[starts[1:] - 1].tolist())
    return CostTable(starts, counts, costs)


def table_of(arrays: JobArrays) -> CostTable:
    """Return the costs of all counts of the jobs with a table, at least one; made once."""
    table = _TABLES.get(arrays)
    if table is None:
        table = _TABLES[arrays] = CostTable(arrays.starts, arrays.counts, arrays.costs)
    return table


def whole_table(instance: Instance, table: CostTable, *, tick: Tick = no_tick) -> CostTable:
    """Return the table without ``fitting``, from the one with it: the same if nothing was omitted."""
    if np.array_equal(_most(instance, True), _most(instance, False)):
        return table
    return cost_table(instance, fitting=False, tick=tick)


def undominated_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate the counts that some optimal allocation may need and that no smaller count of their job matches."""
    table = cost_table(instance, tick=tick)
    return table.subset(undominated(table, tick=tick))


def tabulate(instance: Instance, counts: Sequence[Sequence[int] | IntArray], *, tick: Tick = no_tick) -> CostTable:
    """Tabulate cost_j(w) at some ascending counts of every job; UsageError: over ``LARGEST_TABLE`` pairs, or sums beyond 2^62."""
    _require_size(sum(map(len, counts)), LARGEST_TABLE)
    _require_sum([int(useful[-1]) for useful in counts])

    arrays = instance.arrays
    laws = {job: position for position, job in enumerate(arrays.laws.tolist())}

    def cost(index: int, gpus: IntArray) -> FloatArray:
        table = instance.jobs[index].epoch_time_s
        if table is None:
            times_s = arrays.law_times_s(np.full(len(gpus), laws[index]), gpus)
        else:
            times_s = np.array([table[count] for count in gpus.tolist()])
        return arrays.costs_of(np.array([index]), np.array([len(gpus)]), gpus, times_s)

    return CostTable.from_counts(counts, cost, tick=tick)


def _require_size(pairs: int, allowed: int) -> None:
    """Refuse too many pairs (UsageError)."""
    if pairs > allowed:
        raise UsageError(found=f"{pairs} pairs of job and count", allowed=f"up to {allowed}", limit="max_gpus")


def _require_sum(largest: Sequence[int]) -> None:
    """Refuse counts whose sum exceeds 64-bit integers (UsageError)."""
    if 2 * sum(largest) > np.iinfo(np.int64).max:
        raise UsageError(f"the largest counts add up to {sum(largest)} GPUs, allowed: up to 2**62")


def complete_table(instance: Instance, *, most_pairs: int, tick: Tick = no_tick) -> CostTable:
    """Tabulate every allowed count that fits beside the smallest of the other jobs; UsageError: over ``most_pairs``."""
    counts: list[Sequence[int] | IntArray] = []
    for index, most in enumerate(_most(instance, True).tolist()):
        allowed = instance.counts(index)
        counts.append(range(allowed[0], most + 1) if isinstance(allowed, range) else [n for n in allowed if n <= most])
    _require_size(sum(map(len, counts)), most_pairs)
    return tabulate(instance, counts, tick=tick)


def doubling_counts(instance: Instance) -> list[Sequence[int] | IntArray]:
    """Counts that doubling may visit, of those that fit: the smallest, its double and so on while they are allowed."""
    chains: list[Sequence[int] | IntArray] = []
    for index, most in enumerate(_most(instance, True).tolist()):
        allowed = instance.counts(index)
        chain = [allowed[0]]
        while 2 * chain[-1] <= most and is_allowed(2 * chain[-1], allowed):
            chain.append(2 * chain[-1])
        chains.append(chain)
    return chains


def _most(instance: Instance, fitting: bool) -> IntArray:
    """Largest count of every job to tabulate: what others' smallest counts leave, or what memory allows."""
    arrays = instance.arrays
    if fitting:
        return np.asarray(np.minimum(arrays.largest, arrays.least + max(0, instance.gpus - instance.minimum_gpus)))
    return allowed_most(arrays, len(instance.jobs), instance.gpus)


def allowed_most(arrays: JobArrays, jobs: int, gpus: int) -> IntArray:
    """Largest count of every job, of as many ``jobs`` in all, that memory allows to tabulate."""
    limit = np.full(len(arrays.least), 2**61 // jobs)
    # sums of counts stay far below 2^62; of a law some counts beyond the cluster's do
    limit[arrays.laws] = max(2 * gpus, 2**20 // jobs)
    return np.asarray(np.minimum(arrays.largest, np.maximum(arrays.least, limit)))


def useful(instance: Instance, most: IntArray) -> IntArray:
    """Largest useful count of every law, of those up to ``most``, shape (J,); shape (L,)."""
    arrays = instance.arrays
    laws, (compute, theta1, theta2, _, model_bytes) = arrays.laws, arrays.terms
    scale = arrays.weights[laws] * arrays.epochs[laws]
    useful = useful_most(
        scale * (compute - theta2 * model_bytes),
        scale * theta1,
        most[laws].astype(np.float64),
        arrays.restarts_s[laws] == 0.0,
        instance.gpus - instance.minimum_gpus,
    )
    return np.array([min(each) for each in zip(most[laws].tolist(), useful, strict=True)], dtype=np.int64)


def _fitting(arrays: JobArrays, most: IntArray) -> tuple[IntArray, BoolArray | None]:
    """Numbers of counts up to ``most`` in every table, shape (T,), and a mask of them; None: all."""
    lengths = np.diff(arrays.starts)
    if (arrays.largest <= most)[arrays.tables].all():
        return lengths, None
    fits = arrays.counts <= np.repeat(most[arrays.tables], lengths)
    return np.add.reduceat(fits, arrays.starts[:-1], dtype=np.int64), fits


def _law_pairs(
    arrays: JobArrays, reach: IntArray, most: IntArray, current: bool
) -> tuple[IntArray, IntArray, FloatArray]:
    """Numbers of pairs of every law, shape (L,), their counts 1 .. reach, and maybe the current one beyond, and costs."""
    laws = arrays.laws
    # a current count beyond the useful ones is the last pair of its law
    alone = current & (reach < arrays.current[laws]) & (arrays.current[laws] <= most[laws])
    lengths = reach + alone
    ends = np.cumsum(lengths)
    counts = 1 + np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
    counts[ends[alone] - 1] = arrays.current[laws][alone]
    times_s = arrays.law_times_s(np.repeat(np.arange(len(laws)), lengths), counts)
    return lengths, counts, arrays.costs_of(laws, lengths, counts, times_s)


def _merged(where: BoolArray, first: NumberArray, second: NumberArray) -> NumberArray:
    """Array of the entries of ``first``, in their order, where marked, and of ``second`` elsewhere."""
    both = np.empty(len(where), dtype=first.dtype)
    both[where], both[~where] = first, second
    return both
