"""``find_worst``: known worst instances, repeatable from the seed, within the budget; misuse is refused."""

import json
import math
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import Limits, Progress, SolverError, UsageError, find_worst
from dlsched.core.family import Method
from dlsched.worst.judge import Failure
from dlsched.worst.search import climb, sample, turns
from dlsched.worst.spaces import Data, DrawGenerated, Number, Space, digits_of
from tests.worst.conftest import NONE, ONE, always, judge, raising, ring


@pytest.mark.parametrize("seed", range(2))
def test_the_worst_ratio_is_found(seed: int, space: Space) -> None:
    """A hundred: 100 s on one GPU, 1 s on two; draws come near it once in ten thousand times."""
    ours, random = judge(), judge()
    climb(ours, space, 400, np.random.default_rng(seed))
    drawn = sample(random, space, 400, np.random.default_rng(seed))
    assert ours.evaluations == random.evaluations == 400
    assert ours.worst is not None
    assert ours.worst.ratio == pytest.approx(100, rel=0.01)
    assert drawn[0].ratio < 90
    assert drawn[0] == random.worst
    assert [each.ratio for each in drawn] == sorted((each.ratio for each in drawn), reverse=True)


def test_what_is_without_bound_ends_it(space: Space) -> None:
    """Nothing is worse."""
    ours = judge(NONE)
    climb(ours, space, 400, np.random.default_rng(0))
    assert (ours.evaluations, ours.worst is not None and ours.worst.ratio) == (1, math.inf)


def test_plateaus_are_crossed(space: Space) -> None:
    """From one table in many steps of the whole number of GPUs, all with the same ratio, up to where it jumps."""
    table = {"1": 8.0, "2": 4.0, "12": 1.0}
    gpus = [Number("gpus", 2, 12, whole=True)]
    walk = replace(space, draw=lambda generator: ring(table, gpus=2), numbers=gpus, members=[])
    ours = judge()
    climb(ours, walk, 300, np.random.default_rng(0))
    assert ours.worst is not None and ours.worst.ratio == 8.0


BAD, GOOD = {"1": 100.0, "2": 1.0}, {"1": 1.0, "2": 1.0}


def test_presets_are_drawn_too(space: Space) -> None:
    """What the space itself never draws, and no move leads to, is met where a preset draws it."""
    still = replace(space, draw=lambda generator: ring(GOOD, gpus=4), numbers=[], members=[])
    alone, ours = judge(), judge()
    climb(alone, still, 60, np.random.default_rng(0))
    climb(ours, replace(still, presets={"bad": lambda generator: ring(BAD, gpus=4)}), 60, np.random.default_rng(0))
    assert alone.worst is not None and alone.worst.ratio == 1.0
    assert ours.worst is not None and ours.worst.ratio == 100.0


def test_turns(space: Space) -> None:
    """The space every other time; a preset whose draw has no counterpart in it costs no evaluation."""
    presets: dict[str, DrawGenerated] = {"none": lambda generator: None, "bad": lambda generator: ring(BAD, gpus=4)}
    both = replace(space, presets=presets)
    none, bad = presets.values()
    assert list(islice(turns(both), 5)) == [space.draw, none, space.draw, bad, space.draw]
    assert list(islice(turns(space), 2)) == [space.draw, space.draw]
    ours = judge()
    met = sample(ours, both, 9, np.random.default_rng(0))
    assert ours.evaluations == 9 and met[0].data == ring(BAD, gpus=4)
    assert len(met) == 7  # the preset always draws the same, a third of the time


def test_what_drew_the_worst_draws_on(space: Space) -> None:
    """By turns each of three presets has a sixth of the draws; by what they find the bad one has most of the second half."""
    drawn = {"good": 0, "better": 0, "bad": 0}

    def preset(name: str) -> DrawGenerated:
        def draw(generator: np.random.Generator) -> Data:
            drawn[name] += 1
            return ring({"1": float(generator.uniform(50, 100)) if name == "bad" else 1.0, "2": 1.0}, gpus=4)

        return draw

    many = replace(space, draw=lambda generator: ring(GOOD, gpus=4), presets={name: preset(name) for name in drawn})
    sample(judge(), many, 120, np.random.default_rng(0), by_turns=0.5)
    assert drawn["bad"] > 10 + 40
    assert drawn["good"] >= 10 and drawn["better"] >= 10


def test_where_draws_are_no_instances_it_ends(space: Space) -> None:
    """After some hundred of them, and nothing is counted."""
    nowhere = replace(space, draw=lambda generator: {"format": "none"})
    ours = judge()
    climb(ours, nowhere, 400, np.random.default_rng(0))
    assert (ours.evaluations, ours.worst) == (0, None)
    still = replace(space, numbers=[], members=[])  # and where nothing can be moved
    climb(ours, still, 400, np.random.default_rng(0))
    assert 0 < ours.evaluations < 400 and ours.worst is not None


NAME = "ring_allocation"


