"""Certificates of the search over completions: by hand, against brute force, forged, and what is refused."""

import json
import random
from fractions import Fraction

import pytest

from dlsched.certificates import CompletionsCertificate
from dlsched.core.limits import no_tick
from dlsched.elastic_stream import objective, solve
from dlsched.elastic_stream.any_time.completions import search_completions
from dlsched.elastic_stream.bounds import quick_stream
from dlsched.elastic_stream.certificate import completions_value, verify
from dlsched.families import family_of
from dlsched.results.reading import claim_from
from dlsched.results.verification import verify_claim

from .orders import Orders
from .streams import stream
from .test_completions import drawn

ONE_MACHINE = stream((0.0, 1.0, {1: 10.0}), (0.0, 1.0, {1: 20.0}), units=1)
STOPPED = stream((0.0, 1.0, {1: 10.0}), (4.0, 1.0, {1: 2.0}), units=1)
FIRST = {"first": "j0", "then": "j1"}


def leaf(*multipliers):
    """A leaf with multipliers."""
    return {"multipliers": tuple(map(float, multipliers))}


def certified(instance):
    """The tree of a search that begins from a quick stream, and the optimum it found, a mean."""
    best = [objective(instance, quick_stream(instance))]

    def found(candidate):
        best.append(min(best[-1], objective(instance, candidate)))
        return True

    known = best[0] * instance.total_weight
    ended = search_completions(instance, known, found=found, proven=lambda bound: None, tick=no_tick)
    assert ended.closed
    return ended.tree, best[-1]


def near(instance):
    """Hold a certificate to the optimum, and return both."""
    tree, optimum = certified(instance)
    value = completions_value(instance, tree)
    assert optimum * (1 - 1e-9) <= value <= Fraction(optimum) * (1 + Fraction(1e-12))
    return tree, optimum


def forged(tree, generator):
    """The tree with something else in one place."""
    tree, at = [dict(node) for node in tree], generator.randrange(len(tree))
    node, other = tree[at], generator.randrange(len(tree))
    kind = generator.randrange(6)
    if kind == 0:
        factor = generator.choice([0.5, 1.5, 4.0])
        return [leaf(*(factor * each for each in n["multipliers"])) if "multipliers" in n else n for n in tree]
    if kind == 1:
        del tree[at]
    elif kind == 2:
        tree[at], tree[other] = tree[other], node
    elif kind == 3:
        tree.insert(other, dict(node))
    elif "multipliers" in node:
        values = list(node["multipliers"])
        if values:
            place = generator.randrange(len(values))
            values[place] = generator.choice([0.0, 2 * values[place], values[place] + 1.0, generator.choice(values)])
        tree[at] = leaf(*values)
    elif "then" in node:
        node["first"], node["then"] = node["then"], node["first"]
    else:
        node["by_s"] = generator.choice([n["by_s"] for n in tree if "by_s" in n])
    return tree


def forge(seeds, each):
    """Forge certificates, and return how many prove something; none proves more than the truth."""
    proving = 0
    for seed in seeds:
        instance = drawn(seed, 3 + seed % 2, 1 + seed % 4, weighted=seed % 2 == 1, alike=seed % 3 == 0)
        tree, _ = near(instance)
        truth = Orders(instance).least() / instance.total_weight
        generator = random.Random(seed)
        for _ in range(each):
            false = tree
            for _ in range(generator.randint(1, 3)):
                false = forged(false, generator) if false else false
            try:
                value = completions_value(instance, false)
            except ValueError:
                continue
            assert value <= truth * (1 + 1e-8)
            proving += 1
    return proving


def test_one_machine_by_hand():
    """10 s and 20 s end at 10 and 30. With u = 10, 20 and beta = 10 no state gains more than it costs: 40 = 2 x 20 in the mean.

    Both there: 20 / 10 and 30 / 20 are at most 2 a second; one of them: 10 / 10 and 20 / 20 are at most 1.
    """
    for multipliers, proven in (
        ((5, 10, 5), 20),
        ((10, 20, 10), 20),
        ((5, 10, 2.5), 17.5),
    ):  # twice as much is scaled down
        assert proven * (1 - 1e-15) <= completions_value(ONE_MACHINE, [leaf(*multipliers)]) <= proven


def test_windows_by_hand():
    """j0 runs 4 s, stops for 2 s, and ends at 12. In the mean of the two flow times u = 3, 1, beta = 1 and gamma = 0 prove 6.

    Window 0, 4 s, only j0 there: the most that a state gains is (3 + 1) / 10 a second where it costs 1 / 2: at least 4 (.5 - .4).
    Window 1: (3 + 1) / 10 and (1 + 1) / 2 are at most 1 where both are there; 3 / 10 and 1 / 2 at most 1 / 2 for one of them.
    """
    value = completions_value(STOPPED, [leaf(3, 0, 1, 0)])
    assert value == pytest.approx(4.4)
    assert completions_value(STOPPED, [leaf(3, 0, 2, 0)]) == pytest.approx(5.0)
    assert float(near(STOPPED)[1]) == pytest.approx(7.0)


