"""One decision at a moment: where running jobs stand, who starts and where, who gets how many GPUs."""

from random import Random

import pytest

from dlsched.advice import DEFAULTS, LOOK_BACK, Advice, decide, standing
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.traces.queue import Queue, QueuedJob, QueueNode
from dlsched.traces.snapshot import snapshot

RUNS = (
    QueuedJob("r1", "", "", 0.0, 0.0, None, None, 4, nodes=("n1", "n2"), limit_s=200.0, state="RUNNING"),
    QueuedJob("r2", "", "", 5.0, 5.0, None, None, 1, nodes=("n2",), limit_s=300.0, state="RUNNING"),
)
WAITS = (
    QueuedJob("big", "", "", 10.0, None, None, None, 6, limit_s=50.0, state="PENDING"),
    QueuedJob("short", "", "", 20.0, None, None, None, 2, limit_s=10.0, state="PENDING"),
    QueuedJob("long", "", "", 15.0, None, None, None, 1, limit_s=400.0, state="PENDING"),
    QueuedJob("vast", "", "", 12.0, None, None, None, 9, limit_s=1.0, state="PENDING"),
)
NODES = (QueueNode("n1", 4), QueueNode("n2", 4))


def queue(*jobs: QueuedJob, nodes: tuple[QueueNode, ...] = NODES) -> Queue:
    """A snapshot, in seconds."""
    return Queue("csv", "jobs.csv", jobs or (*RUNS, *WAITS), (), dated=False, nodes=nodes)


def actions(advice: Advice) -> dict[str, tuple[str, int, dict[str, int], float | None]]:
    """By job: what, GPUs, nodes and when."""
    return {each.job: (each.action, each.gpus, dict(each.nodes), each.time_s) for each in advice.actions}


KEPT = {"r1": ("keep", 4, {"n1": 2, "n2": 2}, 100.0), "r2": ("keep", 1, {"n2": 1}, 100.0)}


def test_backfilling_by_the_shortest() -> None:
    """Of eight GPUs three are free, two on n1: short starts there, long beside it; big waits for r2 at 305 s, long runs on."""
    advice = decide(queue(), method="shortest-backfill", at_s=100.0)
    assert (advice.gpus, advice.free, advice.at_s) == (8, 3, 100.0)
    assert actions(advice) == KEPT | {
        "short": ("start", 2, {"n1": 2}, 100.0),
        "long": ("start", 1, {"n2": 1}, 100.0),
        # at 110 s short ends, at 200 s r1: six are free
        "big": ("wait", 6, {}, 200.0),
        "vast": ("wait", 9, {}, None),
    }
    assert "Jobs that need more than the 8 GPUs of the cluster, which wait for ever: 1." in advice.audit


def test_first_come_first_served() -> None:
    """Big is first and does not fit, so nothing starts before r1 ends at 200 s; then long beside it; short when big has ended."""
    assert actions(decide(queue(), method="fifo", at_s=100.0)) == KEPT | {
        "short": ("wait", 2, {}, 250.0),
        "long": ("wait", 1, {}, 200.0),
        "big": ("wait", 6, {}, 200.0),
        "vast": ("wait", 9, {}, None),
    }


def test_a_virtual_machine_looks_back() -> None:
    """On one GPU x of 100 s ran there from 0 s on, so y, of 50 s and from 60 s on, overtakes nothing: 40 s of x were left."""
    x = QueuedJob("x", "", "", 0.0, 0.0, 100.0, 100.0, 1)
    y = QueuedJob("y", "", "", 60.0, None, None, None, 1, limit_s=50.0)
    one = (QueueNode("n", 1),)
    # x completes at 100 s, y at 150 s; without x it would at 110 s
    assert actions(decide(queue(x, y, nodes=one), method="a-srpt", at_s=120.0))["y"] == ("wait", 1, {}, 150.0)
    assert actions(decide(queue(x, y, nodes=one), method="fifo", at_s=120.0))["y"] == ("start", 1, {"n": 1}, 120.0)
    assert actions(decide(queue(x, y, nodes=one), method="a-srpt", at_s=151.0))["y"] == ("start", 1, {"n": 1}, 151.0)
    assert {"a-srpt", "a-srpt-strict", "a-srpt-backfill", "a-srpt-compact"} == LOOK_BACK


