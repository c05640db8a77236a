"""Random draws: how many are enough to hit the best part, and an unbiased draw below any integer.

Let the best part of all that can be drawn have probability q under the law of the draws. N independent draws
all miss it with probability (1 - q)^N, which is at most delta from N = ln(delta) / ln(1 - q) on, and so from
N = ln(1 / delta) / q. Draws that take turns between two laws miss it at most as often as draws from their
mean, since (1 - q_1)(1 - q_2) <= (1 - (q_1 + q_2) / 2)^2.
"""

import math

import numpy as np

from dlsched.core.elementary import log, log1p
from dlsched.core.errors import UsageError


def draws_needed(q: float, delta: float) -> int:
    """Return the least N with (1 - q)^N <= delta.

    ``UsageError``: ``q`` or ``delta`` is not between 0 and 1.

    >>> draws_needed(0.01, 0.01)
    459
    """
    for name, value in (("q", q), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(where=name, found=value, allowed="a number between 0 and 1")
    return math.ceil(log(delta) / log1p(-q))


def draw_below(count: int, generator: np.random.Generator) -> int:
    """Draw a number from 0 to count - 1, all exactly equally likely, by drawing bits until it is in range.

    >>> draw_below(10**40, np.random.default_rng(0)) < 10**40
    True
    """
    bits = (count - 1).bit_length()
    width = -(-bits // 8)
    while True:
        rank = int.from_bytes(generator.bytes(width), "little") >> (8 * width - bits)
        if rank < count:
            return rank