def test_the_least_leaf_holds():
    """A branch is followed by its own nodes, then by those of its opposite."""
    good, bad = leaf(5, 10, 5), leaf(5, 10, 0)
    assert float(completions_value(ONE_MACHINE, [FIRST, good, bad])) == pytest.approx(15)
    assert float(completions_value(ONE_MACHINE, [FIRST, good, FIRST, good, good])) == pytest.approx(20)
    soon = {"first": "j0", "by_s": 4.0}  # then window 0 costs 4 / 2, whatever is done
    assert completions_value(STOPPED, [soon, leaf(), leaf(3, 0, 2, 0)]) == 2


def test_equal_speeds_need_no_branch():
    """Of two jobs alike one goes first; so beta alone is worth what it is with a branch."""
    alike = stream(*((0.0, 1.0, {1: 10.0, 2: 6.0}),) * 2, (1.0, 1.0, {1: 8.0}), units=2)
    tree, _ = near(alike)
    assert FIRST not in tree and {"first": "j1", "then": "j0"} not in tree
    other = stream((0.0, 2.0, {1: 5.0, 2: 3.0}), (0.0, 1.0, {1: 10.0, 2: 6.0}), (1.0, 1.0, {1: 8.0}), units=2)
    assert completions_value(other, tree) == completions_value(alike, tree)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([], "ends before its last leaf"),
        ([FIRST, leaf()], "ends before its last leaf"),
        ([leaf(), leaf()], "goes on after its last leaf"),
        ([leaf(1, 2)], "must have 3 multipliers"),
        ([leaf(1, 2, float("inf"))], "must have 3 multipliers, numbers >= 0"),
        ([leaf(1, 2, -1)], "must have 3 multipliers, numbers >= 0"),
        ([{"first": "j0", "then": "j0"}, leaf(), leaf()], "a node must be"),
        ([{"first": "j0", "then": "j2"}, leaf(), leaf()], "a node must be"),
        ([{"first": "j0", "by_s": 1.0}, leaf(), leaf()], "a node must be"),
        ([FIRST | leaf(), leaf(), leaf()], "a node must be"),
        ([{}], "a node must be"),
        ([FIRST] * 70_000_000, "70,000,000 branches of 2 jobs with 2 counts on 1 units are too many to verify"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_what_is_refused(tree, message):
    """Trees that are none, and large ones before any work."""
    with pytest.raises(ValueError, match=message):
        completions_value(ONE_MACHINE, tree)


def test_instances_that_are_refused():
    """Ticks; jobs that do not fit; no work."""
    for instance, message in (
        (ONE_MACHINE.model_copy(update={"tick_s": 1.0}), "without ticks"),
        (stream((0.0, 1.0, {2: 10.0}), units=1), "needs more units"),
        (stream((0.0, 0.0, {1: 10.0}), units=1), "some job has work"),
    ):
        with pytest.raises(ValueError, match=message):
            verify(instance, CompletionsCertificate((leaf(),), 0.0))


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_results_carry_certificates(weight):
    """``solve`` writes it, ``check`` verifies it, and refuses a higher value; weights that are alike change nothing."""
    instance = drawn(0, 5, 4)
    jobs = tuple(job.model_copy(update={"weight": weight}) for job in instance.jobs)
    instance = instance.model_copy(update={"jobs": jobs})
    result = solve(instance)
    certificate = result.certificate
    assert isinstance(certificate, CompletionsCertificate)
    assert certificate.value == pytest.approx(result.objective, rel=1e-9)
    for factor, said in ((1.0, "CompletionsCertificate, exact"), (1 + 1e-9, "it proves only")):
        data = result.as_data()
        data["certificate"] = data["certificate"] | {"value": certificate.value * factor}
        found = verify_claim(family_of(instance), instance, claim_from(json.loads(json.dumps(data)), "result"))
        assert bool(found) == (factor == 1.0)
        assert any(said in line for line in [*found.verified, *found.failures])


def test_restarts_keep_the_certificate():
    """With pauses it proves what the search without them does."""
    jobs = (0.0, 1.0, {1: 10.0}, {"restart_s": 3.0}), (4.0, 1.0, {1: 2.0})
    tree, _ = certified(STOPPED)
    assert float(completions_value(stream(*jobs, units=1), tree)) == pytest.approx(7.0)


def test_laws_are_verified():
    """Speeds of a law, many counts of which are no faster."""
    law = {"theta": [1.0, 0.01, 0.0, 1.0], "samples": 50.0, "model_bytes": 0.0}
    near(stream((0.0, 1.0, law), (3.0, 2.0, law), (5.0, 1.0, {1: 9.0, 2: 5.5}), units=4))


@pytest.mark.parametrize("seed", range(6))
def test_drawn_certificates_are_near(seed):
    """Within 1e-9 of the optimum."""
    near(drawn(seed, 3 + seed % 3, 1 + seed % 4, weighted=seed % 2 == 1, alike=seed % 3 == 0))


def test_forgeries_prove_nothing_false():
    """Multipliers, branches and leaves changed, removed, swapped: some hundred, of which some still prove a bound."""
    assert forge(range(4), 60) > 60


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_many_forgeries_prove_nothing_false(part):
    """5,000 in all."""
    forge(range(10 * part, 10 * part + 10), 100)


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_six_jobs_are_certified(part):
    """Six jobs on four units: 200 in all."""
    for seed in range(10 * part, 10 * part + 10):
        near(drawn(seed, 6, 4, weighted=seed % 2 == 1, alike=seed % 4 == 0))
