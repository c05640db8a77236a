"""Bounds of matching_placement, both with the multipliers that prove them; the mean over the jobs, in seconds.

``configuration_lp``. The linear program over configurations (``columns``): its value is the best Lagrangian bound for
prices of the types, since each job is solved exactly at the prices.

``relaxation``. Counts real, communication on the fastest type that can serve the job, and on its chord between the
smallest and the largest size: with m_i and M_i for these sizes, 1 - 1/n >= 1 - 1/m_i - 1/M_i + n / (m_i M_i) for
m_i <= n <= M_i (1 - 1/n is concave, equal at both ends). A convex program in R_i:

    minimise sum_i w_i / R_i + b_i n_i + a_i
    [stock]  sum_i c_ig <= s_g      [rate]  R_i <= sum_g rho_ig c_ig      n_i = sum_g c_ig in [m_i, M_i],  0 <= c_ig <= s_g

solved by tangents (w / R >= 2 w / R0 - w R / R0^2), each round a linear program whose value is a bound; Kelley 1960.
"""

from collections.abc import Callable

import numpy as np

from dlsched.core.certificate import DualsCertificate, rounded_down
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.labels import plain_labels
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays
from dlsched.matching_placement.certificate import verify
from dlsched.matching_placement.columns import Prices, generate_columns
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics import best_local
from dlsched.matching_placement.instance import Instance

_ROUNDS = 100
_CLOSE = 1e-5  # relative difference of w / R and its tangents at which rounds end
_FIRST = np.geomspace(0.1, 10, 13)  # of the rates of a good placement: where the first tangents touch
_ROUNDING = 1e-11  # relative error of a bound computed in floats, with room


def configuration_lp(instance: Instance, *, tick: Callable[[], None] | None = None) -> DualsCertificate:
    """Bound of the linear program over configurations; its prices per type are the certificate.

    ``tick`` is called in every round; it may raise to stop. Cost: tens of rounds with few types, hundreds with many; a
    round is a linear program over the columns held and some milliseconds a job of pricing, more with many workers.

    Raises
    ------
    UsageError
        The instance is infeasible, or has too many types for the pricing.
    """
    _require_feasible(instance)
    data = arrays(instance)
    prices = generate_columns(data, best_local(data), tick=tick)
    if not prices.exact:
        raise UsageError("the pricing of configuration-lp had too many labels; use relaxation")
    return price_certificate(instance, data, prices)


def price_certificate(instance: Instance, data: Arrays, prices: Prices) -> DualsCertificate:
    """Prices as a certificate; the value allows for rounding, the exact one is ``certificate.verify``'s."""
    room = _ROUNDING * float(prices.least.sum() + prices.prices @ data.stock)
    return DualsCertificate("milp", _stock_rows(instance, prices.prices), (prices.bound - room) / data.jobs)


def relaxation(instance: Instance, *, tick: Callable[[], None] | None = None) -> DualsCertificate:
    """Bound of the convex relaxation, computed in exact arithmetic from its multipliers and rounded down.

    ``tick`` is called in every round; it may raise to stop. Cost: some tens of linear programs with S G variables.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    _require_feasible(instance)
    data = arrays(instance)
    prices, slopes = _tangents(data, best_local(data), tick)
    labels = plain_labels([job.id for job in instance.jobs], "j")
    rows = _stock_rows(instance, prices) | {
        f"rate_{label}": -slope for label, slope in zip(labels, (slopes / data.jobs).tolist(), strict=True) if slope > 0
    }
    return DualsCertificate(
        "relaxation", rows, rounded_down(verify(instance, DualsCertificate("relaxation", rows, 0.0)))
    )


def _tangents(data: Arrays, start: Counts, tick: Callable[[], None] | None) -> tuple[Floats, Floats]:
    """Multipliers of the stock rows, shape (G,), and of the rate rows, shape (S,), both >= 0."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    job, kind = np.nonzero(data.rates)
    pairs, one = np.arange(len(job)), np.ones(len(job))
    chord = data.traffic / np.where(data.rates > 0, data.bandwidth, 0).max(axis=1) / (data.least * data.most)
    held = np.einsum("ig,ig->i", start, data.rates)
    unit = float((data.work / held).sum())
    every = len(job) + data.jobs
    sizes = csr_array((one, (job, pairs)), shape=(data.jobs, every))
    stock = csr_array((one, (kind, pairs)), shape=(data.types, every))
    rates = csr_array((data.rates[job, kind], (job, pairs)), shape=(data.jobs, every))
    times = hstack((csr_array((data.jobs, len(job))), eye_array(data.jobs)), format="csr")
    rows, right, slopes = [], [], []
    fresh = [held * factor for factor in _FIRST]
    for _ in range(_ROUNDS):
        if tick is not None:
            tick()
        for points in fresh:
            slopes.append(data.work / points**2)
            rows.append(-times - rates * (slopes[-1] / unit)[:, None])
            right.append(-2 * data.work / points / unit)
        answer = linprog(
            np.concatenate((chord[job] / unit, np.ones(data.jobs))),
            A_ub=vstack([stock, sizes, -sizes, *rows], format="csr"),
            b_ub=np.concatenate((data.stock, data.most, -data.least, *right)),
            bounds=np.column_stack((np.zeros(every), np.append(data.stock[kind], np.full(data.jobs, np.inf)))),
            method="highs",
        )
        if answer.status != 0:
            raise SolverError(f"HiGHS found no optimum of the relaxation: {answer.message}")
        reached = rates @ answer.x
        if np.all(data.work / reached <= (1 + _CLOSE) * answer.x[len(job) :] * unit):
            break
        fresh = [reached]
    multipliers = -np.asarray(answer.ineqlin.marginals)
    prices = np.maximum(0.0, multipliers[: data.types]) * unit
    weights = np.maximum(0.0, multipliers[data.types + 2 * data.jobs :])
    found = weights * np.concatenate(slopes)
    return prices, found.reshape(-1, data.jobs).sum(axis=0)


def _stock_rows(instance: Instance, prices: Floats) -> dict[str, float]:
    """Multipliers of the mean completion time from prices for the sum."""
    labels, mean = plain_labels(list(instance.types), "g"), (prices / len(instance.jobs)).tolist()
    return {f"stock_{label}": -price for label, price in zip(labels, mean, strict=True) if price > 0}


def _require_feasible(instance: Instance) -> None:
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"the instance is infeasible: {reason}; every bound holds")
