"""Which prices are tried, and which are kept."""

import numpy as np

from dlsched.columns.smoothing import Smoothing
from dlsched.core.status import Sense


def tried(smoothing, prices):
    """All trials as lists."""
    return [trial.tolist() for trial in smoothing.trials(np.array(prices))]


def test_without_a_center_prices_themselves():
    """Nothing to be smoothed towards."""
    assert tried(Smoothing(), [4.0, 2.0]) == [[4.0, 2.0]]


def test_a_guess_comes_first_and_once():
    """Then what lies between, then the prices."""
    smoothing = Smoothing(guess=np.array([2.0]))
    assert tried(smoothing, [4.0]) == [[2.0], [3.0], [4.0]]
    assert tried(smoothing, [4.0]) == [[3.0], [4.0]]


def test_the_best_bound_is_the_center():
    """The largest of a program that is minimised, the least of one that is maximised; a tie keeps the first."""
    for sense, better, worse in ((Sense.MINIMIZE, 5.0, 4.0), (Sense.MAXIMIZE, 4.0, 5.0)):
        smoothing = Smoothing(sense, part=0.75)
        assert smoothing.keep(np.array([0.0]), better)
        assert not smoothing.keep(np.array([9.0]), worse)
        assert not smoothing.keep(np.array([9.0]), better)
        assert smoothing.bound == better
        assert smoothing.between(np.array([4.0])).tolist() == [1.0]
