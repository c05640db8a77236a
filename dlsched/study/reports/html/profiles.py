"""Performance profiles (Dolan and More): share of instances with a method within a factor of the best."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.core.status import Sense
from dlsched.core.verdict import Reference, verdict
from dlsched.families import FAMILIES
from dlsched.statistics.profiles import Steps, performance_profile
from dlsched.study.reports.html.figure import Axis, Figure, Look, Trace, axis
from dlsched.study.reports.html.matrix import Trial
from dlsched.study.reports.html.tables import Cell, Column, Table, number_cell
from dlsched.study.reports.html.words import digits, drawn, finite

STEPS = 60
"""Largest number of points of a curve."""


def profile(found: Sequence[Trial], looks: Mapping[str, Look], family: str) -> Figure:
    """Draw the profiles of all methods; factors are objectives relative to the best of any method."""
    title = "Performance profile"
    if len(looks) < 2:
        return Figure(title, missing="one method alone is compared with no other")
    factors = factors_of_best(found, list(looks), family)
    everything = [value for of in factors.values() for value in of if value is not None]
    if not everything:
        return Figure(title, missing="there is no answer")
    taus = grid(everything)
    end = max(drawn(1 + 1.06 * (taus[-1] - 1)), 1.05)
    rows = []
    shares = {method: _at(performance_profile(_rounded(of)), taus) for method, of in factors.items()}
    traces = [
        Trace([*taus, end], [*shares[method], shares[method][-1]], look.colour, look.label, dash=look.dash, steps=True)
        for method, look in looks.items()
    ]
    for at, tau in enumerate([*taus, end]):
        cells = [shares[method][min(at, len(taus) - 1)] for method in looks]
        rows.append([Cell(digits(tau), order=tau), *(number_cell(value, digits(value)) for value in cells)])
    says = (
        "The higher, the better: the share of instances on which an answer is within a factor of the best that any method "
        "found; without an answer it never is (Dolan and Moré 2002)."
    )
    columns = [Column("factor τ"), *(Column(look.label) for look in looks.values())]
    return Figure(
        title,
        says,
        traces=traces,
        x=axis(1.0, end, "factor τ of the best answer", margin=0.0),
        y=Axis("instances within τ", 0.0, 1.02, marks={step / 5: f"{20 * step} %" for step in range(6)}),
        tables=(Table("Share of instances within τ", columns, rows),),
    )


def factors_of_best(found: Sequence[Trial], methods: Sequence[str], family: str) -> dict[str, list[float | None]]:
    """Return each answer's factor to the best of its instance, by method; None without an answer.

    If no answer to an instance has a ratio, the factor is between objectives.
    """
    of_family = FAMILIES[family].sense if family in FAMILIES else Sense.MINIMIZE
    factors: dict[str, list[float | None]] = {method: [] for method in methods}
    for trial in found:
        rated = any(row.ratio is not None for row in trial.rows.values())
        said = next((Sense(row.sense) for row in trial.rows.values() if row.sense), of_family)
        sense = Sense.MINIMIZE if rated else said
        values = {method: finite(row.ratio if rated else row.objective) for method, row in trial.rows.items()}
        known = [value for value in values.values() if value is not None]
        best = None if not known else Reference((min if sense is Sense.MINIMIZE else max)(known), "answer", sense)
        for method in methods:
            factors[method].append(finite(verdict(values.get(method), best).ratio))
    return factors


def grid(factors: Sequence[float]) -> list[float]:
    """Return the factors at which curves step, at most ``STEPS``, the first and the last included."""
    taus = np.unique([1.0, *(drawn(value) for value in factors)])
    if len(taus) > STEPS:
        taus = taus[np.unique(np.linspace(0, len(taus) - 1, STEPS).round().astype(int))]
    return [float(tau) for tau in taus]


def _rounded(factors: Sequence[float | None]) -> list[float | None]:
    """Round to the digits that are drawn, so that smaller differences count as equal."""
    return [None if value is None else drawn(value) for value in factors]


def _at(steps: Steps, taus: Sequence[float]) -> list[float]:
    """Share of instances within each of `taus`."""
    ends, shares = steps
    return [drawn(shares[bisect_right(ends, tau) - 1]) for tau in taus]
