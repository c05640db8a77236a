"""Tables of speeds: what they hold and what they take as keys."""

import struct

import numpy as np
import pytest

from dlsched.cluster.speed_table import SpeedTable
from dlsched.core.messages import Refused


def test_times_as_doubles():
    """In the order of the counts, whole numbers included."""
    table = SpeedTable({"4": 1, "1": 9.5, "2": 0.1})
    assert table.times_s == (9.5, 0.1, 1.0)
    assert struct.unpack("3d", table.packed) == (9.5, 0.1, 1.0)


@pytest.mark.parametrize("keys", [("1", "2"), (1, 2), ("1", 2), (np.int64(1), np.int32(2))])
def test_keys_are_text_or_integers(keys):
    """Whichever was met first."""
    for _ in range(2):
        assert SpeedTable(dict(zip(keys, (3.0, 2.0), strict=True))).counts == (1, 2)
        assert SpeedTable({"1": 3.0, "2": 2.0}).counts == (1, 2)


@pytest.mark.parametrize("keys", [(1.0, 2), (True, 2), ("1", 1), (None, "2"), ((1,), "2")])
def test_other_keys_are_refused(keys):
    """Also where equal ones were taken before."""
    SpeedTable({1: 3.0, 2: 2.0})
    SpeedTable({"1": 3.0, "2": 2.0})
    with pytest.raises(Refused):
        SpeedTable(dict(zip(keys, (3.0, 2.0), strict=True)))
