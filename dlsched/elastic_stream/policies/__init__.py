"""Policies of elastic_stream: the simulator asks them at every event, and they know the present only."""

from dlsched.elastic_stream.policies.exploratory import Exploratory
from dlsched.elastic_stream.policies.gains import Doubling, Marginal, Myopic
from dlsched.elastic_stream.policies.orders import ORDERS
from dlsched.elastic_stream.policies.prices import Priced, Weighted
from dlsched.elastic_stream.policies.queue import EqualShare, Queue
from dlsched.elastic_stream.policies.sizes import Fastest, Fixed, Knee

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
