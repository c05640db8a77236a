"""The policies by the names of their methods, which the catalogue lists."""

from collections.abc import Callable

from dlsched.catalogue.elastic_stream import LISTED
from dlsched.elastic_stream.solution import Stream

POLICIES: dict[str, Callable[..., Stream | None]] = dict(LISTED.functions("heuristic"))
"""From an instance to a stream."""
