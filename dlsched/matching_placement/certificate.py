"""What a certificate of matching_placement proves, from the instance's own numbers, without a solver.

*Duals of* ``milp``, *the program over configurations.* Prices p_g >= 0 per type, for the sum of the times: the multiplier
of row ``stock_<type>`` is -p_g / S, since the objective is the mean. Every placement costs at least
sum_i min_c (J_i(c) + p c) - sum_g p_g s_g, c over the configurations of job i; the rows ``choice_<job>`` take their best
multipliers, these minima, so they are not named. A minimum is found by extending count vectors type by type. With n',
R', P' workers, rate and price of a vector so far, whatever it becomes costs at least P' + its communication so far +
min_x (w / (R' + x) + the least price of rate x from the types to come, fractions allowed); vectors above the best known
are dropped, and of those with equal n' and slowest type those with no more R' and no less P' than another. All terms are
>= 0, so each float is off by at most ``_ERROR`` of itself, which is taken off the minimum. This is another algorithm than
the one in ``configurations.pricing``, which finds the prices.

*Duals of* ``relaxation``, *the convex program* (stated in ``bounds``). Multipliers -p_g / S of ``stock_<type>`` and
-lambda_i / S of ``rate_<job>``: every placement costs at least

    sum_i [2 sqrt(w_i lambda_i) + min over real c of sum_g (p_g - lambda_i rho_ig + b_i) c_g + a_i] - sum_g p_g s_g

with a_i + b_i n the chord of the communication; the minimum takes cheapest types first. In rational arithmetic.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from dlsched.certificates import DualsCertificate, ExactRow, exact_multipliers, exact_sum
from dlsched.certificates.exact import root_below
from dlsched.core.labels import plain_labels
from dlsched.core.result import Certificate
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays
from dlsched.matching_placement.instance import Instance, Job

_ERROR = 2.0**-40  # of sums, products and quotients of a few thousand terms >= 0
_VAST = 1e150  # prices below leave room for sums and quotients
_SLACK = 1 + 1e-9  # no vector within rounding of the best is dropped


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the mean completion time that the certificate proves.

    Raises
    ------
    ValueError
        It is not a certificate of this family: an unknown formulation or row, a multiplier that is positive or not finite.
    """
    if not isinstance(certificate, DualsCertificate):
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    types = dict(zip(instance.types, plain_labels(list(instance.types), "g"), strict=True))
    stock = {kind: f"stock_{label}" for kind, label in types.items()}
    labels = plain_labels([job.id for job in instance.jobs], "j")
    size = len(instance.jobs)  # the objective is the mean, what is said above of sums
    prices = {kind: -certificate.rows.get(row, 0.0) * size for kind, row in stock.items()}
    if certificate.formulation == "milp":
        _require_rows(certificate.rows, stock.values())
        data, by_type = arrays(instance), np.array(list(prices.values()))
        jobs = [_rational(least_value(data, job, by_type) * (1 - _ERROR)) for job in range(data.jobs)]
    elif certificate.formulation == "relaxation":
        rates = [f"rate_{label}" for label in labels]
        _require_rows(certificate.rows, [*stock.values(), *rates])
        jobs = [
            relaxed_value(instance, job, prices, -certificate.rows.get(row, 0.0) * size)
            for job, row in zip(instance.jobs, rates, strict=True)
        ]
    else:
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    paid = exact_sum(Fraction(prices[kind]) * len(held) for kind, held in instance.types.items())
    return (exact_sum(jobs) - paid) / len(instance.jobs)


def _require_rows(rows: Mapping[str, float], allowed: Iterable[str]) -> None:
    exact_multipliers(rows, dict.fromkeys(allowed, ExactRow("<=", 0)))
    for name, multiplier in rows.items():
        if multiplier < -_VAST:
            raise ValueError(f"multiplier {multiplier} of row {name!r} is below {-_VAST:g}")


def _rational(value: float) -> Fraction:
    if not math.isfinite(value):
        raise ValueError("a job has no configuration: every bound holds")
    return Fraction(value)


