"""Simulated annealing over orders.

A step moves one entry of the order to another position, at most a quarter of the length away. A worse order is accepted
with probability exp(-increase / temperature); the temperature falls linearly to 0.

Source of the method: Kirkpatrick, Gelatt, Vecchi 1983.
"""

import math
from collections.abc import Callable

import numpy as np

from dlsched.core.elementary import exp


def anneal_orders(
    order: list[int],
    cost: Callable[[list[int], float], float],
    generator: np.random.Generator,
    *,
    tries: int,
    temperature: float,
) -> None:
    """Walk from an order to cheaper ones, for ``tries`` orders; the caller keeps the best through ``cost``.

    ``cost`` gets an order and the cost of the order that it would replace (infinite at first); ``temperature`` of the
    first step is a multiple of the cost of the first order.

    >>> best = []
    >>> anneal_orders([2, 1, 0], lambda order, now: best.append(order) or 1.0, np.random.default_rng(0), tries=1, temperature=1)
    >>> best
    [[2, 1, 0]]
    """
    first = now = math.inf
    for step in range(tries):
        tried = _moved(order, generator) if step else order
        found = cost(tried, now)
        first = found if step == 0 else first
        heat = temperature * first * (1 - step / tries)
        if found <= now or generator.random() < exp((now - found) / heat):
            order, now = tried, found


def _moved(order: list[int], generator: np.random.Generator) -> list[int]:
    """The order with one entry moved."""
    count = len(order)
    index = int(generator.integers(count))
    distance = int(generator.integers(1, max(2, count // 4 + 1))) * (1 if generator.random() < 0.5 else -1)
    changed = [*order[:index], *order[index + 1 :]]
    changed.insert(min(count - 1, max(0, index + distance)), order[index])
    return changed
