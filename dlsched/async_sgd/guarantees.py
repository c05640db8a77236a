"""What the heuristics promise, as data: for which instances, and how bad an objective keeps the promise."""

from dlsched.async_sgd.instance import Instance
from dlsched.core.family import Guarantee

MARGINAL = Guarantee[Instance]("optimal (Fox 1966)", lambda instance: True, lambda instance, optimum: optimum)
