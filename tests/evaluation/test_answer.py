"""The answer in sentences, from figures by hand."""

import pytest

from dlsched.evaluation import answer
from dlsched.evaluation.clusters import HAPPENED

from .by_hand import cluster

SLOW, FAST = [3600.0 * hours for hours in (9, 10, 11, 9, 10, 11)], [3600.0 * hours for hours in (4, 5, 6, 4, 5, 6)]


def test_what_switching_saves_is_said_with_its_interval() -> None:
    """Five hours of every job: the interval has no width."""
    said = answer.saving(cluster({HAPPENED: SLOW, "fifo": SLOW, "sjf": FAST}))
    assert said.startswith(
        "On 8 GPUs, switching from `what happened` to `sjf` would have cut the mean waiting time from"
    )
    assert "and the mean time from submission to end from 10 h to 5 h for the 6 jobs" in said
    assert said.endswith("it saves 5 h a job (95 % interval: 5 h to 5 h; 6 windows).")


def test_the_answer_is_in_the_unit_of_the_mean_flow_time() -> None:
    """Waits, savings and the bound too, which alone would be in minutes; as the tables have it."""
    (fast,) = {flow_s - 3600.0 / 4 for flow_s in SLOW[:1]}
    told = cluster({HAPPENED: SLOW[:1] * 6, "sjf": [fast] * 6})
    assert "from 9 h to 8.75 h for the 6 jobs: it saves 0.25 h a job" in answer.saving(told)
    assert " min" not in answer.saving(told) + answer.distance(told)


def test_without_what_happened_the_first_policy_is_compared_with() -> None:
    """And where other jobs held much of the cluster; both are said."""
    alone = cluster({"fifo": SLOW, "sjf": FAST})
    assert "switching from `fifo` to `sjf`" in answer.saving(alone)
    assert answer.why_baseline(alone).endswith("so the comparison is with `fifo`.")
    shared = cluster({HAPPENED: SLOW, "fifo": SLOW, "sjf": FAST}, outside=0.3)
    assert "switching from `fifo` to `sjf`" in answer.saving(shared)
    assert answer.why_baseline(shared).startswith("What happened waited for the jobs that are not looked at too")
    assert answer.why_baseline(cluster({HAPPENED: SLOW, "fifo": SLOW})) == ""


def test_jobs_outside_are_in_the_sentences_that_they_touch() -> None:
    """Above 5 %, also where what happened is not known, in that on savings and in that on sizes; below it in neither."""
    flows = {"fifo": SLOW, "sjf": FAST}
    for known in ({}, {HAPPENED: SLOW}):
        today, small = cluster(known | flows, outside=0.376), cluster(flows, gpus=6, outside=0.5)
        held = "Jobs that are not looked at held 38 % of the GPU time that 8 GPUs have; here they take none."
        assert answer.saving(today).endswith(held)
        said = answer.smallest([today, small])
        assert "has 6 GPUs, with `sjf`. No room is kept for the jobs that are not looked at, which held 50 %" in said
        few = cluster(known | flows, outside=0.05)
        assert "not looked at" not in answer.saving(few) + answer.smallest([few, cluster(flows, gpus=6, outside=0.05)])
    none = answer.smallest([cluster(flows, outside=0.376), cluster({"fifo": [2 * each for each in SLOW]}, gpus=6)])
    assert none.endswith(
        "the smallest of these clusters on which a policy keeps it as short has 8 GPUs, with `sjf`. No room is "
        "kept for the jobs that are not looked at, which held 38 % of the GPU time that 8 GPUs have."
    )
    # where today's cluster is the smallest, as on the other one jobs wait longer, the share is that of today's
    said = answer.smallest([cluster({"fifo": FAST}, outside=0.1), cluster({"fifo": SLOW}, gpus=6, outside=0.12)])
    assert said.endswith("which held 10 % of the GPU time that 8 GPUs have.")


@pytest.mark.parametrize(
    ("count", "left", "whole"),
    [
        (1, "1 job on parts of GPUs is left", "1 job on parts of GPUs has"),
        (14, "14 jobs on parts of GPUs are left", "14 jobs on parts of GPUs have"),
    ],
)
def test_slices_are_in_the_sentences_that_they_touch(count: int, left: str, whole: str) -> None:
    """Left out, also where they held little; and whole, where the bound is one of such schedules."""
    flows = {"fifo": SLOW, "sjf": FAST}
    out = cluster(flows, left_out=count, least_flow_s=14400.0)
    assert f"{left} out, and take none here." in answer.saving(out)
    assert f"No room is kept for {left.partition(' on')[0]} on parts of GPUs" in answer.smallest(
        [out, cluster(flows, gpus=6, left_out=count)]
    )
    assert "part of a GPU" not in answer.distance(out)
    much = cluster(flows, left_out=count, outside=0.2)
    assert f"not looked at, {left.partition(' on')[0]} on parts of GPUs among them, held 20 %" in answer.saving(much)
    each = cluster(flows, whole=count, least_flow_s=14400.0)
    said = f"{whole} a whole one for every part here, which takes more of them."
    assert answer.saving(each).endswith(said) and answer.smallest([each, cluster(flows, gpus=6, whole=count)]).endswith(
        said
    )
    assert answer.distance(each).startswith("No schedule that gives every part of a GPU a whole one takes less than")


