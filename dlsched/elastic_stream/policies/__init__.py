"""Policies of elastic_stream: the simulator asks them at every event, and they know the present only."""

from dlsched.elastic_stream.policies.gains import Doubling, Exploratory, Marginal, Myopic
from dlsched.elastic_stream.policies.orders import ORDERS, EqualShare, Fastest, Fixed, Knee, Queue
from dlsched.elastic_stream.policies.prices import Priced, Weighted

__all__ = [
    "ORDERS",
    "Doubling",
    "EqualShare",
    "Exploratory",
    "Fastest",
    "Fixed",
    "Knee",
    "Marginal",
    "Myopic",
    "Priced",
    "Queue",
    "Weighted",
]