def least_value(data: Arrays, job: int, prices: Floats) -> float:
    """Least J(c) + p c over the configurations of a job, in seconds, off by less than ``_ERROR`` of itself; inf: none."""
    able = data.able(job)
    kinds = able[np.argsort(data.bandwidth[able], kind="stable")]
    rates, price, stock = data.rates[job, kinds], prices[kinds], data.stock[kinds]
    least, most, work = int(data.least[job]), int(data.most[job]), float(data.work[job])
    if least > most:
        return math.inf
    ring_s = data.traffic[job] / data.bandwidth[kinds]
    best = _some_value(work, ring_s, rates, price, stock, least, most)
    size = np.zeros(1, dtype=np.int64)
    slow, rate, paid = np.zeros(1), np.zeros(1), np.zeros(1)
    for kind in range(len(kinds)):
        added = np.arange(int(stock[kind]) + 1)
        shape = (len(size), len(added))
        slow = np.where((slow == 0)[:, None] & (added > 0), ring_s[kind], np.broadcast_to(slow[:, None], shape)).ravel()
        size = (size[:, None] + added).ravel()
        rate = (rate[:, None] + rates[kind] * added).ravel()
        paid = (paid[:, None] + price[kind] * added).ravel()
        known = paid + slow * (np.maximum(size - 1, 0) / np.maximum(size, 1))
        to_come = slice(kind + 1, len(kinds))
        bound = known + _cheapest_rate(work, rate, rates[to_come], price[to_come], stock[to_come])
        reach = (size <= most) & (size + int(stock[to_come].sum()) >= least)
        done = reach & (size >= max(1, least))
        best = min(best, float((known[done] + work / rate[done]).min(initial=math.inf)))
        kept = np.flatnonzero(reach & ~(bound > best * _SLACK))
        kept = kept[_undominated(size[kept], slow[kept], rate[kept], paid[kept])]
        size, slow, rate, paid = size[kept], slow[kept], rate[kept], paid[kept]
    return best


def _some_value(
    work: float, ring_s: Floats, rates: Floats, price: Floats, stock: Counts, least: int, most: int
) -> float:
    """Return the value of some good configuration: workers are added while that helps, from the fast or the cheap ones."""
    best = math.inf
    for order in (np.argsort(price / rates), np.argsort(-rates), np.argsort(ring_s)):
        unit = np.repeat(order, stock[order])[:most]
        size = np.arange(1, len(unit) + 1)
        ring = np.maximum.accumulate(ring_s[unit]) * ((size - 1) / size)
        values = work / np.cumsum(rates[unit]) + np.cumsum(price[unit]) + ring
        best = min(best, float(values[least - 1 :].min()))
    return best


def _cheapest_rate(work: float, rate: Floats, rates: Floats, price: Floats, stock: Counts) -> Floats:
    """Least of w / (R' + x) + price of x over fractions of the types to come, for every R' in ``rate``."""
    reached, paid = rate.copy(), np.zeros(len(rate))
    for kind in np.argsort(price / rates).tolist():
        target = math.sqrt(work) * math.sqrt(rates[kind]) / math.sqrt(price[kind]) if price[kind] > 0 else math.inf
        following = np.maximum(reached, np.minimum(reached + stock[kind] * rates[kind], target))
        paid += price[kind] * ((following - reached) / rates[kind])
        reached = following
    paid += np.divide(work, reached, out=np.full(len(rate), np.inf), where=reached > 0)
    return paid


def _undominated(size: Counts, slow: Floats, rate: Floats, paid: Floats) -> Counts:
    """Positions that no other of equal size and ring equals or beats in rate and price."""
    order = np.lexsort((paid, -rate, slow, size))
    cuts = np.flatnonzero((np.diff(size[order]) != 0) | (np.diff(slow[order]) != 0)) + 1
    kept = []
    for group in np.split(order, cuts):
        price = paid[group]
        before = np.minimum.accumulate(np.append(np.inf, price[:-1]))
        kept.append(group[price < before])
    return np.concatenate(kept).astype(np.int64)


def relaxed_value(instance: Instance, job: Job, prices: Mapping[str, float], slope: float) -> Fraction:
    """What one job adds to the bound of ``relaxation``'s multipliers, in seconds, exactly but for a root rounded down.

    Raises
    ------
    ValueError
        The job has no configuration at all.
    """
    kinds = [kind for kind in instance.types if kind in job.samples_per_s]
    usable = sum(len(instance.types[kind]) for kind in kinds)
    least, most = job.min_workers, usable if job.max_workers is None else min(usable, job.max_workers)
    if least > most:
        raise ValueError("a job has no configuration: every bound holds")
    work = Fraction(job.iterations) * Fraction(job.batch_samples)
    bandwidth = max(instance.workers[instance.types[kind][0]].bandwidth_bytes_per_s for kind in kinds)
    ring_s = 2 * Fraction(job.iterations) * Fraction(job.gradient_bytes) / Fraction(bandwidth)
    chord = ring_s * Fraction(1, least * most)
    units = sorted(
        (
            Fraction(prices[kind]) - Fraction(slope) * Fraction(job.samples_per_s[kind]) + chord,
            len(instance.types[kind]),
        )
        for kind in kinds
    )
    total, taken = ring_s * (1 - Fraction(1, least) - Fraction(1, most)), 0
    for linear, stock in units:
        count = min(stock, (most if linear < 0 else max(least, taken)) - taken)
        total += count * linear
        taken += count
    return total + 2 * root_below(work * Fraction(slope))
