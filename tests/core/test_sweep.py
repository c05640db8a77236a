"""The sweep finds the first time in which more is held than there is."""

from dlsched.core.sweep import first_excess


def test_what_is_released_is_there_for_others():
    """Two after two on two units fit; with one more in between three are held."""
    after = [(0.0, 2, 0.0), (1.0, -2, 1.0), (1.0, 2, 1.0), (2.0, -2, 2.0)]
    assert first_excess(after, 2) is None
    between = sorted([*after, (0.5, 1, 0.5), (0.75, -1, 0.75)])
    assert first_excess(between, 2) == (3, 0.5, 0.75)