def test_counts_of_the_moment() -> None:
    """Pinned: three GPUs are free, the first that fit are admitted; on any count of one or two as the optimum says."""
    found = actions(decide(queue(), family="ring_allocation", at_s=100.0, scaling="own"))
    assert found == KEPT | {
        "long": ("start", 1, {}, 100.0),
        "short": ("start", 2, {}, 100.0),
        "big": ("wait", 6, {}, None),
        "vast": ("wait", 9, {}, None),
    }


def test_counts_that_move() -> None:
    """Two jobs on four GPUs, in proportion, a of 90 s on three and b of 30 s on one; a gives nothing where a restart is dear."""
    a = QueuedJob("a", "", "", 0.0, 0.0, 190.0, 190.0, 3, least_gpus=1)
    b = QueuedJob("b", "", "", 50.0, None, None, None, 3, least_gpus=1, limit_s=30.0)
    four = (QueueNode("n", 4),)

    def given(restart_s: float) -> dict[str, tuple[str, int]]:
        options = {"family": "ring_allocation", "at_s": 100.0, "movable": True, "scaling": "own"}
        advice = decide(queue(a, b, nodes=four), restart_s=restart_s, **options)  # type: ignore[arg-type]
        return {each.job: (each.action, each.gpus) for each in advice.actions}

    # a: 270 / n, b: 90 / n GPU-seconds. 3 + 1: 90 + 90 = 180; 2 + 2: 135 + 45 + restart = 180 + restart; 1 + 3: 270 + 30
    assert given(1.0) == {"a": ("keep", 3), "b": ("start", 1)}
    # with b twice as long 3 + 1: 90 + 180 = 270; 2 + 2: 135 + 90 + restart = 225 + restart
    b = b._replace(limit_s=60.0)
    assert given(44.0) == {"a": ("resize", 2), "b": ("start", 2)}
    assert given(46.0) == {"a": ("keep", 3), "b": ("start", 1)}


def test_streams() -> None:
    """Pinned, the shortest first; movable, shortest remaining time first: r1 and r2 stop for what is shorter."""
    pinned = decide(queue(), family="elastic_stream", method="sjf-fastest", at_s=100.0, scaling="own")
    assert {each.job: each.action for each in pinned.actions} == {
        **{"r1": "keep", "r2": "keep", "short": "start", "long": "start", "big": "wait", "vast": "wait"}
    }
    moved = decide(queue(), family="elastic_stream", method="srpt-fastest", at_s=100.0, movable=True, scaling="own")
    # left: short 10, big 50, r1 100, r2 205, long 400 s; short and big hold all eight, r1 comes when short and big have ended
    assert actions(moved) == {
        "r1": ("stop", 0, {}, 100.0),
        "r2": ("stop", 0, {}, 100.0),
        "short": ("start", 2, {}, 100.0),
        "big": ("start", 6, {}, 100.0),
        "long": ("wait", 1, {}, 110.0),
        "vast": ("wait", 9, {}, None),
    }


def test_where_running_jobs_stand() -> None:
    """On their nodes, evenly; on the emptiest where these have no room or are not known; nodes are made up as far as needed."""
    jobs = (
        QueuedJob("a", "", "", 0.0, 0.0, None, None, 3, nodes=("n1", "n2")),
        QueuedJob("b", "", "", 0.0, 1.0, None, None, 7, nodes=("n1",)),
        QueuedJob("c", "", "", 0.0, 2.0, None, None, 4),
        QueuedJob("d", "", "", 0.0, None, None, None, 1, nodes=("n9",)),
    )
    bare = queue(*jobs, nodes=())
    now = standing(bare, snapshot(bare, 10.0), 20, 8)
    assert now.nodes == {"n1": 8, "n2": 8, "n9": 4}
    # a takes 2 + 1; n1 has 6 left, too few for b: n2 gives 7; c takes what is emptiest
    assert now.placed == {"a": {"n1": 2, "n2": 1}, "b": {"n2": 7}, "c": {"n1": 4}}
    assert now.free == {"n1": 2, "n2": 0, "n9": 4}
    assert now.audit[-1].endswith("assumed to stand on the emptiest: 2.")
    more = standing(bare, snapshot(bare, 10.0), 30, 8)
    assert more.nodes == {"n1": 8, "n2": 8, "n9": 8, "s0": 6}
    assert more.audit[-2] == "GPUs on unlisted nodes, 8 each: 6."
    # actions name no node that the file does not name, and none of a job that may be elsewhere
    assert [more.stays(name) for name in "abc"] == [{"n1": 2, "n2": 1}, {}, {}]
    assert (more.known({"n1": 1, "s0": 1}), more.known({"n1": 1})) == ({}, {"n1": 1})
    with pytest.raises(UsageError, match="gpus: found 13, allowed: at least 14, which jobs that run hold"):
        standing(bare, snapshot(bare, 10.0), 13, 8)


