"""A score is the mean of optimum over answer, on the suite that was asked for."""

import json
from pathlib import Path

import pytest

import dlsched
from dlsched import ring_allocation
from dlsched.core.errors import InputError, UsageError

METHOD = "def ones(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a method, two instances, and a plan of these two."""
    (tmp_path / "mine.py").write_text(METHOD)
    for seed in (1, 2):
        dlsched.write(dlsched.generate("ring_allocation", jobs=3, gpus=8, seed=seed), tmp_path / f"i{seed}.json")
    (tmp_path / "plan.toml").write_text(
        'format = "dlsched/study/1"\n[[instances]]\nfiles = "i*.json"\n[[methods]]\nname = "doubling"\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_mean_of_optimum_over_answer(folder: Path):
    """By brute force over all counts of three jobs on eight GPUs; the instances of a plan are the suite."""
    found = dlsched.score("mine.py:ones", family="ring_allocation", suite="plan.toml")
    shares = []
    for seed in (1, 2):
        instance = dlsched.read(folder / f"i{seed}.json")
        ids = [job.id for job in instance.jobs]
        costs = {}
        for counts in [(a, b, c) for a in range(1, 9) for b in range(1, 9) for c in range(1, 9)]:
            allocation = ring_allocation.Allocation(dict(zip(ids, counts, strict=True)))
            if not ring_allocation.check(instance, allocation):
                costs[counts] = ring_allocation.objective(instance, allocation)
        shares.append(min(costs.values()) / costs[1, 1, 1])
    assert found.score == pytest.approx(sum(shares) / 2, rel=1e-12)
    assert found.ratio_worst == pytest.approx(1 / min(shares), rel=1e-12)
    assert (found.instances, found.failed, found.unproven) == (2, 0, ())
    assert found.baselines["hull"] > found.score
    assert found.baselines[found.beaten_by[0]] == max(found.baselines.values())
    assert "the optimum is" in found.feedback[0]


def test_the_same_again(folder: Path):
    """But for the seconds; from the command line, by a function of the session, and by a judge that has judged before."""
    judge = dlsched.Judge("ring_allocation", suite="i1.json")
    first, again = judge.score("mine.py:ones").as_data(), judge.score("mine.py:ones").as_data()
    space: dict[str, object] = {}
    exec(METHOD, space)
    own = judge.score(space["ones"]).as_data()  # type: ignore[arg-type]
    for each in (again, own):
        assert each | {"seconds": 0} == first | {"seconds": 0}


def test_where_more_is_better(tmp_path: Path):
    """Answer over optimum: utilities of rings."""
    instance = dlsched.generate("ring_embedding", preset="small", jobs=3, seed=1)
    dlsched.write(instance, tmp_path / "rings.json")
    found = dlsched.Judge("ring_embedding", suite=tmp_path / "rings.json").score("gadget")
    best, answer = dlsched.solve(instance), dlsched.solve(instance, method="gadget")
    assert found.score == pytest.approx(answer.objective / best.objective, rel=1e-9)
    assert found.score <= 1


def test_held_out(cli, folder: Path):
    """Other instances of the same kinds from another seed, without feedback; the same ones from the same seed."""
    names = {seed: [each.name for each in dlsched.Judge("async_sgd", held_out=seed)._instances] for seed in (3, 4)}
    usual = [each.name for each in dlsched.Judge("async_sgd")._instances]
    assert len(usual) == len(names[3]) == len(names[4])
    assert not set(usual) & set(names[3])
    assert not set(names[3]) & set(names[4])
    assert names[3] == [each.name for each in dlsched.Judge("async_sgd", held_out=3)._instances]
    ended = cli("score", "mine.py:ones", "--family", "async_sgd", "--held-out", "3", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["feedback"] == []
    assert json.loads(ended.out)["held_out"] is True


def test_all_answers_fail(cli, folder: Path):
    """Score 0, exit 0, and why; also where the module cannot be imported."""
    for content, words in {
        "def ones(instance):\n    return {}\n": "gpus",
        "raise OSError('no disk')\n": "no disk",
    }.items():
        (folder / "mine.py").write_text(content)
        ended = cli("score", "mine.py:ones", "--family", "ring_allocation", "--suite", "i1.json")
        assert ended.code == 0
        assert "score 0.0000" in ended.out
        assert words in ended.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "none.py:f"}, "a file that is there"),
        ({"method": "best"}, "doubling"),
        ({"family": "rings"}, "ring_allocation"),
        ({"suite": "slow"}, "quick, full"),
        ({"suite": "i1.json", "family": "async_sgd"}, "an instance of ring_allocation"),
        ({"suite": "i1.json", "held_out": 1}, "quick or full"),
        ({"held_out": -1}, "seed"),
        ({"time_limit": 0}, "seconds > 0"),
        ({"time_limit": True}, "seconds > 0"),
    ],
)
def test_what_is_refused(folder: Path, arguments: dict[str, object], words: str):
    """In words, before anything runs."""
    given = {"method": "mine.py:ones", "family": "ring_allocation"} | arguments
    with pytest.raises(UsageError, match=words):
        dlsched.score(**given)  # type: ignore[arg-type]


def test_no_code_of_a_plan_runs(folder: Path):
    """Instances that a function would draw are refused."""
    (folder / "draws.py").write_text("raise SystemExit('ran')\n")
    (folder / "plan.toml").write_text(
        'format = "dlsched/study/1"\n[[instances]]\nfamily = "ring_allocation"\npython = "draws.py:draw"\nseeds = "0:2"\n'
        '[[methods]]\nname = "doubling"\n'
    )
    with pytest.raises(InputError, match="runs no code"):
        dlsched.score("doubling", family="ring_allocation", suite="plan.toml")
