"""Stream planned in hindsight: decodes the jobs' worth in a few ways, and searches for better weights."""

from collections.abc import Callable, Sequence

import numpy as np

from dlsched.core.elementary import float_power
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.bounds import prices
from dlsched.elastic_stream.bounds.any_time import worths
from dlsched.elastic_stream.checker import infeasible, objective
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.planning.fast_simulation import Course
from dlsched.elastic_stream.planning.policy import Weighed
from dlsched.elastic_stream.planning.speeds import Speeds
from dlsched.elastic_stream.planning.weight_search import improve
from dlsched.elastic_stream.simulation.simulator import simulate
from dlsched.elastic_stream.solution import Stream

EFFORT = 400_000
"""Default of the number of tries times the number of jobs: takes seconds to half a minute."""
_MOST_TRIES = 200  # times the number of jobs
_PATIENCES = 20.0, 3.0
_POWERS = 1.0, 0.5, 0.0
_FIRST = 0.4
"""Share of the tries that begin from all decodings; the others continue from the best weights found."""
_SMALL = 2_000
"""Largest number of jobs for which all patiences and powers are tried; with more jobs only the first ones
are."""


def plan(
    instance: Instance,
    *,
    generator: np.random.Generator | None = None,
    effort: float | None = None,
    tick: Tick = no_tick,
) -> Stream | None:
    """Plan a stream in hindsight: weigh jobs by their work's worth at ``prices``, and improve the weights.

    Parameters
    ----------
    instance
        The jobs; the plan knows all of them, with their true work.
    generator
        Draws the tries; None: seeded with 0.
    effort
        As for ``plan_stream``; None: ``EFFORT``.
    tick
        Called often; it may raise to stop.

    Returns
    -------
    The stream, or None if a job needs more units than the cluster has. Guarantee: none; the bound of
    ``prices`` limits how far it is from the best. Cost: that of ``prices``, and seconds to half a minute.

    Source: ours; the weights are the multipliers of the work in a Lagrangian bound, and units go by marginal gain (Fox 1966).
    """
    if infeasible(instance) is not None:
        return None
    instance = instance.even
    weights = worths(instance, prices(instance, tick=tick), tick=tick).tolist()
    generator = np.random.default_rng(0) if generator is None else generator
    return plan_stream(instance, weights, generator=generator, effort=EFFORT if effort is None else effort, tick=tick)


def plan_stream(
    instance: Instance,
    weights: Sequence[float],
    *,
    generator: np.random.Generator,
    effort: float = EFFORT,
    better: Callable[[Stream], object] = lambda stream: None,
    tick: Tick = no_tick,
) -> Stream:
    """A stream that gives units by improved weight x gain in speed per unit at every event.

    ``weights``, shape (J,): seconds that all work of each job is worth, such as its multiplier in the bound of prices; at
    least its fastest run times its weight. ``effort``: tries times jobs. ``better`` is called with every better stream, the
    first before any search; ``tick`` before every try and in simulations, and may raise. UsageError: infeasible.
    """
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"no stream: {reason}")
    least = (job.weight * instance.fastest_s(index) for index, job in enumerate(instance.jobs))
    courses = _decoded(instance, list(map(max, weights, least)), tick)
    best = _made(instance, courses[0].speeds, courses[0].weights, tick)
    better(best)
    tries = int(min(effort / len(instance.jobs), _MOST_TRIES * len(instance.jobs) * max(1.0, effort / EFFORT)))

    def improved(course: Course, share: float) -> None:
        def offered(found: list[float]) -> None:
            nonlocal best
            made = _made(instance, course.speeds, found, tick)
            if objective(instance, made) < objective(instance, best):
                best = made
                better(best)

        improve(course, int(share * tries), generator, better=offered, tick=tick)

    if len(courses) > 1:
        for course in courses:
            improved(course, _FIRST / len(courses))
    improved(min(courses, key=lambda course: course.total_s), 1 - _FIRST)
    return best


def _decoded(instance: Instance, weights: Sequence[float], tick: Tick) -> list[Course]:
    """For each power of the weights, the course with the best patience; best power first.

    The base of a power is the worth of a job's work in seconds over its weight; with power 0 the least work goes first.
    """
    few = len(instance.jobs) <= _SMALL
    speeds = [Speeds(instance, patience) for patience in (_PATIENCES if few else _PATIENCES[:1])]
    courses = []
    for power in _POWERS if few else _POWERS[:1]:
        powers = [
            job.weight * float_power(weight / job.weight, power)
            for job, weight in zip(instance.jobs, weights, strict=True)
        ]
        tick()
        courses.append(min((Course(each, powers) for each in speeds), key=lambda course: course.total_s))
    return sorted(courses, key=lambda course: course.total_s)


def _made(instance: Instance, speeds: Speeds, weights: Sequence[float], tick: Tick) -> Stream:
    return simulate(instance, Weighed(speeds, weights), tick=tick)