def test_limits_that_are_missing_are_said() -> None:
    """How many, and what stands for them."""
    assert answer.known(True, 830).endswith(
        "of 830 jobs whose users said nothing, the median of what was said in the same partition, or else in the file."
    )
    assert answer.known(True) == "Policies know of a job's length what its user said."
    assert "--estimates" in answer.known(False)


@pytest.mark.parametrize(
    ("flows", "words"),
    [
        (
            {HAPPENED: SLOW, "fifo": [each - 1 for each in SLOW]},
            ["would have saved next to nothing"],
        ),  # a second of 10 h
        (
            # gains and losses of hours, an hour better on average
            {HAPPENED: SLOW, "sjf": [each + 3600 * by for each, by in zip(SLOW, (-6, 5, -4, 5, -6, 0), strict=True)]},
            ["not statistically significant", "saved to", "lost"],
        ),
        ({HAPPENED: FAST, "fifo": SLOW}, ["no policy would have beaten `what happened`", "would have added 5 h a job"]),
        ({"fifo": FAST, "sjf": SLOW}, ["no other policy would have beaten `fifo`"]),
    ],
)
def test_savings_that_are_none(flows: dict[str, list[float]], words: list[str]) -> None:
    """Next to nothing, what cannot be told from chance, and policies that are worse are said to be that."""
    said = answer.saving(cluster(flows))
    assert all(word in said for word in words), said


def test_nobody_has_an_answer() -> None:
    """All policies failed, and nothing is known of what happened."""
    empty = cluster({"fifo": SLOW})
    empty.fates.clear()
    assert answer.saving(empty) == "On 8 GPUs no policy has an answer."
    assert answer.distance(empty) == answer.smallest([empty, empty]) == ""


def test_how_far_the_best_is_from_the_bound() -> None:
    """5 h are a quarter above 4 h, as good as 5 h, and without a bound nobody knows."""
    flows = {"fifo": SLOW, "sjf": FAST}
    assert answer.distance(cluster(flows, least_flow_s=14400.0)).endswith(
        "`sjf` is at most 25 % above the best possible."
    )
    assert answer.distance(cluster(flows, least_flow_s=18000.0)).startswith("That cannot be improved")
    assert answer.distance(cluster(flows)).startswith("No bound was proven")


def test_the_smallest_cluster_that_keeps_waiting_as_short() -> None:
    """Today 10 h on 8 GPUs; 6 GPUs do with the other policy, 4 do not; sizes need no order."""
    today, four, six = (
        cluster({HAPPENED: SLOW, "fifo": SLOW, "sjf": FAST}),
        cluster({"fifo": [2 * each for each in SLOW], "sjf": [3 * each for each in FAST]}, gpus=4),
        cluster({"fifo": [2 * each for each in SLOW], "sjf": SLOW}, gpus=6),
    )
    assert answer.smallest([today, four, six]).endswith("has 6 GPUs, with `sjf`.")
    assert answer.smallest([today]) == ""
    worse = cluster({"fifo": [2 * each for each in SLOW]}, gpus=8)
    assert answer.smallest([cluster({HAPPENED: FAST, "fifo": SLOW}), worse]).endswith(
        "no policy keeps it as short on any of these clusters."
    )


def test_users_who_gain_and_lose() -> None:
    """Ann gains five hours, Bob loses two, of Cid nothing changes; a job without a user counts for nobody."""
    before = [3600.0 * each for each in (20, 5, 5, 5, 5, 5)]
    after = [3600.0 * each for each in (10, 7, 5, 5, 5, 5)]
    users = ("ann", "bob", "cid", "cid", "cid", "")
    said = answer.winners(cluster({HAPPENED: before, "sjf": after}, users=users))
    assert said.startswith("Of 3 users") and "end of 1 and lengthens that of 1," in said
    assert answer.winners(cluster({"fifo": before, "sjf": after})) == "The trace names no users."
