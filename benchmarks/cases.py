"""Arrays of figures by case and method, for conclusions of one's own, with intervals and their text.

A case is a set of instances that belong together, such as those of a preset; all methods ran on all of them.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.statistics.inference import student_mean
from dlsched.study.figures.summary import Instance, instance_of
from dlsched.study.rows import Row

Cases = dict[Hashable, dict[str, FloatArray]]
"""For each case and method, one figure for each instance, in the same order for all methods of a case.

``instance_of`` identifies instances. nan: no figure, or the method did not run on the instance."""


def cases(
    rows: Sequence[Row],
    figure: Callable[[Row], float | None] = lambda row: row.objective,
    case: Callable[[Row], Hashable] = lambda row: row.preset,
) -> Cases:
    """Put figures of rows into arrays; rows in the order of the study.

    ``figure`` returns the figure of a row (by default the objective), ``case`` the name of its case (by default its preset).
    """
    by_case: dict[Hashable, dict[str, dict[Instance, float]]] = {}
    places: dict[Hashable, dict[Instance, int]] = {}
    # A method that ran twice on an instance has two figures there, told apart by a number.
    for row in rows:
        name, value, number = case(row), figure(row), 1
        cells = by_case.setdefault(name, {}).setdefault(row.method, {})
        while (*instance_of(row), number) in cells:
            number += 1
        instance = (*instance_of(row), number)
        cells[instance] = np.nan if value is None else value
        at = places.setdefault(name, {})
        at.setdefault(instance, len(at))
    return {
        name: {
            method: np.array([cells.get(instance, np.nan) for instance in places[name]])
            for method, cells in methods.items()
        }
        for name, methods in by_case.items()
    }


def interval(values: FloatArray) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval by Student's t; 0 for a single value, ValueError without values.

    >>> mean, half = interval(np.array([1.0, 3.0]))
    >>> mean, round(half, 3)
    (2.0, 12.706)
    """
    mean = student_mean(values.tolist())
    if mean is None:
        raise ValueError("values: found none, allowed: one or more")
    return mean.value, 0.0 if mean.high is None else mean.high - mean.value


def shown(values: FloatArray, sign: str = "", digits: int = 2) -> str:
    """Mean and interval as text.

    >>> shown(np.array([1.0, 3.0])), shown(np.array([1.0, 3.0]), "+", 1)
    ('2.00 [-10.71, 14.71]', '+2.0 [-10.7, +14.7]')
    """
    mean, half = interval(values)
    middle, *ends = (f"{each:{sign}z.{digits}f}" for each in (mean, mean - half, mean + half))
    return f"{middle} [{', '.join(ends)}]" if half else middle


def differs(values: FloatArray, tests: int = 1) -> bool:
    """Whether the mean's interval excludes 0, at 95 % for ``tests`` tests together (Bonferroni).

    >>> differs(np.array([1.0, 1.1, 1.5])), differs(np.array([1.0, 1.1, 1.5]), tests=10)
    (True, False)
    """
    from scipy.special import stdtrit

    mean, half = interval(values)
    wider = stdtrit(len(values) - 1, 1 - 0.025 / tests) / stdtrit(len(values) - 1, 0.975)
    return abs(mean) > half * float(wider)


def compared(first: FloatArray, second: FloatArray) -> str:
    """Say whether the first is better (less) by the paired 95 % interval of the difference.

    >>> compared(np.array([1.0, 1.1, 0.9]), np.array([2.0, 2.1, 1.8]))
    'better'
    """
    apart = first - second
    return "not told apart from it" if not differs(apart) else "better" if apart.mean() < 0 else "worse"


def alike(of_cases: Sequence[dict[str, FloatArray]]) -> list[list[str]]:
    """Group methods whose figures agree to a millionth on every instance of the cases; least mean first."""
    groups: dict[bytes, list[str]] = {}
    for name in of_cases[0]:
        groups.setdefault(b"".join(each[name].round(6).tobytes() for each in of_cases), []).append(name)
    return sorted(groups.values(), key=lambda names: sum(float(each[names[0]].mean()) for each in of_cases))
