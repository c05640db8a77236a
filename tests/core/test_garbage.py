"""Cycles are not collected within ``uncollected``, whatever ends it, and are again where they were before."""

import gc

import pytest

from dlsched.core.garbage import uncollected


@pytest.mark.parametrize("before", [True, False])
def test_collection_is_as_before(before):
    """Collection is off within, and afterwards as it was, also after an error."""
    was = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        with pytest.raises(ValueError, match="within"), uncollected():
            assert not gc.isenabled()
            raise ValueError("within")
        assert gc.isenabled() is before
    finally:
        (gc.enable if was else gc.disable)()
