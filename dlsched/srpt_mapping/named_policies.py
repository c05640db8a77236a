"""The policies by the names of their methods, which the catalogue lists."""

from collections.abc import Callable

from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.srpt_mapping.solution import Schedule

POLICIES: dict[str, Callable[..., Schedule | None]] = dict(LISTED.functions("heuristic"))
"""From an instance to a schedule; ``tick`` is called while they run."""