def test_listed_nodes() -> None:
    """Those on which jobs run are kept first where fewer GPUs are given."""
    at = snapshot(queue(RUNS[1]), 10.0)
    assert standing(queue(RUNS[1]), at, 5, 8).nodes == {"n2": 4, "n1": 1}


@pytest.mark.parametrize("family", DEFAULTS)
def test_every_family_decides_by_default(family: str) -> None:
    """Every job has one action, running ones first, at most as many GPUs as there are."""
    advice = decide(queue(), family=family, at_s=100.0)
    assert [each.job for each in advice.actions] == ["r1", "r2", "big", "vast", "long", "short"]
    assert sum(each.gpus for each in advice.actions if each.action != "wait") <= 8
    assert advice.method == DEFAULTS[family]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"family": "async_sgd"}, "family: found 'async_sgd', allowed: srpt_mapping, ring_allocation, elastic_stream"),
        ({"method": "nonsense"}, "method: found 'nonsense', allowed: exact"),
        ({"method": "length"}, "method: found 'length', which bounds"),
        ({"movable": True}, "movable: found True with srpt_mapping"),
        ({"restart_s": 5.0}, "restart: found 5.0 with srpt_mapping"),
        ({"scaling": "own"}, "scaling: found own with srpt_mapping"),
        ({"gpus_of_node": 0}, "gpus_of_node: found 0"),
        ({"gpus": 4}, "gpus: found 4, allowed: at least 5"),
        ({"family": "ring_allocation", "method": "lagrange"}, "method: found 'lagrange', which bounds"),
        ({"family": "ring_allocation", "method": "none"}, "method: found 'none', allowed: exact"),
        ({"family": "ring_allocation", "restart_s": -1.0}, "restart: found -1.0"),
        ({"family": "elastic_stream", "scaling": "x"}, "scaling: found 'x', allowed: published, own"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], said: str) -> None:
    """Is said."""
    with pytest.raises(UsageError) as raised:
        decide(queue(), at_s=100.0, **options)  # type: ignore[arg-type]
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("policy", POLICIES)
def test_starts_fit_beside_what_runs(policy: str) -> None:
    """On drawn queues: no node holds more than it has; backfilling leaves no job waiting for which enough GPUs are free."""
    for seed in range(12):
        draw = Random(seed)
        jobs = []
        for index in range(24):
            came = draw.uniform(0, 100)
            began = came + draw.uniform(0, 60) if draw.random() < 0.4 else None
            if began is not None and began > 100:
                began = None
            limit_s = draw.choice([5.0, 40.0, 90.0])
            gpus = draw.choice([1, 1, 2, 3])
            jobs.append(QueuedJob(f"j{index}", "", "", came, began, None, None, gpus, limit_s=limit_s))
        nodes = tuple(QueueNode(f"n{index}", size) for index, size in enumerate((8, 8, 4, 2)))
        drawn = queue(*jobs, nodes=nodes)
        advice = decide(drawn, method=policy, at_s=100.0)
        free = standing(drawn, snapshot(drawn, 100.0), 22, 8).free
        held = [each for each in advice.actions if each.action == "start"]
        begun = sum(job.gpus for job in jobs if job.start_s is not None)
        for each in held:
            assert sum(each.nodes.values()) == each.gpus
            for node, gpus in each.nodes.items():
                free[node] -= gpus
        assert min(free.values()) >= 0 and advice.free == 22 - begun
        left = 22 - begun - sum(each.gpus for each in held)
        assert left >= 0
        if policy.endswith(("-backfill", "compact")) and not policy.startswith("a-srpt"):
            assert all(each.gpus > left for each in advice.actions if each.action == "wait")