def test_what_is_known_by_hand(space: Space) -> None:
    """One job, 100 s on one GPU and 1 s on two: the instance says so, is solved, and shows its ratio."""
    worst = find_worst(NAME, ONE, space=space, budget=500)
    assert (worst.ratio, worst.objective, worst.reference) == (100.0, 100.0, 1.0)
    assert (worst.family, worst.method, worst.reference_kind, worst.ended) == (NAME, "one", "optimum", "budget")
    assert worst.evaluations <= 500
    assert worst.found is not None and worst.found >= 99
    instance = worst.instance
    assert [dict(job.epoch_time_s) for job in instance.jobs] == [{1: 100.0, 2: 1.0}]
    assert (instance.name, instance.known.optimum) == ("worst-one", 1.0)
    assert instance.known.proof.startswith("exact, dlsched ")
    assert instance.source == "dlsched worst ring_allocation --method one --budget 500 --seed 0: one 100"
    assert dlsched.solve(instance).objective == 1.0


def test_the_same_seed_finds_the_same_to_the_last_byte(space: Space) -> None:
    """Another one goes another way."""
    found = [find_worst(NAME, "doubling", space=space, budget=150, seed=seed).as_data() for seed in (3, 3, 4)]
    assert json.dumps(found[0]) == json.dumps(found[1]) != json.dumps(found[2])


def test_the_data_are_those_that_the_command_prints(space: Space) -> None:
    """Their names are the contract; what is without bound is null."""
    data = find_worst(NAME, NONE, space=space, budget=20).as_data()
    first = ["family", "method", "ratio", "reference_kind", "evaluations", "seed", "proven", "instance"]
    assert list(data)[:8] == first
    assert (data["ratio"], data["found"], data["objective"], data["proven"]) == (None, None, None, None)
    assert dlsched.read is not None and json.loads(json.dumps(data)) == data


@pytest.mark.parametrize(
    ("family", "method", "options", "words", "wider"),
    [
        (NAME, "fixed", {"tables": "any"}, "up to 4 jobs on 17 GPUs, any tables on counts", "--counts all"),
        ("elastic_stream", "equal", {"restart": 5.0}, "of 100 s up to 300 s, restarts of up", "--tables"),
        ("matching_placement", "equal", {"jobs": 1, "gpus": 2}, "up to 1 job on 2 workers of up to 3 types", "--lim"),
        ("matching_placement", "equal", {"preset": "few-types"}, "3 jobs on 6 workers, as few-types", "--objective"),
        ("srpt_mapping", "fifo", {"sends": False}, "up to 3 jobs on 8 GPUs, in one server", "--prediction-error"),
        ("ring_embedding", "fifo", {"utility": "log", "slots": 2}, "2 slots, links of 1e+09 B/s, log", "--utility"),
        ("ring_embedding", "fifo", {"preset": "small", "slots": 1}, "as small has them, 1 slot", "--servers"),
        ("async_sgd", "equal", {}, "up to 4 jobs on 16 nodes", "--gpus"),
    ],
)
def test_the_space_is_named(family: str, method: str, options: dict[str, Any], words: str, wider: str) -> None:
    """With its sizes and figures, and with the options that open it further; the data have both."""
    worst = find_worst(family, method, budget=3, **options)
    assert words in worst.space
    assert any(each.startswith(wider) for each in worst.wider)
    assert worst.as_data()["space"] == worst.space and worst.as_data()["wider"] == list(worst.wider)


def test_ratio_texts(space: Space) -> None:
    """With a sign where a bound stands in, and in words where there is none."""
    assert find_worst(NAME, ONE, space=space, budget=60).ratio_text == "100"
    assert find_worst(NAME, ONE, space=space, budget=60, against="lagrange").ratio_text.startswith("<= ")
    assert find_worst(NAME, NONE, space=space, budget=20).ratio_text == "without bound"
    told = find_worst(NAME, "doubling", space=space, budget=60, against="marginal")
    assert told.reference_kind == "answer" and told.instance.known is None


@pytest.mark.parametrize("budget", [1, 2, 7, 60])
def test_the_budget_counts_everything(budget: int, space: Space) -> None:
    """Progress is told after each evaluation; shrinking's are among them."""
    seen: list[Progress] = []
    worst = find_worst(NAME, ONE, space=space, budget=budget, progress=seen.append)
    assert [each.nodes for each in seen] == list(range(1, worst.evaluations + 1))
    assert worst.evaluations <= budget
    assert seen[-1].doing.endswith(f"{worst.evaluations:,} of {budget:,} evaluations")
    ratios = [each.objective for each in seen if each.objective is not None]
    assert ratios == sorted(ratios)


def test_ctrl_c_keeps_the_worst(space: Space) -> None:
    """Nothing is shrunk then; before anything is held it is the end."""
    worst = find_worst(NAME, raising(KeyboardInterrupt(), after=30), space=space, budget=500)
    assert (worst.ended, worst.evaluations) == ("interrupted", 30)
    assert worst.ratio == worst.found is not None
    with pytest.raises(KeyboardInterrupt):
        find_worst(NAME, raising(KeyboardInterrupt()), space=space)


