"""Bound of a price in floats with a proven error, for ``solve``, in which exact arithmetic would be slow.

Write <m> for any number from (1 + u)^-m to (1 + u)^m, u = 2^-53. Rounding is a factor <1>; in products and quotients the m
add up, and a sum of numbers >= 0 times factors <m> is their sum times one <m>. With X(n) = n g(n - 1) / g(n) and
R_k(n) = t_k(n) / g(n - 1) the recursion of ``queueing.throughput`` is that of ``queueing.exact_times``:

    t_k(n) = D_k (g(n - 1) + (n - 1) t_k(n - 1)),   g(n) = Z g(n - 1) + sum_k t_k(n)

Let X', Q', R' be what floats give, and *define* g'(n) = g'(n - 1) n / X'(n), t'_k(n) = R'_k(n) g'(n - 1). Demands are D_k <2>;
the product and the sum in R'_k add <2>, the product in Q'_k <1>; from R'_k to X' it is three operations and the division, <4>. So

    t'_k(n) = D_k (g'(n - 1) + (n - 1) t'_k(n - 1) <1>) <4>,   g'(n) = Z g'(n - 1) <4> + sum_k t'_k(n) <4>

and by induction t'_k(n) = t_k(n) <8 n - 4>, g'(n) = g(n) <8 n>. Hence 1 / X'(n) = 1 / X(n) <16 n - 8>, and the seconds of the
table, for which the batches are rounded and divided, are the job's <16 n - 6>. They are off by less than n 2^-48 of themselves,
which is twice as much: 16 n u are left for the rounding of what is done with them here. Nothing may underflow or overflow, so
all numbers of a job have to be ``moderate``.

As times are convex, the least of time + price x count lies behind every step that surely saves more than the price, and not
behind one that surely saves less. Jobs whose table ends before such a step are left to exact arithmetic.
"""

from itertools import islice

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.instance import Instance
from dlsched.certificates.exact import moderate
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.queueing.throughput import iterate

_EACH = 2.0**-48  # of a time, for every node
_PRODUCT = 2.0**-50  # of a price times a number of nodes: that product, and a sum with it
_STRIDES = 32  # number of strides over a job's counts if single steps do not decide
_FURTHER = 0.25  # part of a job's counts examined beyond the table in that case


def least_values(instance: Instance, table: CostTable, price: float) -> tuple[FloatArray, IntArray]:
    """Return numbers r and counts n of all jobs, for which r + price n is not above min_m (time(m) + price m).

    Parameters
    ----------
    table
        Seconds of every job on 1, 2, ... nodes, as ``costs.cost_table`` makes them.

    Returns
    -------
    tuple
        Shape (J,) both; r is NaN where floats do not tell.

    Cost: O(pairs of the table).
    """
    starts, counts, times_s = table.starts, table.counts, table.costs
    owner = np.repeat(np.arange(table.jobs), np.diff(starts))
    error_s = times_s * (counts * _EACH)
    savings_s, slack_s = times_s[:-1] - times_s[1:], error_s[:-1] + error_s[1:]
    within = owner[:-1] == owner[1:]
    first, last = starts[:-1].copy(), starts[1:] - 1  # pairs between which the least is
    surely_more = np.flatnonzero(within & (savings_s - slack_s > price))
    np.maximum.at(first, owner[surely_more], surely_more + 1)
    surely_less = np.flatnonzero(within & (savings_s + slack_s < price))
    told = counts[last] == [instance.most(job) for job in range(table.jobs)]
    told[owner[surely_less]] = True
    np.minimum.at(last, owner[surely_less], surely_less)

    pairs = np.arange(table.pairs)
    near = pairs[(pairs >= first[owner]) & (pairs <= last[owner])]
    values = _values(times_s[near], error_s[near], counts[near] - counts[first[owner[near]]], price)
    least, at = np.full(table.jobs, np.inf), counts[first]
    np.minimum.at(least, owner[near], values)
    usable = _usable(instance, price)
    for job in np.flatnonzero(usable & ~told).tolist():
        least[job], at[job] = _walked(instance, job, int(counts[starts[job + 1] - 1]), price)
    return np.where(usable, least, np.nan), at


def _values(times_s: FloatArray, error_s: FloatArray, further: IntArray, price: float) -> FloatArray:
    """Numbers not above time + price x further nodes, >= 0."""
    extra = price * further
    values: FloatArray = times_s - error_s + (extra - extra * _PRODUCT)
    return values


def _usable(instance: Instance, price: float) -> BoolArray:
    """Mark the jobs whose numbers are all moderate, without underflow, so that the error bound holds."""
    networks = instance.networks
    given = [[job.parameter_bytes > 0 for job in instance.jobs], [job.update_s > 0 for job in instance.jobs]]
    lost = ((networks.demands == 0) & given).any(axis=0)
    numbers = np.concatenate((networks.delays[np.newaxis], networks.demands, instance.batches[np.newaxis]))
    return np.asarray(moderate(np.array([price])) & moderate(numbers).all(axis=0) & ~lost)


def _walked(instance: Instance, job: int, tabulated: int, price: float) -> tuple[float, int]:
    """Do the same for one job, with several steps at a time and further counts than are tabulated."""
    most = instance.most(job)
    until = min(most, tabulated + int(_FURTHER * tabulated) + 1)
    rates = islice(iterate(instance.networks[job]), until)
    times_s = instance.batches[job] / np.fromiter(rates, dtype=np.float64, count=until)
    counts = np.arange(1, until + 1)
    error_s = times_s * (counts * _EACH)
    stride = 1 + until // _STRIDES
    savings_s, slack_s = times_s[:-stride] - times_s[stride:], error_s[:-stride] + error_s[stride:]
    surely_more = np.flatnonzero(savings_s - slack_s > price * stride)
    surely_less = np.flatnonzero(savings_s + slack_s < price * stride)
    if until < most and not len(surely_less):
        return np.nan, 1
    first = surely_more[-1] + 1 if len(surely_more) else 0
    last = surely_less[0] + stride - 1 if len(surely_less) else until - 1
    near = slice(first, last + 1)
    return float(_values(times_s[near], error_s[near], counts[near] - counts[first], price).min()), int(counts[first])
