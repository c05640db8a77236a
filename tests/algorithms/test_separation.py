"""Jobs that cannot meet: by hand, with what is just a part of its own and what is not."""

from dlsched.algorithms.separation import separated


def test_one_part_without_room_between():
    """A second to spare in the sum of flow times is as long as the gap."""
    assert separated([0.0, 3.0], [2.0, 2.0], [3.0, 3.0]) == [[0, 1]]


def test_parts_part_again():
    """All three together have 2 s to spare; the last two on their own have none."""
    assert separated([0.0, 5.0, 7.5], [2.0, 2.0, 2.0], [4.0, 2.0, 2.0]) == [[0], [1], [2]]


def test_parts_are_in_order_of_release():
    """Jobs stand in any order."""
    assert separated([50.0, 0.0, 100.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == [[1], [0], [2]]