def test_pools_start_jobs_on_their_own_nodes() -> None:
    """Partition a has a node of four GPUs, b one of two; each decides by itself, so that b's queue is not held up by a's."""

    def job(name: str, pool: str, start_s: float | None, end_s: float | None, gpus: int, *nodes: str) -> QueuedJob:
        length_s = None if end_s is None or start_s is None else end_s - start_s
        came_s = 50.0 if start_s is None else start_s
        return QueuedJob(
            name, "", "", came_s, start_s, end_s, length_s, gpus, nodes=nodes, partition=pool, limit_s=100.0
        )

    jobs = (
        job("was a", "a", 0.0, 10.0, 4, "a0"),
        job("was b", "b", 0.0, 10.0, 2, "b0"),
        job("runs", "a", 20.0, None, 3, "a0"),
        job("first", "a", None, None, 2),
        job("second", "b", None, None, 2),
        job("third", "b,a", None, None, 1),
        job("large", "b", None, None, 3),
        job("lost", "c", None, None, 1),
    )
    advice = decide(queue(*jobs, nodes=()), method="fifo-backfill", at_s=60.0, gpus=8)
    assert (advice.gpus, advice.free) == (6, 3)
    # a has one GPU free until 120 s; b has no node for three GPUs, c none at all
    assert actions(advice) == {
        "runs": ("keep", 3, {"a0": 3}, 60.0),
        "first": ("wait", 2, {}, 120.0),
        "second": ("start", 2, {"b0": 2}, 60.0),
        "third": ("wait", 1, {}, 160.0),
        "large": ("wait", 3, {}, None),
        "lost": ("wait", 1, {}, None),
    }
    assert advice.audit[0] == "Warning: 8 GPUs are asked for, but the pools of the record have 6, which are used."
    assert "Jobs that wait for any of several partitions, assumed to wait for the first: 1." in advice.audit
    assert "Pool b: Jobs that need more than the 2 GPUs of the cluster, which wait for ever: 1." in advice.audit


@pytest.mark.parametrize(("ended", "action"), [(17, ("start", {"n1": 1, "n2": 1}, 60.0)), (18, ("wait", {}, 130.0))])
def test_jobs_start_on_as_few_nodes_as_the_record_shows(ended: int, action: tuple[str, dict[str, int], float]) -> None:
    """With the two that run, 20 jobs on several GPUs had one node each: the next does not start on a GPU of either node."""
    past = (QueuedJob(f"p{k}", "", "", k, k, k + 1.0, 1.0, 2, nodes=("n1",)) for k in range(ended))
    runs = (
        QueuedJob("r1", "", "", 30.0, 30.0, None, None, 3, nodes=("n1",), limit_s=100.0),
        QueuedJob("r2", "", "", 30.0, 30.0, None, None, 3, nodes=("n2",), limit_s=200.0),
    )
    waits = QueuedJob("next", "", "", 50.0, None, None, None, 2, limit_s=10.0)
    advice = decide(queue(*past, *runs, waits), method="fifo", at_s=60.0)
    assert actions(advice)["next"] == (action[0], 2, *action[1:])
    shown = "Placement is consolidated, as all jobs on several GPUs were on as few servers as hold them when empty: 20."
    assert (shown in advice.audit) == (action[0] == "wait")


def test_doubts_come_first() -> None:
    """Node n1 has four GPUs: over and twice cannot stand where they are said to; late is said to start at 200 s."""
    over = RUNS[0]._replace(id="over", nodes=("n1",), gpus=3)
    twice = RUNS[1]._replace(id="twice", nodes=("n2", "n2"))
    late = WAITS[1]._replace(id="late", start_s=200.0)
    advice = decide(queue(RUNS[0], over, twice, late), at_s=100.0)
    assert advice.audit[:3] == (
        "Warning: running jobs whose record names a node twice: 1.",
        "Warning: jobs that run on nodes on which others hold the GPUs that they would need: 1.",
        "Warning: jobs whose start is after that moment, assumed to wait: 1.",
    )


def test_doubts_of_all_pools_are_one_sentence() -> None:
    """In a and in b a job runs on a node that another holds; before them stands no note of what was read."""
    jobs = [
        QueuedJob(f"{pool}{index}", "", "", 0.0, 0.0, None, None, 2, nodes=(f"{pool}0",), partition=pool, limit_s=100.0)
        for pool in "ab"
        for index in range(2)
    ]
    nodes = tuple(QueueNode(f"{pool}{index}", 2, pools=(pool,)) for pool in "ab" for index in range(2))
    advice = decide(queue(*jobs, nodes=nodes), at_s=50.0, gpus=4)
    assert advice.audit[:2] == (
        "Warning: jobs that run on nodes on which others hold the GPUs that they would need: 2.",
        "Warning: 4 GPUs are asked for, but the pools of the record have 8, which are used.",
    )
    assert not any(text.startswith("Warning") for text in advice.audit[2:])
