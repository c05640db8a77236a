"""A search beside a proof: the proof's instance where it is as bad, and a contradiction is an error."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dlsched import DisagreementError, find_worst
from dlsched.worst.proofs import with_proofs
from dlsched.worst.proving import prove


def test_a_proof_beside_a_search() -> None:
    """Two jobs on 5 GPUs: 5/4, whatever a few evaluations find."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, gpus=5, budget=20)
    proof = prove("ring_allocation", "doubling", jobs=2, gpus=5)
    shown = with_proofs(worst, proof)
    assert (shown.ratio, shown.found, shown.as_data()["proven"]) == (1.25, worst.found, "5/4")
    assert shown.objective == 1.25 * shown.reference
    assert shown.instance.sha256 == proof.instance.sha256
    assert shown.instance.source == f"{worst.command} --prove: doubling 1.25"
    assert shown.as_data()["proof"] == proof.as_data()
    assert "proof" not in worst.as_data()


def test_what_is_worse_than_the_supremum_is_an_error() -> None:
    """One of the two is wrong."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, gpus=5, budget=20)
    proof = prove("ring_allocation", "doubling", jobs=2, gpus=5)
    with pytest.raises(DisagreementError, match=r"1\.3 was found, but 5/4 is proven to be the supremum"):
        with_proofs(replace(worst, ratio=1.3), proof)
    with pytest.raises(DisagreementError, match="without bound was found"):
        with_proofs(replace(worst, ratio=None), proof)
    bounded = with_proofs(replace(worst, ratio=1.3, reference_kind="bound"), proof)  # at most 1.3: no contradiction
    assert (bounded.ratio, bounded.reference_kind) == (1.25, "optimum")


def test_the_largest_supremum_is_shown() -> None:
    """All counts of 6 GPUs: one job is worse than two, 3/2 and 5/4; each holds for its own number."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, gpus=6, budget=20, counts="all")
    jobs = len(worst.instance.as_data()["jobs"])
    two, one = (prove("ring_allocation", "doubling", jobs=many, gpus=6, counts="all") for many in (2, 1))
    shown = with_proofs(worst, two, one)
    assert (shown.proof, shown.proofs, shown.ratio) == (one, (one, two), 1.5)
    above = {1: 1.6, 2: 1.3}[jobs]
    with pytest.raises(DisagreementError, match=f"is proven to be the supremum of {jobs} job"):
        with_proofs(replace(worst, ratio=above), two, one)


def test_an_instance_of_the_search_stays_where_it_is_worse() -> None:
    """A proof may show an instance that only comes near its supremum."""
    worst = find_worst("ring_allocation", "doubling", jobs=2, gpus=5, budget=200)
    proof = replace(prove("ring_allocation", "doubling", jobs=2, gpus=5), supremum=Fraction(2))
    kept = with_proofs(replace(worst, ratio=1.5), proof)
    assert (kept.ratio, kept.instance.sha256) == (1.5, worst.instance.sha256)
    assert kept.instance.source.startswith(f"{worst.command} --prove: ")
