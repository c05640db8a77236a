"""The verifier of suprema of policies: a certificate by hand, and damages that it refuses."""

import copy
import json
import random
from fractions import Fraction
from typing import Any

import pytest

from dlsched.core.errors import DlschedError, InputError
from dlsched.worst.competitive import tree_verification
from dlsched.worst.competitive.proven import prove_policy, speeds_of
from dlsched.worst.competitive.verification import verify
from tests.worst.conftest import changed

Data = dict[str, Any]


def by_hand() -> Data:
    """One job on one unit: both need w seconds; u = 1 pays for them."""
    job = {"id": "a", "epochs": 3.0, "epoch_time_s": {"1": 1.0}, "arrival_s": 0.0}
    return {
        **{"kind": "competitive", "family": "elastic_stream", "method": "equal", "jobs": 1, "units": 1},
        **{"speeds": [["1"]], "supremum": "1", "ratio": "1"},
        "instance": {"format": "dlsched/elastic_stream/1", "name": "one", "units": 1, "jobs": [job]},
        "schedule": [{"seconds": "3", "units": [1]}],
        "proof": [
            {
                "classes": [0],
                "tree": {
                    "events": {
                        "end 0": {"optimum": {"events": {"end 0": {"work": ["1"], "arrival": ["0"], "rows": []}}}}
                    }
                },
            }
        ],
    }


def proven(method: str, jobs: int = 2) -> Data:
    """A certificate of the search."""
    data: Data = json.loads(json.dumps(prove_policy(method, speeds=speeds_of("1,9/5"), jobs=jobs).as_data()))
    return data


def test_a_certificate_by_hand() -> None:
    """Accepted, with one leaf."""
    found = verify(by_hand())
    assert (found.supremum, found.ratio, found.leaves) == (1, 1, 1)


_TREE = ("proof", 0, "tree", "events", "end 0")
_LEAF = (*_TREE, "optimum", "events", "end 0")
DAMAGES: dict[tuple[Any, ...], list[Any]] = {
    ("supremum",): ["1/2", "2"],
    ("ratio",): ["2"],
    ("kind",): ["worst"],
    ("method",): ["plan", "no-such"],
    ("jobs",): [2, True, 10**9],
    ("units",): [2],
    ("speeds",): [[["0"]], [["1/0"]], [["1"], ["2"]]],
    ("instance", "units"): [2],
    **{("instance", "jobs", 0, name): [2.0] for name in ("weight", "restart_s", "epochs")},
    ("schedule",): [[], *([{"seconds": s, "units": [u]}] for s, u in (("3", 2), ("-3", 1), ("2", 1)))],
    ("proof",): [[]],
    ("proof", 0, "classes"): [[1]],
    ("proof", 0, "tree"): [{}],
    _TREE: [{"events": {}}],
    (*_TREE, "optimum"): [{"events": {}}],
    (*_LEAF, "work"): [["1/2"], ["2"], ["-1"], [], [1]],
    (*_LEAF, "rows"): [["1"]],
    ("limit",): [{}],
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, values in DAMAGES.items() for value in values])
def test_damages_are_refused(path: tuple[Any, ...], value: object) -> None:
    """Whatever is changed in the certificate by hand."""
    with pytest.raises((ValueError, DlschedError)):
        verify(changed(by_hand(), path, value))


@pytest.mark.parametrize("method", ["equal", "srpt-knee", "fifo-fastest", "marginal"])
def test_forged_certificates_prove_nothing_false(method: str) -> None:
    """A random change of a number or a branch: refused, or the supremum is still that."""
    good = proven(method)
    known = Fraction(good["supremum"])
    generator = random.Random(method)
    refused = 0
    for _ in range(30):
        data = copy.deepcopy(good)
        _damage(data, generator)
        try:
            found = verify(data)
        except (ValueError, DlschedError):
            refused += 1
            continue
        assert found.supremum == known
    assert refused >= 10


def _damage(data: Data, generator: random.Random) -> None:
    """Change one value somewhere: another number, a key left out, a list cut, or the value of a place beside it."""
    places: list[tuple[Any, Any]] = []

    def collect(at: Any) -> None:
        for key, value in at.items() if isinstance(at, dict) else enumerate(at):
            places.append((at, key))
            if isinstance(value, dict | list):
                collect(value)

    collect({key: value for key, value in data.items() if key not in ("instance", "kind", "family")})
    at, key = generator.choice(places)
    if isinstance(at[key], str):
        at[key] = generator.choice(["0", "1", "-1", "9/10", "11/10", "6/5", "1/0", "x"])
    elif isinstance(at, dict) and isinstance(at[key], dict):
        del at[key]
    elif isinstance(at[key], list):
        at[key] = at[key][:-1]
    else:
        at[key] = generator.choice([0, 1, 2, 3])


def test_a_supremum_that_is_too_small_is_refused_whatever_the_rest_says() -> None:
    """The instance itself is above it."""
    data = proven("equal")
    data["supremum"] = "7/6"
    with pytest.raises(ValueError, match="prove less than 7/6"):
        verify(data)


def test_sizes_are_compared_before_choices_are_listed() -> None:
    """104 tables for 6 jobs are 104^6 choices, more than a memory holds: refused for the one tree that there is."""
    data = proven("equal") | {"jobs": 6, "speeds": [["1", "9/5"]] * 104}
    with pytest.raises(InputError, match=r"proof: found 1 trees, allowed: 1,265,319,018,496, one for each choice"):
        verify(data)


@pytest.mark.parametrize("index", [0.0, False, "0", None, 1, -1, [0]])
def test_a_choice_of_tables_is_of_integers(index: object) -> None:
    data = proven("equal")
    data["proof"][0]["classes"][0] = index
    with pytest.raises(InputError, match=r"proof\.classes: found .*, allowed: an integer from 0 to 0"):
        verify(data)


def test_nodes_are_counted_in_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two equal tables: four trees of as many nodes as that of one table; one node less in all is too few."""
    data = proven("equal")
    (entry,) = data["proof"]

    def nodes(tree: Data) -> int:
        """Nodes of a tree: a node has events, or an optimum of its own nodes, or multipliers."""
        if "optimum" in tree:
            return nodes(tree["optimum"])
        children = [nodes(each) for each in tree.get("events", {}).values()]
        return sum(children) + 1

    several = data | {
        "speeds": [["1", "9/5"]] * 2,
        "proof": [entry | {"classes": [a, b]} for a in range(2) for b in range(2)],
    }
    optima = json.dumps(entry["tree"]).count('"optimum"')  # nodes that have an optimum are nodes too
    one = nodes(entry["tree"]) + optima
    monkeypatch.setattr(tree_verification, "MOST_NODES", 4 * one)
    assert verify(several).leaves == 4 * verify(data).leaves
    monkeypatch.setattr(tree_verification, "MOST_NODES", 4 * one - 1)
    assert verify(data).supremum == Fraction(6, 5)
    with pytest.raises(InputError, match=r"proof: found more nodes, allowed: at most"):
        verify(several)
