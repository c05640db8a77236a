"""What two nodes tell of a job: by hand, and that true throughputs lie in what is left open."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.async_sgd import Job, Range, batches_per_s, refine, two_nodes
from dlsched.core.errors import UsageError

SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)


def profile(steps, **fields):
    """S / B = .08 s."""
    return two_nodes(steps, parameter_bytes=8e6, bandwidth_bytes_per_s=1e8, **fields)


def test_sum_is_identified_and_the_split_is_not():
    """A step of .42 s less .16 s of transfers: .26 s of computation and update, in any proportion."""
    found = profile([0.42])
    assert found.transfer_s == pytest.approx(0.16)
    assert found.update_s == pytest.approx(Range(0.0, 0.26))
    assert found.compute_s == pytest.approx(Range(0.0, 0.26))


def test_a_measured_update_closes_the_split():
    """The check values of the formulation: Z = .25, D = (.08, .08, .01)."""
    found = profile([0.42], update_s=0.01)
    assert found.compute_s == pytest.approx(Range(0.25, 0.25))
    for workers, expected in {1: 2.381, 2: 4.437, 4: 7.511, 8: 10.335, 16: 11.59, 32: 12.08}.items():
        lower, upper = found.throughput(workers)
        assert lower == upper == pytest.approx(expected, abs=5e-4)


def test_open_split_by_hand():
    """Without transfers, step 1 s, two workers: all computing 2 a second; all update 1 a second."""
    found = two_nodes([1.0], parameter_bytes=0, bandwidth_bytes_per_s=1)
    assert found.throughput(1) == pytest.approx((1.0, 1.0))
    assert found.throughput(2) == pytest.approx((1.0, 2.0))


def test_confidence_interval_of_steps_by_hand():
    """Four steps of mean .5, standard deviation .02 sqrt(2/3): t(.975, 3) = 3.182446 times that over sqrt(4)."""
    found = two_nodes([0.48, 0.5, 0.5, 0.52], parameter_bytes=0, bandwidth_bytes_per_s=1, update_s=0.1)
    half = 3.182446 * 0.02 * math.sqrt(2 / 3) / 2
    assert found.step_s == pytest.approx(Range(0.5 - half, 0.5 + half), rel=1e-6)
    assert found.compute_s == pytest.approx(Range(0.4 - half, 0.4 + half), rel=1e-6)
    lower, upper = found.throughput(1)
    assert (lower, upper) == pytest.approx((1 / (0.5 + half), 1 / (0.5 - half)), rel=1e-6)


JOBS = st.builds(
    Job,
    id=st.just("a"),
    epochs=st.just(1.0),
    dataset_examples=st.just(1.0),
    batch_examples=st.just(1.0),
    parameter_bytes=st.sampled_from([0.0, 1e6, 1e8]),
    bandwidth_bytes_per_s=st.sampled_from([1e8, 1e9]),
    compute_s=st.sampled_from([0.01, 0.25, 3.0]),
    update_s=st.sampled_from([0.0, 1e-3, 0.1, 2.0]),
    shards=st.integers(1, 3),
    duplex=st.sampled_from(["full", "half"]),
)


@SETTINGS
@given(JOBS, st.integers(1, 30))
def test_true_throughput_lies_in_the_interval(job, workers):
    """Whatever the split was; with the update measured it is the end of both."""
    measured = {"parameter_bytes": job.parameter_bytes, "bandwidth_bytes_per_s": job.bandwidth_bytes_per_s}
    servers = {"shards": job.shards, "duplex": job.duplex}
    truth = batches_per_s(job, workers)
    lower, upper = two_nodes([job.cycle_s], **measured).throughput(workers, **servers)
    assert lower * (1 - 1e-9) <= truth <= upper * (1 + 1e-9)
    assert two_nodes([job.cycle_s], **measured, update_s=job.update_s).throughput(workers, **servers) == pytest.approx(
        (truth, truth), rel=1e-9
    )


@SETTINGS
@given(JOBS, st.integers(2, 12))
def test_more_workers_identify_the_split(job, workers):
    """From the true throughput of more workers the update is found as well as rounding lets it."""
    step = two_nodes(
        [job.cycle_s], parameter_bytes=job.parameter_bytes, bandwidth_bytes_per_s=job.bandwidth_bytes_per_s
    )
    servers = {"shards": job.shards, "duplex": job.duplex}
    lower, upper = step.throughput(workers, **servers)
    truth = min(max(batches_per_s(job, workers), lower), upper)
    found = refine(step, workers, truth, **servers)
    assert found.throughput(workers, **servers) == pytest.approx((truth, truth), rel=1e-9)
    for other in (2, 3, 20):
        expected = batches_per_s(job, other)
        assert found.throughput(other, **servers) == pytest.approx((expected, expected), rel=1e-5)


def test_a_throughput_that_no_split_explains_is_refused():
    """The message says which throughputs some split explains."""
    step = two_nodes([1.0], parameter_bytes=0, bandwidth_bytes_per_s=1)
    with pytest.raises(UsageError, match=r"throughput_per_s: found 2.5 of 2 workers, allowed: 1 to 2"):
        refine(step, 2, 2.5)
    with pytest.raises(UsageError, match="workers: found 1, allowed: an integer >= 2"):
        refine(step, 1, 1.0)


def test_steps_shorter_than_their_transfers_are_refused():
    """The bandwidth cannot be what it is said to be; nor servers of another kind than there are."""
    with pytest.raises(UsageError, match=r"found a mean of 0.1 s, allowed: more than the 0.16 s"):
        profile([0.1])
    with pytest.raises(UsageError, match=r"allowed: more than the 0.46 s"):
        profile([0.42], update_s=0.3)
    with pytest.raises(UsageError, match="shards: found 0"):
        profile([0.42]).throughput(2, shards=0)
    with pytest.raises(UsageError, match="duplex: found 'hlaf', allowed: 'full' or 'half'"):
        profile([0.42]).throughput(2, duplex="hlaf")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"step_times_s": []}, "step_times_s"),
        ({"step_times_s": [1.0, 0.0]}, "step_times_s"),
        ({"step_times_s": [math.inf]}, "step_times_s"),
        ({"step_times_s": [1e308, 1e308]}, "step_times_s"),
        ({"parameter_bytes": -1.0}, "parameter_bytes"),
        ({"bandwidth_bytes_per_s": 0.0}, "bandwidth_bytes_per_s"),
        ({"update_s": -0.1}, "update_s"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_numbers_out_of_range(fields, message):
    """Named."""
    usual = {"step_times_s": [1.0], "parameter_bytes": 0.0, "bandwidth_bytes_per_s": 1.0}
    with pytest.raises(UsageError, match=f"{message}: found"):
        two_nodes(**(usual | fields))


def test_steps_that_may_take_no_time():
    """An interval that reaches below 0 leaves the throughput without an upper end; a measured update gives it one."""
    scattered = two_nodes([0.1, 2.0], parameter_bytes=0, bandwidth_bytes_per_s=1)
    assert scattered.step_s.low < 0
    assert scattered.throughput(2).upper == math.inf
    measured = two_nodes([0.1, 2.0], parameter_bytes=0, bandwidth_bytes_per_s=1, update_s=0.05)
    assert measured.throughput(3).upper == pytest.approx(20.0)


def test_a_mean_below_the_transfers_cannot_be_refined():
    """Though its interval reaches above them."""
    step = two_nodes([0.5, 0.9, 0.2], parameter_bytes=0.3, bandwidth_bytes_per_s=1)
    with pytest.raises(UsageError, match=r"profile: found a mean step of 0.533333 s, allowed: more than 0.6 s"):
        refine(step, 2, 2.0)
