"""Predicted iterations: by hand, by the definition of what is known, nothing peeked at, and errors of known size."""

import math
import subprocess
import sys

import numpy as np
import pytest

from dlsched.algorithms.recurrence import FIRST_TRAINING
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import Instance, Job, Server, Stage
from dlsched.srpt_mapping.predictor import WAYS, PredictionErrors, errors, predict, with_error
from dlsched.srpt_mapping.predictor import recurring as recurring_jobs


def job(name, release_s, iterations, group="x", user=None, *, gpus=1, compute_s=1.0, parameter_bytes=0.0, **words):
    stages = [Stage(replicas=gpus, compute_s=compute_s, output_bytes=0, parameter_bytes=parameter_bytes)]
    return Job(id=name, release_s=release_s, iterations=iterations, group=group, user=user, stages=stages, **words)


def instance(*jobs, nic=2):
    servers = [Server(id="s0", gpus=4)]
    return Instance(
        name="one", intra_bandwidth_bytes_per_s=8, nic_bandwidth_bytes_per_s=nic, servers=servers, jobs=jobs
    )


def recurring(jobs=300, seed=0, groups=20):
    """Jobs of groups whose iterations spread by a factor e^2, and by e^0.3 within a group; some groups unnamed."""
    draw = np.random.default_rng(seed)
    middles = np.exp(draw.normal(6.0, 2.0, groups))
    releases_s = np.sort(draw.uniform(0.0, 1e6, jobs)).round()  # with some at one time
    drawn = draw.integers(0, groups, jobs)
    return instance(
        *(
            job(
                f"j{i}",
                float(releases_s[i]),
                max(1.0, float(middles[group] * math.exp(draw.normal(0.0, 0.3)))),
                f"g{group}" if group % 5 else None,
                f"u{group % 3}" if group % 4 else None,
                gpus=1 + int(group) % 2,
                model=f"m{group % 4}",
                compute_s=5.0,
                parameter_bytes=8.0,
            )
            for i, group in enumerate(drawn)
        )
    )


def found(predicted):
    return {job.id: job.predicted_iterations for job in predicted.jobs}


def replaced(given, index, iterations):
    """The instance with other iterations of one job."""
    changed = Job(**{name: getattr(given.jobs[index], name) for name in Job.model_fields} | {"iterations": iterations})
    return given.model_copy(update={"jobs": [*given.jobs[:index], changed, *given.jobs[index + 1 :]]})


HAND = instance(
    job("late", 30, 5),
    job("a", 0, 10),
    job("b", 0, 30),
    job("c", 5, 2, user="u"),
    job("d", 10, 100),
    job("e", 29.5, 1),
    job("user", 20, 7, "y", "u"),
    job("wider", 20, 7, "y", "u", gpus=2),
    job("lone", 20, 7, None, None),
)


def test_mean_and_last_by_hand():
    """One second an iteration: c is known from 7 s, a from 10 s, b from 30 s; e and d have not ended by then."""
    by_mean, by_last = (found(predict(HAND, by=way)) for way in ("mean", "last"))
    assert [(by_mean[name], by_last[name]) for name in ("a", "b", "c")] == [(1000.0, 1000.0)] * 3
    assert (by_mean["d"], by_last["d"]) == (6.0, 10.0)
    assert (by_mean["e"], by_last["e"]) == (6.0, 10.0)
    assert (by_mean["late"], by_last["late"]) == (14.0, 30.0)


def test_fallbacks_by_hand():
    """A new group takes the user's jobs of as many GPUs, then all; without any the prior counts."""
    by_mean, by_last = (found(predict(HAND, by=way)) for way in ("mean", "last"))
    assert (by_mean["user"], by_last["user"]) == (2.0, 2.0)
    assert (by_mean["wider"], by_last["wider"]) == (6.0, 10.0)
    assert (by_mean["lone"], by_last["lone"]) == (6.0, 10.0)
    assert found(predict(HAND, by="last", prior_iterations=3))["a"] == 3.0


