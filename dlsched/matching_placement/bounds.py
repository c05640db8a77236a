"""Lower bounds of matching_placement, with the multipliers that prove them.

``configuration_lp``: the value of the linear program over configurations is the best Lagrangian bound for prices of the
types, since each job is solved exactly at the prices. For the largest ratio the bound is the least threshold, up to
``NEAR``, that the linear program of ``configurations.thresholds`` can keep.

``relaxation``, for the mean only: counts are real; communication runs on the fastest type that can serve the job, and
follows its chord between the smallest size m_i and the largest size M_i: 1 - 1/n >= 1 - 1/m_i - 1/M_i + n / (m_i M_i)
for m_i <= n <= M_i (1 - 1/n is concave, and both sides are equal at both ends). This is a convex program in R_i:

    minimise sum_i w_i / R_i + b_i n_i + a_i
    [stock]  sum_i c_ig <= s_g      [rate]  R_i <= sum_g rho_ig c_ig      n_i = sum_g c_ig in [m_i, M_i],  0 <= c_ig <= s_g

Rounds of linear programs with tangents (w / R >= 2 w / R0 - w R / R0^2) solve it (Kelley 1960) and give the prices of the
stock rows. The multiplier lambda_i of a job's rate row is then the best one at these prices: the job adds
2 sqrt(w_i lambda) + min_c sum_g (p_g - lambda rho_ig + b_i) c_g to the bound. This is concave in lambda; its slope,
sqrt(w_i / lambda) less the rate of the minimiser, is 0 between two bisected ends.
"""

import numpy as np

from dlsched.certificates import DualsCertificate, rounded_down
from dlsched.certificates.exact import rounded_up
from dlsched.columns.generation import generate
from dlsched.columns.slack import Prices
from dlsched.core.arrays import dot, row_dots
from dlsched.core.elementary import exp, geometric, log
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget, Tick, TooMany, no_tick
from dlsched.core.messages import plain_labels
from dlsched.core.status import Sense
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, require_feasible
from dlsched.matching_placement.certificate import verify
from dlsched.matching_placement.configurations.pricing import first_pool, first_prices
from dlsched.matching_placement.configurations.thresholds import HAIR, bound_by_thresholds
from dlsched.matching_placement.heuristics import best_local, soon_counts
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of, require_served
from dlsched.matching_placement.rounding import tatonnement
from dlsched.solvers.lp import linear_program

_ROUNDS = 100  # of linear programs at most; the prices of any round prove a bound
_CLOSE = 1e-5  # relative difference of w / R and its tangents at which rounds end
_FIRST = geometric(0.1, 10, 13)  # multiples of a good placement's rates at which the first tangents touch
_FURTHEST = 2.0**20  # largest factor from a good placement's rate to a tangent; others change no digit
_LEAST = 2.0**-40  # share of that rate below which a worker is omitted from the linear program
_HALVINGS = 100  # halvings of the range of a rate's multiplier, which may span hundreds of decimal orders
_ROUNDING = 1e-11  # relative error of a bound computed in floats, with room


def configuration_lp(instance: Instance, *, tick: Tick = no_tick, budget: Budget | None = None) -> DualsCertificate:
    """Bound of the linear program over configurations; its prices per type are the certificate.

    ``tick`` is called often, and may raise to stop; ``budget`` limits the linear programs (``Stopped`` is raised if one
    exceeds it). Cost: rounds of a linear program over the pool's columns and the pricing of every job.

    Raises
    ------
    UsageError
        The instance is infeasible, or a job has too many configurations within a threshold of the largest ratio.
    """
    require_feasible(instance)
    return objective_of(instance).configuration_lp(instance, tick=tick, budget=budget)


def by_prices(instance: Instance, *, tick: Tick, budget: Budget | None) -> DualsCertificate:
    """``configuration_lp`` of a sum."""
    data = arrays(instance)
    start = best_local(data, tick)
    guess = first_prices(data, data.total(start))
    prices = generate(first_pool(data, start), guess=guess, tick=tick, budget=budget)
    return price_certificate(instance, data, prices)


def by_thresholds(instance: Instance, *, tick: Tick, budget: Budget | None) -> DualsCertificate:
    """``configuration_lp`` of the largest ratio."""
    data = arrays(instance)
    try:
        rho, prices = bound_by_thresholds(data, data.total(best_local(data, tick)), tick=tick, budget=budget)
    except TooMany:
        raise UsageError("configuration-lp had too many configurations for some job") from None
    return threshold_certificate(instance, rho, prices)


