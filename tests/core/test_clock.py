"""Clocks: what is counted from the first release, and put back on the clock of the file."""

import pytest

from dlsched.core.clock import from_the_first, put_back

UNIX = 1.7e9 + 0.1


def test_the_first_release_is_zero():
    """In any order, and exactly what floats subtract."""
    assert from_the_first([5.0, 3.0, 3.5]) == [2.0, 0.0, 0.5]
    assert from_the_first([UNIX]) == [0.0]


@pytest.mark.parametrize("release_s", [0.0, 3.0, UNIX])
def test_starts_at_the_release_come_back_in_the_same_bits(release_s):
    """A start at the release stays there, whatever rounding did on the way; none comes before its release."""
    releases = [release_s, release_s + 0.3]
    own = from_the_first(releases)
    assert put_back(releases, own, own) == releases
    later = put_back(releases, own, [0.0, own[1] + 1e-12])
    assert later[1] >= releases[1]