@pytest.mark.parametrize(("nic", "end_s"), [(2, 20), (64, 15)])
def test_the_fastest_iteration_decides_what_is_known(nic, end_s):
    """Two replicas all-reduce 8 bytes at 8 B/s in the server, or at 64/4 B/s were they on two: 2 s or 1.5 s an iteration."""
    jobs = [job("a", 0, 10, gpus=2, parameter_bytes=8), job("before", end_s - 0.001, 1), job("after", end_s, 1)]
    assert found(predict(instance(*jobs, nic=nic), by="last")) == {"a": 1000.0, "before": 1000.0, "after": 10.0}


def test_no_job_knows_itself():
    """Not even where rounding swallows the length of the jobs."""
    jobs = [job("a", 1e20, 2), job("b", 1e20, 2), job("c", 2e20, 2)]
    assert found(predict(instance(*jobs), by="mean")) == {"a": 1000.0, "b": 1000.0, "c": 2.0}


@pytest.mark.parametrize("seed", range(3))
def test_mean_and_last_are_as_defined(seed):
    """The definition, job by job and level by level."""
    given = recurring(120, seed)
    fastest = max(given.intra_bandwidth_bytes_per_s, *given.shares)
    ends_s = [job.release_s + job.iterations * job.graph.uniform_s(fastest) for job in given.jobs]
    by_mean, by_last = (found(predict(given, by=way)) for way in ("mean", "last"))
    for mine in given.jobs:
        known = sorted((end_s, i) for i, end_s in enumerate(ends_s) if end_s <= mine.release_s)
        others = [given.jobs[i] for _, i in known]
        levels = [
            [other for other in others if other.group == mine.group is not None],
            [other for other in others if other.user == mine.user is not None and other.gpus == mine.gpus],
            others,
        ]
        used = [other.iterations for other in next(filter(None, levels), [])] or [1000.0]
        assert by_mean[mine.id] == pytest.approx(max(1.0, sum(used) / len(used)))
        assert by_last[mine.id] == used[-1]


@pytest.mark.parametrize("by", ["mean", "last", "forest"])
def test_nothing_is_peeked_at(by):
    """Other iterations of a job change no prediction until it could have ended, before or after the change."""
    given = recurring(150, 5)
    before = predict(given, by=by, trees=3)
    draw = np.random.default_rng(1)
    differs = False
    for index in draw.integers(0, len(given.jobs), 12):
        mine = given.jobs[index]
        iterations = max(1.0, mine.iterations * float(draw.choice([0.01, 0.5, 2.0, 100.0])))
        after = predict(replaced(given, index, iterations), by=by, trees=3)
        known_s = mine.release_s + min(mine.iterations, iterations) * mine.graph.uniform_s(8.0)
        for old, new in zip(before.jobs, after.jobs, strict=True):
            if old.release_s < known_s:
                assert old.predicted_iterations == new.predicted_iterations
            differs |= old.predicted_iterations != new.predicted_iterations
    assert differs


def test_forest_begins_with_the_mean():
    """Until 64 jobs are known the mean predicts."""
    given = recurring()
    _, known = recurring_jobs(given).known()
    by_mean, by_forest = (found(predict(given, by=way, trees=5)) for way in ("mean", "forest"))
    early = {job.id for job, count in zip(given.jobs, known, strict=True) if count < FIRST_TRAINING}
    assert 64 <= len(early) < 100
    assert all(by_mean[name] == by_forest[name] for name in early)
    assert sum(by_mean[name] != by_forest[name] for name in by_mean.keys() - early) > 150


def test_forest_learns():
    """On jobs that recur it is far better than the prior, and better than the last value."""
    given = recurring()
    prior = given.model_copy(update={"jobs": [j.model_copy(update={"predicted_iterations": 1e3}) for j in given.jobs]})
    found = {by: errors(predict(given, by=by)).mean_absolute_log for by in WAYS}
    assert found["forest"] < 0.4 * errors(prior).mean_absolute_log
    assert found["forest"] < found["last"]
    assert found["perfect"] == 0


def test_seed_decides():
    """Equal seeds give equal forests and errors, others do not; how often it is trained matters."""
    given = recurring()
    first = predict(given, by="forest", trees=5, seed=3)
    assert first == predict(given, by="forest", trees=5, seed=3)
    assert first != predict(given, by="forest", trees=5, seed=4)
    assert first != predict(given, by="forest", trees=5, seed=3, retrain=1.3)
    assert with_error(given, sigma=1, seed=3) == with_error(given, sigma=1, seed=3)
    assert with_error(given, sigma=1, seed=3) != with_error(given, sigma=1, seed=4)


