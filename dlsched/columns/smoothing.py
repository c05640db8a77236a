"""Smoothing of dual prices, which swing with few columns: trials between them and the best (Wentges 1997)."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dlsched.core.status import Sense

Floats = npt.NDArray[np.float64]


class Smoothing:
    """The best known prices, and the bound that they prove.

    ``sense`` of the program: bounds of a minimised program are better when larger. ``guess``: prices without a known
    bound, tried before all others. ``part``: share of the best prices in the trials.
    """

    def __init__(self, sense: Sense = Sense.MINIMIZE, guess: Floats | None = None, *, part: float = 0.5) -> None:
        self._sense, self._part, self._guess = sense, part, guess
        self.center = guess
        self.bound = -np.inf if sense is Sense.MINIMIZE else np.inf

    def between(self, prices: Floats) -> Floats:
        """Prices between the best known, if any, and these."""
        return prices if self.center is None else self._part * self.center + (1 - self._part) * prices

    def trials(self, prices: Floats) -> Iterator[Floats]:
        """Yield prices to try until one brings a column: a guess, those between, and at last ``prices`` themselves."""
        if self._guess is not None:
            guess, self._guess = self._guess, None
            yield guess
        if self.center is not None:
            yield self.between(prices)
        yield prices

    def keep(self, prices: Floats, bound: float) -> bool:
        """Keep prices as the best known if their bound is the best; return whether it is."""
        if not self._sense.better(self.bound, bound):
            return False
        self.bound, self.center = bound, prices
        return True