def lagrange(instance: Instance, *, tick: Tick = no_tick, budget: Budget | None = None) -> DualsCertificate:
    """Bound that prices by tatonnement prove (``rounding``), in time that is linear in the jobs.

    It may be some tenths of a percent below ``configuration_lp``. ``tick`` as there.

    Raises
    ------
    UsageError
        The instance is infeasible, or its objective is the largest ratio.
    """
    del budget
    require_served(instance, "lagrange")
    require_feasible(instance)
    data = arrays(instance)
    return proven_by(instance, data, tatonnement(data, soon_counts(data), tick)[0])


def proven_by(instance: Instance, data: Arrays, prices: Floats) -> DualsCertificate:
    """Make a certificate of prices; its value is what the verifier makes of them."""
    rows = _by_type(instance, data.costs.multipliers(prices))
    rounded = rounded_down if objective_of(instance).sense is Sense.MINIMIZE else rounded_up
    return DualsCertificate("milp", rows, rounded(verify(instance, DualsCertificate("milp", rows, 0.0))))


def price_certificate(instance: Instance, data: Arrays, prices: Prices) -> DualsCertificate:
    """Make an unverified certificate of prices, its value lowered by the verifier's largest error.

    With p the power of a utility that error is at most (3 ``ERROR`` + n 2^-52) max(1, p + 1) times the sum of the sizes of
    least values, offsets and p s, for sums of n terms: less than a third of ``_ROUNDING`` for n of some thousands.
    """
    room = _ROUNDING * float(prices.least.sum() + dot(prices.prices, data.stock))
    room = data.costs.steepness * (room + _ROUNDING * float(np.abs(data.costs.offset).sum()))
    rows = _by_type(instance, data.costs.multipliers(prices.prices))
    return DualsCertificate("milp", rows, data.costs.objective(prices.bound - room))


def threshold_certificate(instance: Instance, rho: float, prices: Floats) -> DualsCertificate:
    """Make a certificate that the largest ratio is at least ``rho``, minus some tolerance."""
    return DualsCertificate("threshold", _by_type(instance, -prices), rho * (1 - HAIR))


def relaxation(instance: Instance, *, tick: Tick = no_tick, budget: Budget | None = None) -> DualsCertificate:
    """Bound of the convex relaxation, computed in exact arithmetic from its multipliers and rounded down.

    ``tick`` and ``budget`` as in ``configuration_lp``. Cost: up to 100 linear programs with S (G + 2) variables.

    Raises
    ------
    UsageError
        The instance is infeasible, or its objective is not the mean.
    """
    require_served(instance, "relaxation")
    require_feasible(instance)
    data = arrays(instance)
    prices = _tangents(data, best_local(data, tick), tick, budget or Budget())
    # multipliers of all rows; the value is what the verifier makes of them
    labels = plain_labels([job.id for job in instance.jobs], "j")
    slopes = (_best_slopes(data, prices, tick) / data.jobs).tolist()
    rows = _by_type(instance, data.costs.multipliers(prices)) | {
        f"rate_{label}": -slope for label, slope in zip(labels, slopes, strict=True) if slope > 0
    }
    value = rounded_down(verify(instance, DualsCertificate("relaxation", rows, 0.0)))
    return DualsCertificate("relaxation", rows, value)


