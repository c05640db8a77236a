"""What the tests of this folder share: every policy fresh, and streams written out by hand."""

from dlsched.elastic_stream import Instance
from dlsched.elastic_stream.policies import (
    ORDERS,
    Doubling,
    EqualShare,
    Exploratory,
    Fastest,
    Fixed,
    Knee,
    Marginal,
    Myopic,
    Priced,
    Queue,
    Weighted,
)

SIZES = {"fixed": Fixed(2), "fastest": Fastest(), "knee": Knee()}
POLICIES = {
    "doubling": Doubling,
    "myopic": Myopic,
    "weighted": Weighted,
    "priced": Priced,
    "exploratory": lambda: Exploratory((1, 2, 4), 7.0),
    **{f"{order}-equal": lambda order=order: EqualShare(order) for order in ORDERS},
    **{f"{order}-marginal": lambda order=order: Marginal(order) for order in ORDERS},
    **{
        f"{order}-{name}": lambda order=order, size=size: Queue(order, size)
        for order in ORDERS
        for name, size in SIZES.items()
    },
}


def stream(*jobs, units=4, **fields):
    """An instance; each job is its arrival, epochs and times by count, and further fields."""
    drawn = [
        {"id": f"j{index}", "arrival_s": arrival, "epochs": epochs, "epoch_time_s": times, **further}
        for index, (arrival, epochs, times, further) in enumerate((*job, {})[:4] for job in jobs)
    ]
    return Instance(name="by hand", units=units, jobs=drawn, **fields)
