"""All rings of a job in a forest whose price is within a slack of the least, by size.

f_v(k): the least price of k workers below node v, links crossed on the way up included. A part below v of a ring within the
slack costs at most f_v(k) + slack: else the cheapest part in its place would make a ring cheaper than the least. So parts
above that are dropped, node by node; what is left at the end is every ring within the slack.
"""

from collections.abc import Sequence

import numpy as np

from dlsched.algorithms.utility_table import Floats
from dlsched.ring_embedding.rings.network import Network, Workers

Part = tuple[float, tuple[tuple[int, int], ...]]
"""A price, and servers with their workers."""


class TooMany(Exception):  # noqa: N818  a signal, not an error
    """More parts than the caller wants to see."""


def near_rings(
    network: Network, job: int, server: Floats, link: Floats, least: Floats, most: Sequence[float], limit: int
) -> list[tuple[float, Workers]]:
    """Return prices and workers of all rings of n workers that cost at most ``most[n]``, for every n >= 1.

    Parameters
    ----------
    server, link
        Price of a worker on every server, shape (S,), and of 1 B/s on every directed link, shape (D,).
    least
        The least price by number of workers, as ``ForestPrices`` finds it.
    most
        By number of workers; -inf for sizes that are not wanted; ``most[0]`` is not used.
    limit
        Of the parts of any node and of the rings.

    Raises
    ------
    TooMany
        There are more.
    """
    found: list[tuple[float, Workers]] = []
    for size in range(1, len(most)):
        if np.isfinite(most[size]) and float(least[size]) <= most[size]:
            slack = most[size] - float(least[size])
            rings = _of_size(network, job, server, link, size, slack, limit)
            found += [(price, dict(part)) for price, part in rings if price <= most[size]]
            if len(found) > limit:
                raise TooMany
    return found


def _of_size(
    network: Network, job: int, server: Floats, link: Floats, size: int, slack: float, limit: int
) -> list[Part]:
    """Every ring of this size within the slack, and some beyond it."""
    below: list[list[list[Part]] | None] = [None] * len(network.above)
    rings: list[Part] = []
    for node in range(len(below) - 1, -1, -1):
        network.tick()
        held = below[node]
        host = network.hosted.get(node)
        if host is not None:
            room = min(int(network.fits[job, host]), size)
            own: list[list[Part]] = [[(0.0, ())]]
            for k in range(1, size + 1):
                own.append([(k * float(server[host]), ((host, k),))] if k <= room else [])
            held = own if held is None else _joined(network, held, own, slack, limit)
        below[node] = None
        if held is None:
            continue
        rings += held[size]
        above, upward = network.above[node], network.upward[node]
        if above < 0 or network.load[job] > min(network.bandwidth[upward], network.bandwidth[upward ^ 1]):
            continue
        crossing = network.load[job] * float(link[upward] + link[upward ^ 1])
        given = [[(price + (crossing if k else 0.0), part) for price, part in held[k]] for k in range(size)] + [[]]
        beside = below[above]
        below[above] = given if beside is None else _joined(network, beside, given, slack, limit)
    return rings


def _joined(
    network: Network, first: list[list[Part]], second: list[list[Part]], slack: float, limit: int
) -> list[list[Part]]:
    """Parts of both together, those beyond the slack dropped."""
    size = len(first) - 1
    together: list[list[Part]] = []
    for k in range(size + 1):
        pairs = [(a, k - a) for a in range(k + 1) if first[a] and second[k - a]]
        if not pairs:
            together.append([])
            continue
        bar = min(first[a][0][0] + second[b][0][0] for a, b in pairs) + slack
        kept = []
        for a, b in pairs:
            network.tick()
            for price, part in first[a]:
                if price + second[b][0][0] > bar:
                    break
                for other, rest in second[b]:
                    if price + other > bar:
                        break
                    kept.append((price + other, part + rest))
            if len(kept) > limit:
                raise TooMany
        together.append(sorted(kept))
    return together
