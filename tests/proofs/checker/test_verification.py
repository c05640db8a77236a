"""What a proof says of an answer, where the objective is only the first of several values."""

from pathlib import Path

import dlsched
from dlsched.proofs.verification import verify_alone
from dlsched.ring_embedding import generate


def test_a_proof_of_the_least_utility_says_nothing_of_the_next_ones(tmp_path: Path) -> None:
    """Of max_min the model has the least utility only: no answer is called optimal by it."""
    instance = generate(preset="fair", jobs=2, servers=2, slots=2, seed=1)
    assert instance.objective == "max_min"
    proof = dlsched.prove(instance, tmp_path / "least.vipr")
    assert proof.status == "optimal"
    found, fields = verify_alone(tmp_path / "least.vipr", instance)
    assert found.failures == []
    sentence = found.verified[-1]
    assert sentence.startswith(
        "verified: optimal in its objective (utility, the least of a job), not in what comes next"
    )
    assert fields is not None and fields["closed"] and not fields["optimal"]
