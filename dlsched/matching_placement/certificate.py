"""Verifier of matching_placement certificates: bounds from the instance's own numbers, without a solver.

*Duals of* ``milp``, *the program over configurations.* Prices p_g >= 0 per type, for the sum of the times: the multiplier
of row ``stock_<type>`` is -p_g / S, since the objective is the mean. Every placement costs at least
sum_i min_c (J_i(c) + p c) - sum_g p_g s_g, c over the configurations of job i; the best multipliers of the
rows ``choice_<job>`` are these minima, so the certificate does not name them. ``least_values`` computes the
minima. All terms are >= 0, so each float is off by at most ``ERROR`` of itself, which is subtracted from the
minimum. This is another algorithm than the one in ``configurations.pricing``, which finds the prices.

*Alpha-fair utilities.* The same holds with the costs of ``time_costs.Fair``, which are offsets minus
utilities: prices are those of the sum itself, >= 0, and the value is at most the sum of the offsets less the
bound above.

*Prices of* ``threshold``, *for the largest ratio.* A value rho, and the multiplier -p_g of row
``stock_<type>``. Let the sum over the jobs of the least p c of configurations with J_i(c) <= rho J_i(equal
share) be above sum_g p_g s_g. Then no placement keeps rho, so the optimum is above it. The minimum is found
as above; a configuration has to reach a rate instead of a cheap sum.

*Duals of* ``relaxation``, *the convex program* (stated in ``bounds``). Multipliers -p_g / S of ``stock_<type>`` and
-lambda_i / S of ``rate_<job>``: every placement costs at least

    sum_i [2 sqrt(w_i lambda_i) + min over real c of sum_g (p_g - lambda_i rho_ig + b_i) c_g + a_i] - sum_g p_g s_g

with a_i + b_i n the chord of the communication; the minimum takes cheapest types first. In rational arithmetic.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from dlsched.algorithms.time_costs import Fair
from dlsched.certificates import DualsCertificate, ExactRow, exact_multipliers, exact_sum
from dlsched.certificates.exact import root_below
from dlsched.core.messages import plain_labels
from dlsched.core.result import Certificate
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.configurations.least_value import ERROR, FairCost, Within, least_values
from dlsched.matching_placement.instance import Instance, Job
from dlsched.matching_placement.objectives import objective_of

_VAST = 1e150  # prices below leave room for sums and quotients


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """The bound on the objective that the certificate proves.

    ValueError: it is not a certificate of this instance, as a formulation or row is unknown, a multiplier has the wrong
    sign or is not finite, or the prices do not exclude the threshold.
    """
    if not isinstance(certificate, DualsCertificate):
        raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
    labels = plain_labels(list(instance.types), "g")
    stock = {kind: f"stock_{label}" for kind, label in zip(instance.types, labels, strict=True)}
    value_of = objective_of(instance).proofs.get(certificate.formulation)
    if value_of is None:
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    return value_of(instance, certificate, stock)


def _stock_value(instance: Instance, prices: Mapping[str, float]) -> Fraction:
    """P s, the prices of all workers together."""
    return exact_sum(Fraction(prices[kind]) * len(members) for kind, members in instance.types.items())


def mean_value(instance: Instance, certificate: DualsCertificate, stock: dict[str, str]) -> Fraction:
    """Value of duals of ``milp`` for the mean; errors as ``verify``."""
    size = len(instance.jobs)  # the objective is the mean; the module's docstring speaks of sums
    _require_rows(certificate.rows, stock.values())
    prices = {kind: -certificate.rows.get(row, 0.0) * size for kind, row in stock.items()}
    data, by_type = arrays(instance), np.array(list(prices.values()))
    jobs = [_rational(least) for least in (least_values(data, by_type) * (1 - ERROR)).tolist()]
    return (exact_sum(jobs) - _stock_value(instance, prices)) / size


def relaxation_value(instance: Instance, certificate: DualsCertificate, stock: dict[str, str]) -> Fraction:
    """Value of duals of ``relaxation``; errors as ``verify``."""
    size = len(instance.jobs)
    rates = [f"rate_{label}" for label in plain_labels([job.id for job in instance.jobs], "j")]
    _require_rows(certificate.rows, [*stock.values(), *rates])
    prices = {kind: -certificate.rows.get(row, 0.0) * size for kind, row in stock.items()}
    jobs = [
        relaxed_value(instance, job, prices, -certificate.rows.get(row, 0.0) * size)
        for job, row in zip(instance.jobs, rates, strict=True)
    ]
    return (exact_sum(jobs) - _stock_value(instance, prices)) / size


def fair_value(instance: Instance, certificate: DualsCertificate, stock: dict[str, str]) -> Fraction:
    """Value of duals of ``milp`` for alpha-fair utilities; errors as ``verify``."""
    _require_rows({row: -price for row, price in certificate.rows.items()}, stock.values())
    prices = {kind: certificate.rows.get(row, 0.0) for kind, row in stock.items()}
    data, by_type = arrays(instance), np.array(list(prices.values()))
    assert isinstance(data.costs, Fair)
    error = Fraction(ERROR * data.costs.steepness)
    largest = []
    # the largest utility less prices of each job, raised by what its two floats may be off
    values = least_values(data, by_type, FairCost(data, data.costs))
    for offset, value in zip(data.costs.offset.tolist(), values.tolist(), strict=True):
        least = _rational(value)
        largest.append(Fraction(offset) - least + error * (abs(Fraction(offset)) + least))
    return exact_sum(largest) + _stock_value(instance, prices)


def threshold_value(instance: Instance, certificate: DualsCertificate, stock: dict[str, str]) -> Fraction:
    """Value of prices of ``threshold``; errors as ``verify``."""
    _require_rows(certificate.rows, stock.values())
    prices = {kind: -certificate.rows.get(row, 0.0) for kind, row in stock.items()}
    data, by_type = arrays(instance), np.array(list(prices.values()))
    if (data.least > data.most).any():
        raise ValueError("a job has no configuration: every bound holds")
    least = least_values(data, by_type, Within(data, certificate.value * data.costs.equal))
    if np.isinf(least).any():  # a job without a configuration within the threshold refutes it alone
        return Fraction(certificate.value)
    if exact_sum(map(Fraction, (least * (1 - ERROR)).tolist())) <= _stock_value(instance, prices):
        raise ValueError(f"the prices do not exclude a ratio of {certificate.value!r}")
    return Fraction(certificate.value)


def _require_rows(rows: Mapping[str, float], allowed: Iterable[str]) -> None:
    """Refuse unknown rows, and multipliers of the wrong sign or too large (ValueError)."""
    exact_multipliers(rows, dict.fromkeys(allowed, ExactRow("<=", 0)))
    for name, multiplier in rows.items():
        if multiplier < -_VAST:
            raise ValueError(f"multiplier {multiplier} of row {name!r} is below {-_VAST:g}")


def _rational(value: float) -> Fraction:
    """A least value as a fraction; ValueError if it is infinite."""
    if not math.isfinite(value):
        raise ValueError("a job has no configuration: every bound holds")
    return Fraction(value)


def relaxed_value(instance: Instance, job: Job, prices: Mapping[str, float], slope: float) -> Fraction:
    """One job's part of the bound of ``relaxation``, in seconds, exact but for a root rounded down."""
    kinds = [kind for kind in instance.types if kind in job.samples_per_s]
    usable = sum(len(instance.types[kind]) for kind in kinds)
    least, most = job.min_workers, usable if job.max_workers is None else min(usable, job.max_workers)
    if least > most:
        raise ValueError("a job has no configuration: every bound holds")
    work = Fraction(job.iterations) * Fraction(job.batch_samples)
    bandwidth = max(instance.workers[instance.types[kind][0]].bandwidth_bytes_per_s for kind in kinds)
    ring_s = 2 * Fraction(job.iterations) * Fraction(job.gradient_bytes) / Fraction(bandwidth)
    chord = ring_s * Fraction(1, least * most)
    # linear part of the cost of a unit of each type, and the number of units; the cheapest are taken first
    units = sorted(
        (
            Fraction(prices[kind]) - Fraction(slope) * Fraction(job.samples_per_s[kind]) + chord,
            len(instance.types[kind]),
        )
        for kind in kinds
    )
    total, count_so_far = ring_s * (1 - Fraction(1, least) - Fraction(1, most)), 0
    for linear, stock in units:
        # units that lower the sum up to the largest size, others only up to the smallest
        count = min(stock, (most if linear < 0 else max(least, count_so_far)) - count_so_far)
        total += count * linear
        count_so_far += count
    return total + 2 * root_below(work * Fraction(slope))