def test_perfect_removes_predictions():
    """What comes out is what went in before any prediction."""
    given = recurring(50)
    assert predict(with_error(given, sigma=1, seed=0), by="perfect") == given
    assert with_error(given, sigma=0, seed=0) == given


@pytest.mark.parametrize("by", ["mean", "last", "forest"])
def test_only_predictions_change(by):
    """Every other field stays, and earlier predictions do not matter."""
    given = recurring(100)
    predicted = predict(given, by=by, trees=3)
    assert all(job.predicted_iterations >= 1 for job in predicted.jobs)
    assert predict(predicted, by="perfect") == given
    assert predict(with_error(given, sigma=2, seed=1), by=by, trees=3) == predicted


def test_injected_error_is_lognormal():
    """Of 5000 jobs the logarithmic error has mean 0 and deviation sigma."""
    given = instance(*(job(f"j{i}", 0, 1e6) for i in range(5000)))
    logs = np.log([job.predicted_iterations / 1e6 for job in with_error(given, sigma=0.5, seed=7).jobs])
    assert abs(np.mean(logs)) < 0.03
    assert abs(np.std(logs) - 0.5) < 0.02
    assert logs == pytest.approx(0.5 * np.random.default_rng(7).standard_normal(5000))


def test_predictions_stay_in_range():
    """At least 1, finite, and no longer than an instance allows."""
    jobs = with_error(instance(*(job(f"j{i}", 0, 10) for i in range(50))), sigma=1e300, seed=0).jobs
    assert {job.predicted_iterations for job in jobs} == {1.0, 1e99}
    jobs = job("vast", 0, 1e150, compute_s=1e-90), job("slow", 1e80, 1, compute_s=1e50)
    assert found(predict(instance(*jobs), by="last")) == {"vast": 1e3, "slow": pytest.approx(1e49)}


def test_errors_by_hand():
    """Predictions 5, 40 and 10 of 10: logarithms ln 2, ln 4 and 0; relative errors 1/2, 3 and 0."""
    jobs = [job(f"j{i}", 0, 10, predicted_iterations=guess) for i, guess in enumerate((5.0, 40.0, None))]
    assert errors(instance(*jobs)) == PredictionErrors(2.0, 4.0, pytest.approx(math.log(8) / 3), 0.5)
    assert errors(instance(jobs[1])).eta1 == 1.0
    assert errors(instance(jobs[0])).eta2 == 1.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"by": "x"}, "by: found 'x', allowed: perfect, mean, last, forest"),
        ({"by": "forest", "seed": -1}, "seed, trees: found -1, 50"),
        ({"by": "forest", "trees": 0}, "seed, trees: found 0, 0"),
        ({"by": "forest", "retrain": 1}, "retrain, prior_iterations: found 1, 1000.0"),
        ({"by": "mean", "prior_iterations": math.nan}, "retrain, prior_iterations: found 2.0, nan"),
    ],
)
def test_refusals_of_predict(arguments, said):
    """Each names what was found."""
    with pytest.raises(UsageError) as caught:
        predict(HAND, **arguments)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("sigma", "seed"), [(-1, 0), (math.inf, 0), (math.nan, 0), (1, -1)])
def test_refusals_of_errors(sigma, seed):
    """A deviation is finite and not negative, a seed not negative."""
    with pytest.raises(UsageError, match="allowed: a"):
        with_error(HAND, sigma=sigma, seed=seed)


def test_missing_scikit_learn_is_named(monkeypatch):
    """Without scikit-learn the error says what to install, and the other ways work."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(
        UsageError, match=r"^predictions by forest need scikit-learn: pip install 'dlsched\[predict\]'$"
    ):
        predict(HAND, by="forest")
    assert found(predict(HAND, by="mean"))["d"] == 6.0


def test_importing_loads_no_scikit_learn():
    """It is imported when it is used."""
    program = "import sys, dlsched.srpt_mapping.predictor; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
