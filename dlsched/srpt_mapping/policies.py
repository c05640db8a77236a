"""The policies by the name of their method."""

from collections.abc import Callable
from functools import partial

from dlsched.srpt_mapping.heuristics import PATIENT, a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.solution import Schedule

POLICIES: dict[str, Callable[..., Schedule | None]] = {
    "a-srpt": a_srpt,
    "a-srpt-strict": partial(a_srpt, waiting=None, speeds="low"),
    "a-srpt-backfill": partial(a_srpt, waiting=None, backfill=True),
    "a-srpt-compact": partial(a_srpt, waiting=None, backfill=True, place="compact"),
    "shortest-first": shortest_first,
    "shortest-backfill": partial(shortest_first, backfill=True),
    "least-work": least_work_first,
    "work-backfill": partial(least_work_first, backfill=True),
    "work-compact": partial(least_work_first, backfill=True, place="compact"),
    "work-patient": partial(least_work_first, place="compact", waiting=PATIENT),
    "fifo": fifo,
    "fifo-backfill": partial(fifo, backfill=True),
}
"""From an instance to a schedule; ``tick`` is called while they run."""

WARM = "work-compact"
"""The policy whose answer exact methods hold first."""
