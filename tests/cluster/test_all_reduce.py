"""The all-reduce costs against hand calculation and against a step-by-step count of the messages."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster import Link, halving_doubling, ring

LINK = Link(latency_s=1.0, transfer_s_per_byte=0.5, reduction_s_per_byte=0.25)
rates = st.floats(0, 1e3)
links = st.builds(Link, latency_s=rates, transfer_s_per_byte=rates, reduction_s_per_byte=rates)
sizes = st.floats(0, 1e9)


def test_ring_by_hand():
    """Ring on 4 GPUs, 100 bytes: 6 messages, 150 bytes sent, 75 bytes added."""
    assert ring(4, 100.0, LINK) == 6 * 1.0 + 150 * 0.5 + 75 * 0.25


def test_halving_doubling_by_hand():
    """8, 9 and 16 GPUs, 64 bytes: 6, 9 and 8 messages, 112, 256 and 120 bytes sent, 56, 96 and 60 bytes added.

    3 GPUs, the fewest that are no power of two, 10 bytes: floor(log2 3) = 1, so 5 messages, 40 bytes sent, 15 added.
    """
    assert halving_doubling(3, 10.0, LINK) == 5 * 1.0 + 40 * 0.5 + 15 * 0.25
    assert halving_doubling(8, 64.0, LINK) == 6 * 1.0 + 112 * 0.5 + 56 * 0.25
    assert halving_doubling(9, 64.0, LINK) == 9 * 1.0 + 256 * 0.5 + 96 * 0.25
    assert halving_doubling(16, 64.0, LINK) == 8 * 1.0 + 120 * 0.5 + 60 * 0.25


@given(links, sizes)
@settings(derandomize=True, deadline=None)
def test_one_gpu_costs_nothing(link, size_bytes):
    """On one GPU there is nothing to reduce."""
    assert ring(1, size_bytes, link) == 0
    assert halving_doubling(1, size_bytes, link) == 0


@given(st.integers(2, 50), sizes, links)
@settings(derandomize=True, deadline=None)
def test_ring_is_the_sum_of_its_steps(gpus, size_bytes, link):
    """Adding up w - 1 steps that send and add n/w bytes and w - 1 that only send them gives the formula."""
    block = size_bytes / gpus
    step = link.latency_s + block * link.transfer_s_per_byte
    steps = [step + block * link.reduction_s_per_byte] * (gpus - 1) + [step] * (gpus - 1)
    assert ring(gpus, size_bytes, link) == pytest.approx(math.fsum(steps), rel=1e-9)


@given(st.integers(0, 12), sizes, links)
@settings(derandomize=True, deadline=None)
def test_halving_doubling_is_the_sum_of_its_steps(log2, size_bytes, link):
    """On 2^k GPUs, k steps send and add n/2, n/4 ... bytes, and k steps send them back."""
    blocks = [size_bytes / 2**step for step in range(1, log2 + 1)]
    there = [link.latency_s + block * (link.transfer_s_per_byte + link.reduction_s_per_byte) for block in blocks]
    back = [link.latency_s + block * link.transfer_s_per_byte for block in blocks]
    assert halving_doubling(2**log2, size_bytes, link) == pytest.approx(math.fsum(there + back), rel=1e-9)


@given(st.integers(1, 4096), sizes, links)
@settings(derandomize=True, deadline=None)
def test_away_from_powers_of_two_is_never_cheaper(gpus, size_bytes, link):
    """Any count needs at least the time of the largest power of two that it holds."""
    below = max(2**k for k in range(13) if 2**k <= gpus)
    assert halving_doubling(gpus, size_bytes, link) >= halving_doubling(below, size_bytes, link) * (1 - 1e-12)


@pytest.mark.parametrize("field", ["latency_s", "transfer_s_per_byte", "reduction_s_per_byte"])
@pytest.mark.parametrize("value", [-1e-9, math.inf, math.nan])
def test_link_names_the_wrong_field(field, value):
    """A negative or infinite field is refused by its name."""
    fields = {"latency_s": 0.0, "transfer_s_per_byte": 0.0, "reduction_s_per_byte": 0.0, field: value}
    with pytest.raises(ValueError, match=field):
        Link(**fields)


@pytest.mark.parametrize("cost", [ring, halving_doubling])
def test_wrong_counts_and_sizes_are_refused(cost):
    """No GPU, a negative or infinite size, and a fractional count are refused."""
    with pytest.raises(ValueError, match="gpus is 0"):
        cost(0, 1.0, LINK)
    for size_bytes in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="size_bytes"):
            cost(2, size_bytes, LINK)
    with pytest.raises(TypeError):
        cost(2.5, 1.0, LINK)
