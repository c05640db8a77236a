"""Streams planned in hindsight, by weights of the jobs and simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983)."""

import math
from array import array
from collections.abc import Callable, Sequence

import numpy as np

from dlsched.certificates import PricesCertificate
from dlsched.core.elementary import exp, float_power
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.elastic_stream.bounds import prices
from dlsched.elastic_stream.bounds.any_time import averaged, worths
from dlsched.elastic_stream.checker import infeasible, objective
from dlsched.elastic_stream.fast_simulation import FRESH, Course, Speeds, Weighed
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.simulation.simulator import simulate
from dlsched.elastic_stream.simulation.view import View
from dlsched.elastic_stream.solution import Stream

_HEAT = 0.01
"""Temperature at the first try as a fraction of the mean flow time; it falls linearly to 0."""
_NEAR = 12
"""Most arrivals between two jobs that are compared; number of jobs whose weights change independently."""
_EVERY = 64
"""Fewest tries between two calls that hand over better weights."""


def improve(
    course: Course,
    tries: int,
    generator: "np.random.Generator",
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


def _other(course: Course, generator: "np.random.Generator") -> dict[int, float]:
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
        # just behind it or before
        return {job: weights[other] * its / mine * (0.999, 1.001)[int(generator.integers(2))]}
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


def _one(course: Course, job: int, generator: "np.random.Generator") -> float:
    """Gain per unit of one step of a fresh job."""
    steps = course.speeds.steps(job, FRESH)
    return steps[int(generator.integers(len(steps)))][0]


EFFORT = 400_000
"""Default of the number of tries times the number of jobs: takes seconds to half a minute."""
_MOST_TRIES = 200  # times the number of jobs
_PATIENCES = 20.0, 3.0
_POWERS = 1.0, 0.5, 0.0
_FIRST = 0.4  # share of the tries that begin from all decodings; the others continue from the best weights
MOST_JOBS = 50_000
"""Number of jobs up to which a search improves the weights."""
_SPARE = 200  # one unit in so many may stay idle in the plan of more jobs
_SMALL = 2_000  # jobs up to which all patiences and powers are tried; with more, weights follow simulations
_OWN_POWERS = 0.95, 0.98, 0.98
"""Powers of the weights, by simulation: less than 1, so that of jobs of nearly equal gain the larger ones wait."""
_ARRIVALS, _INTERVALS = 50, 1_200  # arrivals in an interval of such prices; most intervals


def plan(
    instance: Instance,
    *,
    generator: "np.random.Generator | None" = None,
    effort: float | None = None,
    tick: Tick = no_tick,
) -> Stream | None:
    """Plan a stream in hindsight: weigh jobs by their work's worth at ``prices``, and improve the weights.

    More than 2,000 jobs are weighed at the prices of simulations first; of more than 50,000 that is the plan.

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
    ``prices`` limits how far it is from the best. Cost: that of ``prices``, and seconds to half a minute; of a
    million jobs, three simulations of some three minutes each.

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
    generator: "np.random.Generator",
    effort: float = EFFORT,
    better: Callable[[Stream], object] = lambda stream: None,
    tick: Tick = no_tick,
) -> Stream:
    """A stream that gives units by improved weight x gain in speed per unit at every event; UsageError: infeasible.

    ``weights``, shape (J,): seconds that all work of a job is worth, counted as its fastest run times its weight at least.
    ``effort``: tries times jobs. ``better`` gets every better stream, the first before any search; ``tick`` may raise to stop.
    """
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"no stream: {reason}")
    weights = list(map(max, weights, least_worths(instance)))
    if len(instance.jobs) > _SMALL:
        best, weights = _at_own_prices(instance, weights, better, tick)
        if len(instance.jobs) > MOST_JOBS:  # a try would take longer than the stream
            return best
        courses = [Course(Speeds(instance, _PATIENCES[0]), weights)]
    else:
        courses = _decoded(instance, weights, tick)
        best = _made(instance, courses[0].speeds, courses[0].weights, tick)
        better(best)
    tries = int(min(effort / len(instance.jobs), _MOST_TRIES * len(instance.jobs) * max(1.0, effort / EFFORT)))

    def improved(course: Course, share: float) -> None:
        def offered(found: list[float]) -> None:
            nonlocal best
            candidate = _made(instance, course.speeds, found, tick)
            if objective(instance, candidate) < objective(instance, best):
                best = candidate
                better(best)

        improve(course, int(share * tries), generator, better=offered, tick=tick)

    if len(courses) > 1:
        for course in courses:
            improved(course, _FIRST / len(courses))
    improved(min(courses, key=lambda course: course.total_s), 1 - _FIRST)
    return best


def least_worths(instance: Instance) -> list[float]:
    """Least worth of the work of every job: its fastest run times its weight."""
    return [job.weight * instance.fastest_s(index) for index, job in enumerate(instance.jobs)]


def _at_own_prices(
    instance: Instance, weights: Sequence[float], better: Callable[[Stream], object], tick: Tick
) -> tuple[Stream, list[float]]:
    """Simulate weights, then the worths at the prices of that simulation, and so on; return the best stream and its weights.

    Prices that prove a bound leave out what pauses and the moments between breakpoints cost. By worths at them, a job
    whose best gain per unit is hardly above the price waits for hours while the real price is a little higher.
    """
    speeds, least = Speeds(instance, _PATIENCES[0]), least_worths(instance)
    spare = instance.units // _SPARE if len(instance.jobs) > MOST_JOBS else 0
    best, least_s, chosen, worth = None, math.inf, list[float](), np.array(weights)
    for number, power in enumerate(_OWN_POWERS, start=1):
        # Weights add up to the worths, so that gains per unit are prices.
        powers = _powers(instance, worth.tolist(), power)
        scale = math.fsum(worth.tolist()) / (math.fsum(powers) or 1.0)
        powers = [scale * each for each in powers]
        policy = _Recording(speeds, powers, spare)
        stream = simulate(instance, policy, tick=tick)
        if (flow_s := objective(instance, stream)) < least_s:
            best, least_s, chosen = stream, flow_s, powers
            better(stream)
        if number == len(_OWN_POWERS) or not policy.times or policy.times[0] == policy.times[-1]:
            break
        times, prices = np.array(policy.times), np.array(policy.prices)
        count = min(_INTERVALS, len(instance.jobs) // _ARRIVALS)
        grid = np.unique(np.linspace(times[0], times[-1], count + 1))  # fewer where the clock has no more moments
        mean = averaged(times, prices[:-1], grid)
        known = PricesCertificate(tuple((grid / (instance.tick_s or 1.0)).tolist()), tuple(mean.tolist()), 0.0)
        worth = np.maximum(worths(instance, known, tick=tick), least)
    assert best is not None
    return best, chosen


class _Recording(Weighed):
    """Also records the time and the price of every event."""

    def __init__(self, speeds: Speeds, weights: Sequence[float], spare: int) -> None:
        super().__init__(speeds, weights, spare)
        self.times, self.prices = array("d"), array("d")

    def decide(self, view: View) -> dict[int, int]:
        """Divide the units, and record time and price."""
        units = super().decide(view)
        self.times.append(view.now_s)
        self.prices.append(self.price)
        return units


def _powers(instance: Instance, worth: Sequence[float], power: float) -> list[float]:
    """Each job's weight times a power of its worth over its weight."""
    return [job.weight * float_power(each / job.weight, power) for job, each in zip(instance.jobs, worth, strict=True)]


def _decoded(instance: Instance, weights: Sequence[float], tick: Tick) -> list[Course]:
    """For each power of the weights, the course with the best patience; best first. With power 0 the least work goes first."""
    speeds = [Speeds(instance, patience) for patience in _PATIENCES]
    courses = []
    for power in _POWERS:
        powers = _powers(instance, weights, power)
        tick()
        courses.append(min((Course(each, powers) for each in speeds), key=lambda course: course.total_s))
    return sorted(courses, key=lambda course: course.total_s)


def _made(instance: Instance, speeds: Speeds, weights: Sequence[float], tick: Tick) -> Stream:
    return simulate(instance, Weighed(speeds, weights), tick=tick)
