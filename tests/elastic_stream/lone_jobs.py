"""What one job costs by itself at prices over time, in rational arithmetic and by other ways than dlsched's.

Without pauses as the cheapest way to buy work: a continuous knapsack. With pauses from all ways to hold units, one by one.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np

from dlsched.elastic_stream import Instance


def steps_after(release, breakpoints, prices, beyond):
    """Intervals after a release as start, span, price; the one after the last breakpoint is ``beyond`` long."""
    release = Fraction(release)
    bounds = [-math.inf, *map(Fraction, breakpoints), math.inf]
    steps = []
    for (first, second), price in zip(pairwise(bounds), [0, *prices, 0][: len(bounds) - 1], strict=True):
        if second > release:
            start = max(first, release) - release
            steps.append((start, (beyond if second == math.inf else second - release - start), Fraction(price)))
    return steps


def speeds(instance, index):
    """Share of the work a second by count, exactly."""
    job = instance.jobs[index]
    work = Fraction(job.work)
    return {count: 1 / (work * job.speed.exact_epoch_time_s(count)) for count in instance.counts(index)}


def corners(points):
    """Lower hull of points (work, cost) from (0, 0) on, as pieces (cost per work, work): the cheapest first."""
    hull, pieces = (Fraction(0), Fraction(0)), []
    while further := [point for point in points if point[0] > hull[0]]:
        slope, _, best = min(((point[1] - hull[1]) / (point[0] - hull[0]), -point[0], point) for point in further)
        pieces.append((slope, best[0] - hull[0]))
        hull = best
    return pieces


def cost_without_pauses(instance, index, breakpoints, prices):
    """Least flow time and prices: for every interval in which the job may end, work is bought piece by piece.

    In the last interval time has to be bought too: a second of it costs 1.
    """
    job, speed = instance.jobs[index], speeds(instance, index)
    longest = 2 / max(speed.values())
    steps = steps_after(job.arrival_s, breakpoints, prices, longest)
    best, pieces = None, []
    for start, span, price in steps:
        ending = corners([(f * span, (1 + price * w) * span) for w, f in speed.items()])
        cost, left = start, Fraction(1)
        for slope, work in sorted(pieces + ending):
            cost += slope * min(work, left)
            left -= min(work, left)
        if left == 0 and (best is None or cost < best):
            best = cost
        pieces += corners([(f * span, price * w * span) for w, f in speed.items()])
    return best


def cost_with_pauses(instance, index, breakpoints, prices):
    """The bound that counts pauses, on the intervals up to the last breakpoint and one in which to run alone."""
    job, speed = instance.jobs[index], speeds(instance, index)
    steps = steps_after(job.arrival_s, breakpoints, prices, 1 / max(speed.values()))
    return cost_in_steps(speed, Fraction(job.restart_s), steps)


def paths(speed, rho, steps):
    """All ways to hold units, interval by interval: what each does of the work, and what it pays."""
    for path in product([0, *speed], repeat=len(steps)):
        work = cost = Fraction(0)
        held, fresh = 0, True
        for count, (_, span, price) in zip(path, steps, strict=True):
            if count:
                work += speed[count] * (span - (0 if fresh or count == held else rho))
                cost += price * count * span
                fresh = False
            held = count
        yield path, work, cost


def cost_in_steps(speed, rho, steps):
    """Least over intervals of the end, over mu the largest, of the least line at its two nodes; or the last node.

    But never less than the job takes on its fastest count. Every way to hold units is a line in mu at the node where it ends.
    """
    lines = []
    for upto in range(len(steps) + 1):
        end = sum(steps[upto - 1][:2]) if upto else Fraction(0)
        lines.append({(end + cost, 1 - work) for _, work, cost in paths(speed, rho, steps[:upto])})
    values = [
        peak(first | second)
        for first, second, (start, span, _) in zip(lines, lines[1:], steps, strict=False)
        if (start + span) * max(speed.values()) >= 1
    ]
    return max(min([*values, sum(steps[-1][:2])]), 1 / max(speed.values()))


def cost_of_a_path(instance, index, breakpoints, prices):
    """The cheapest way to hold units that changes at breakpoints and stops when the work is done: nothing undercuts that."""
    job, speed = instance.jobs[index], speeds(instance, index)
    rho = Fraction(job.restart_s)
    steps = steps_after(job.arrival_s, breakpoints, prices, 1 / max(speed.values()) + rho)
    costs = []
    for upto, (start, span, price) in enumerate(steps):
        for path, work, cost in paths(speed, rho, steps[:upto]):
            for count, f in speed.items():
                pause = rho if any(path) and path[-1] != count else 0
                lasts = (1 - work) / f + pause
                if 0 < lasts <= span:
                    costs.append(start + lasts + cost + price * count * lasts)
    return min(costs)


def peak(lines):
    """Largest value over mu >= 0 of the least of lines (height at 0, slope); it exists."""
    mu = Fraction(0)
    while True:
        height, slope = min((a + b * mu, b) for a, b in lines)
        if slope <= 0:
            return height
        # the least line rises here: go to where another one first meets it
        meets = [(a - height + b * mu) / (slope - b) for a, b in lines if b < slope]
        mu += min(meets)


def bound_of(instance: Instance, breakpoints, prices, cost=cost_without_pauses):
    """Weighted mean of flow times that prices prove, exactly: a job pays prices over its weight, and costs that many times."""
    least = [
        Fraction(job.weight) * cost(instance, index, breakpoints, [Fraction(p) / Fraction(job.weight) for p in prices])
        for index, job in enumerate(instance.jobs)
        if job.work > 0
    ]
    spans = [Fraction(second) - Fraction(first) for first, second in pairwise(breakpoints)]
    paid = instance.units * sum(Fraction(price) * span for price, span in zip(prices, spans, strict=True))
    return (sum(least) - paid) / weight_of(instance)


def cost_scale(instance, breakpoints, prices):
    """What rounding is measured against: mean of what is added up, without regard to signs."""
    spans = [Fraction(second) - Fraction(first) for first, second in pairwise(breakpoints)]
    paid = instance.units * sum(Fraction(price) * span for price, span in zip(prices, spans, strict=True))
    return abs(bound_of(instance, breakpoints, prices)) + 2 * paid / weight_of(instance)


def weight_of(instance):
    """Sum of all weights."""
    return sum(Fraction(job.weight) for job in instance.jobs)


def random_prices(instance, generator: np.random.Generator):
    """Some breakpoints and prices of the size that matters for an instance; few binary digits, zeros among them."""
    last = max(job.arrival_s for job in instance.jobs)
    span = last + sum(instance.fastest_s(index) for index in range(len(instance.jobs))) + 1
    number = int(generator.integers(0, 7))
    first = float(generator.choice([0.0, -3.0, last / 2, last]))
    grid = np.unique(np.round(first + span * generator.random(number + 1) * generator.choice([0.3, 1.0, 2.0]), 2))
    if generator.random() < 0.3:
        grid = np.unique(np.concatenate((grid, [job.arrival_s for job in instance.jobs])))
    scale = generator.choice([0.05, 0.5, 2.0, 30.0]) / instance.units
    prices = np.round(
        scale * generator.random(max(0, len(grid) - 1)) * (generator.random(max(0, len(grid) - 1)) < 0.8), 3
    )
    return grid.tolist(), prices.tolist()


def cheapest(times_s, pause_s, tick_s, paid_s, first=0):
    """Least seconds from slot ``first`` to the end, plus what the slots cost.

    ``times_s`` are seconds of the whole work by count, ``paid_s(slot, count)`` what a slot costs; from slot 6 on it costs
    nothing, and jobs run at their fastest there, or on what they hold: no plan is better then.
    """
    tick_s, fastest = Fraction(tick_s), min(times_s.values())

    @cache
    def least(slot, left, held):
        """``held`` is None before the job has run, 0 while it is stopped."""
        if slot == 6:
            anew = left * fastest + (0 if held is None else pause_s)
            return min(anew, left * times_s[held]) if held else anew
        costs = [tick_s + least(slot + 1, left, held and 0)]
        for count, time_s in times_s.items():
            pause = pause_s if held is not None and held != count else 0
            if pause + left * time_s <= tick_s:
                costs.append(paid_s(slot, count) + pause + left * time_s)
            else:
                done = Fraction(max(0, tick_s - pause)) / time_s
                costs.append(paid_s(slot, count) + tick_s + least(slot + 1, left - done, count))
        return min(costs)

    return least(first, Fraction(1), None)
