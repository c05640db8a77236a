"""Search over job weights by simulated annealing: changes one job, or a few that arrive in a row.

Source of the method: Kirkpatrick, Gelatt, Vecchi 1983.
"""

import math
from collections.abc import Callable

import numpy as np

from dlsched.core.elementary import exp, float_power
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.planning.fast_simulation import Course
from dlsched.elastic_stream.planning.speeds import FRESH

_HEAT = 0.01
"""Temperature at the first try as a fraction of the mean flow time; it falls linearly to 0."""
_NEAR = 12
"""Most arrivals between two jobs that are compared; number of jobs whose weights change independently."""
_EVERY = 64
"""Fewest tries between two calls that hand over better weights."""


def improve(
    course: Course,
    tries: int,
    generator: np.random.Generator,
    *,
    better: Callable[[list[float]], None],
    tick: Tick = no_tick,
) -> None:
    """Try other weights than those of ``course``; ``better`` is called now and then, and at the end, with the best so far."""
    if not course.speeds.order:
        return
    best_s, best, handed = course.total_s, course.weights, course.weights
    heat_s = _HEAT * best_s / len(course.weights)
    for number in range(tries):
        tick()
        worse_s = course.tried(_other(course, generator)) - course.total_s
        if worse_s <= 0 or generator.random() < exp(-worse_s / (heat_s * (1 - number / tries))):
            course.keep()
            if course.total_s < best_s:
                best_s, best = course.total_s, course.weights
        if best is not handed and (number % _EVERY == 0 or number == tries - 1):
            handed = best
            better(best)


def _other(course: Course, generator: np.random.Generator) -> dict[int, float]:
    """Other weights for some jobs, at random."""
    order, weights = course.speeds.order, course.weights
    first, kind = int(generator.integers(len(order))), int(generator.integers(8))
    job = order[first]
    if kind < 2:  # one job alone, by much or by little
        return {job: weights[job] * exp(generator.normal(0, (0.5, 0.1)[kind]))}
    if kind < 4:
        near = first + int(generator.integers(-_NEAR, _NEAR + 1))
        other = order[min(len(order) - 1, max(0, near))]
        if kind == 2:
            return {job: weights[other], other: weights[job]}
        mine, its = (_one(course, which, generator) for which in (job, other))
        return {
            job: weights[other] * its / mine * (0.999, 1.001)[int(generator.integers(2))]
        }  # just behind it or before
    length = 3 * float_power(max(1.0, len(order) / 3), generator.random())
    block = order[first : first + math.ceil(length)]
    if kind == 4:  # each by itself
        block = block[:_NEAR]
        exponents = generator.normal(0, 0.1, len(block))
    elif kind == 5:  # all alike
        exponents = np.full(len(block), generator.normal(0, 0.2))
    else:  # early ones against late ones, or long ones against short ones
        key = range(len(block)) if kind == 6 else [-max(course.speeds.speed[which].values()) for which in block]
        ranks = np.argsort(np.argsort(key, kind="stable"))
        exponents = generator.normal(0, 0.3) * (ranks / len(block) - 0.5)
    return {which: weights[which] * exp(exponent) for which, exponent in zip(block, exponents, strict=True)}


def _one(course: Course, job: int, generator: np.random.Generator) -> float:
    """Gain per unit of one step of a fresh job."""
    steps = course.speeds.steps(job, FRESH)
    return steps[int(generator.integers(len(steps)))][0]