def _tangents(data: Arrays, start: Counts, tick: Tick, budget: Budget) -> Floats:
    """Multipliers of the stock rows, shape (G,), >= 0.

    Variables: c_ig, then every job's rate and time in parts of those it has in ``start``.
    """
    from scipy.sparse import csr_array, dia_array, hstack, vstack

    def diagonal(values: Floats) -> dia_array:
        return dia_array((values[None], [0]), shape=(jobs, jobs))

    # variables: a pair for each type that can serve a job; coefficients too small or too large to matter are cut
    jobs = data.jobs
    job, kind = np.nonzero(data.rates)
    start_rates = row_dots(start, data.rates)
    unit = data.total(start)
    chord = np.minimum(_chords(data) / unit, _FURTHEST)
    pairs, one = np.arange(len(job)), np.ones(len(job))
    share = np.minimum(data.rates[job, kind] / start_rates[job], _FURTHEST)
    share[share < _LEAST] = 0.0
    sizes, stock, rates = (
        csr_array((values, (row, pairs)), shape=(rows, len(job) + 2 * jobs))
        for values, row, rows in ((one, job, jobs), (one, kind, data.types), (-share, job, jobs))
    )
    # columns of rates and times; rows of stock, sizes and rates
    of_rate, of_time = len(job) + np.arange(jobs), len(job) + jobs + np.arange(jobs)
    rates += csr_array((np.ones(jobs), (np.arange(jobs), of_rate)), shape=rates.shape)
    rows = [vstack([stock, sizes, -sizes, rates], format="csr")]
    right = [data.stock, data.most, -data.least, np.zeros(jobs)]
    cost = data.work / start_rates / unit
    costs = np.concatenate((chord[job], np.zeros(jobs), np.where(cost < _LEAST, 0.0, cost)))
    # rates and times are never so large; without these bounds HiGHS has called the program unbounded
    upper = np.concatenate((data.stock[kind], np.full(2 * jobs, 4 * _FURTHEST)))
    # tangents of w / R, at multiples of the start's rates, then at the rates that the last program reached
    fresh = [np.full(jobs, factor) for factor in _FIRST]
    for _ in range(_ROUNDS):
        for points in fresh:
            tangent = hstack((csr_array((jobs, len(job))), diagonal(-1 / points), diagonal(-points)), format="csr")
            rows.append(tangent)
            right.append(np.full(jobs, -2.0))
        tick()
        answer = linear_program(
            costs,
            a_ub=vstack(rows, format="csr"),
            b_ub=np.concatenate(right),
            bounds=np.column_stack((np.zeros(len(upper)), upper)),
            time_s=budget.left.time_s,
        )
        reached, times = np.clip(answer.x[of_rate], 1 / _FURTHEST, _FURTHEST), answer.x[of_time]
        if np.all((1 - (1 + _CLOSE) * reached * times) * costs[of_time] <= _CLOSE * reached * answer.objective):
            break
        fresh = [reached]
    return np.maximum(0.0, -answer.upper[: data.types]) * unit


def _chords(data: Arrays) -> Floats:
    """b_i, seconds that each further worker adds on the chord; shape (S,)."""
    fastest = np.where(data.rates > 0, data.bandwidth, 0).max(axis=1)
    chords: Floats = data.traffic / fastest / (data.least * data.most)
    return chords


def _best_slopes(data: Arrays, prices: Floats, tick: Tick) -> Floats:
    """Multipliers of the rate rows that prove most at these prices, shape (S,), > 0."""
    able, every = data.rates > 0, np.arange(data.jobs)[:, None]
    paid = np.where(able, prices + _chords(data)[:, None], np.inf)
    stock = np.where(able, data.stock, 0)
    slowest = np.min(np.where(able, data.rates, np.inf), axis=1)
    # a rate lies between that of the slowest worker and that of all; the logarithms of w / R^2
    low = log(data.work) - 2 * log(dot(data.rates, data.stock))
    high = log(data.work) - 2 * log(slowest)
    for _ in range(_HALVINGS):
        tick()
        # the minimiser of the linear part at the middle; its rate is the slope's second term
        middle = (low + high) / 2
        slopes = exp(middle)
        linear = paid - slopes[:, None] * data.rates
        order = np.argsort(linear, axis=1, kind="stable")
        taken = np.cumsum(stock[every, order], axis=1)
        wanted = np.where(linear[every, order] < 0, data.most[:, None], data.least[:, None])
        # the cheapest first: all that lower the sum, up to ``most``, then those that ``least`` still needs
        upto = np.minimum(taken, wanted)
        upto = np.maximum.accumulate(upto, axis=1)
        counts = np.diff(upto, axis=1, prepend=0)
        rate = (counts * data.rates[every, order]).sum(axis=1)
        more = np.sqrt(data.work / slopes) > rate  # the sum still rises with the multiplier
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return exp(low)


def _by_type(instance: Instance, multipliers: Floats) -> dict[str, float]:
    """Multipliers other than 0, by the row names of the types."""
    labels = plain_labels(list(instance.types), "g")
    return {f"stock_{label}": value for label, value in zip(labels, multipliers.tolist(), strict=True) if value}