def test_ctrl_c_while_shrinking_keeps_what_is_shrunk(space: Space) -> None:
    """The steps that were taken."""
    whole = find_worst(NAME, ONE, space=space, budget=100)
    worst = find_worst(NAME, raising(KeyboardInterrupt(), after=whole.evaluations - 3), space=space, budget=100)
    assert (worst.ended, worst.found) == ("interrupted", whole.found)


def test_time_ends_it(space: Space) -> None:
    """Of no time nothing comes, which is said; a bit of time is enough for something, though the budget is endless."""
    with pytest.raises(UsageError, match="before the time was up"):
        find_worst(NAME, ONE, space=space, limits=Limits(time_s=0))
    worst = find_worst(NAME, "doubling", space=space, budget=10**9, limits=Limits(time_s=0.5))
    assert worst.ended == "limit"
    assert worst.ratio is not None


def test_shrunk_instances_are_searched_too(space: Space) -> None:
    """A way up that opens only where shrinking leads: the remaining evaluations go there, and their worst is shrunk."""

    def repair(data: Data) -> Data | None:
        """Numbers other than a first time of two digits are what they were; with one digit the second time may change."""
        first, second = data["jobs"][0]["epoch_time_s"].values()
        return ring({"1": first, "2": second if digits_of(first) == 1 else 20.0}, gpus=2)

    only = replace(
        space,
        draw=lambda generator: ring({"1": 41.0, "2": 20.0}),
        numbers=[Number("jobs[].epoch_time_s{}", 1.0, 41.0)],
        members=[],
        repair=repair,
    )
    worst = find_worst(NAME, ONE, space=only, budget=400)
    assert worst.ratio is not None and worst.ratio > 20
    assert worst.found == pytest.approx(worst.ratio, rel=0.02)


def test_failures_are_told_and_kept(space: Space) -> None:
    """A method that raises after a while; one that always does raises that, so that nobody waits for it."""
    told: list[Failure] = []
    worst = find_worst(NAME, raising(ValueError("no"), after=5), space=space, budget=50, tell=told.append)
    assert [each.message for each in worst.failures] == ["raising: ValueError: no"]
    assert told == list(worst.failures)
    assert worst.as_data()["failures"] == [
        {"message": "raising: ValueError: no", "instance": told[0].instance.as_data()}
    ]
    with pytest.raises(SolverError, match="raising: ValueError: no"):
        find_worst(NAME, raising(ValueError("no")), space=space, budget=50)
    with pytest.raises(SolverError, match="the checker rejects"):
        find_worst(NAME, always("five", 5), space=space, budget=50)


def test_a_function_of_the_users_own(space: Space, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By file and function; the instance is named after the function."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def ones(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
    )
    worst = find_worst(NAME, "mine.py:ones", space=space, budget=500)
    assert (worst.ratio, worst.method, worst.instance.name) == (100.0, "mine.py:ones", "worst-ones")
    (tmp_path / "bad.py").write_text("def bad(instance):\n    return 1 / 0\n")
    with pytest.raises(UsageError, match=r"bad.py:bad: bad.py, line 2: ZeroDivisionError"):
        find_worst(NAME, "bad.py:bad", space=space, budget=5)


@pytest.mark.parametrize(
    ("method", "named", "words"),
    [
        ("nosuch", {}, "method: found 'nosuch'"),
        ("doubling", {"against": "nosuch"}, "method: found 'nosuch'"),
        ("doubling", {"budget": 0}, "budget: found 0"),
        ("doubling", {"budget": 1.5}, "budget: found 1.5"),
        ("doubling", {"seed": -1}, "seed: found -1"),
        ("doubling", {"share": 1}, "share: found 1"),
        ("doubling", {"slots": 3}, "slots: found 3, allowed: no such option for ring_allocation"),
        ("doubling", {"tables": "round"}, "tables: found 'round'"),
        ("doubling", {"jobs": 0}, "jobs: found 0"),
    ],
)
def test_misuse(method: str, named: dict[str, Any], words: str) -> None:
    """Refused before anything is evaluated."""
    with pytest.raises(UsageError, match=words):
        find_worst(NAME, method, **named)


def test_a_space_of_ones_own_stands_alone(space: Space) -> None:
    """It is of the family, and no size or option would change it."""
    with pytest.raises(UsageError, match="gpus: found 5, allowed: none beside a space of one's own"):
        find_worst(NAME, "doubling", space=space, gpus=5)
    with pytest.raises(UsageError, match=f"space: found one of {NAME}, allowed: one of async_sgd"):
        find_worst("async_sgd", "marginal", space=space)


def test_where_there_is_no_ratio_that_is_said(space: Space) -> None:
    """Three jobs for two GPUs."""
    crowded = replace(space, draw=lambda generator: {**space.draw(generator), "gpus": 1}, members=[])
    alone = Method("one", "heuristic", ONE.run)
    assert find_worst(NAME, alone, space=crowded, budget=20).ratio == 1.0
    empty = replace(space, draw=lambda generator: {})
    with pytest.raises(UsageError, match="budget: found no instance on which one has a ratio among 0"):
        find_worst(NAME, ONE, space=empty, budget=20)
