"""The verifier of ``benchmarks`` that imports nothing of dlsched, beside dlsched's own: certificates, and forgeries of them."""

import ast
import copy
import functools
import json
import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import second_verifier

from dlsched.core.errors import DlschedError
from dlsched.worst.competitive import verification
from dlsched.worst.competitive.proven import prove_policy, speeds_of

Data = dict[str, Any]
Case = tuple[str, str, int, int]
ORDERS, SIZINGS = ("fifo", "srpt", "sjf"), ("fixed", "fastest", "knee", "equal", "marginal")
METHODS = ["equal", *(f"{order}-{sizing}" for order, sizing in product(ORDERS, SIZINGS))]
TABLES = {2: "1,9/5", 3: "1,7/4,9/4", 4: "1,9/5,5/2,31/10"}


def of_two_jobs() -> Iterator[Case]:
    """Policy, law of speeds, units and jobs: the policies in turn, on all laws and units."""
    settings = [(law or TABLES[units], units) for units in TABLES for law in ("linear", "power:4/5", "amdahl:1/10", "")]
    for k in range(40):
        law, units = settings[(k * 5 + k // 16) % len(settings)]
        yield METHODS[k % len(METHODS)], law, units, 2


OF_TWO = [*of_two_jobs()]
OF_THREE = [
    *((method, TABLES[2], 2, 3) for method in ("equal", "fifo-fixed", "fifo-marginal", "srpt-knee", "sjf-fastest")),
    *(
        (method, "amdahl:1/10", 2, 3)
        for method in ("srpt-fixed", "sjf-equal", "srpt-fastest", "fifo-knee", "sjf-fixed")
    ),
]
MIXED = ("equal", "1,1;1,2", 2, 2)


@functools.cache
def _certificate(case: Case) -> str:
    method, law, units, jobs = case
    return json.dumps(prove_policy(method, speeds=speeds_of(law, units), jobs=jobs).as_data())


def certificate(case: Case) -> Data:
    """Return a new copy of the certificate of the search."""
    data: Data = json.loads(_certificate(case))
    return data


def verdicts(data: Data) -> tuple[bool, bool]:
    """Whether dlsched's verifier accepts, and whether the second one does."""
    accepted = []
    for verify, errors in ((verification.verify, (ValueError, DlschedError)), (second_verifier.verify, ValueError)):
        try:
            verify(copy.deepcopy(data))
        except errors:
            accepted.append(False)
        else:
            accepted.append(True)
    return accepted[0], accepted[1]


def agree(cases: list[Case]) -> None:
    """Both verify these certificates."""
    for case in cases:
        assert verdicts(certificate(case)) == (True, True), case


def test_it_imports_nothing_of_dlsched() -> None:
    """Of all imports of the file the first part of the name is of the standard library."""
    tree = ast.parse(Path(second_verifier.__file__).read_text(encoding="utf-8"))
    names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert names
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_both_verify_twelve_certificates_of_two_jobs() -> None:
    """Every order and sizing, and two tables."""
    agree([*OF_TWO[:11], MIXED])


def test_both_verify_fifty_certificates() -> None:
    """40 of two jobs and 10 of three."""
    assert len({*OF_TWO, *OF_THREE}) == 50
    agree([*OF_TWO, *OF_THREE])


def places(at: Any) -> Iterator[tuple[Any, Any]]:
    """All containers and keys in some data."""
    for key, value in at.items() if isinstance(at, dict) else enumerate(at):
        yield at, key
        if isinstance(value, dict | list):
            yield from places(value)


def _number(data: Data, generator: random.Random) -> None:
    """Another number somewhere: near, opposite, zero, or that of another place."""
    texts = [
        (at, key) for at, key in places(data) if isinstance(at[key], str) and at[key][-1:].isdigit() and key != "id"
    ]
    at, key = generator.choice(texts)
    other, where = generator.choice(texts)
    try:
        value = Fraction(at[key])
    except ValueError:
        value = Fraction(1)
    near = value * generator.choice([Fraction(9, 10), Fraction(11, 10), Fraction(-1), Fraction(0), Fraction(2)])
    at[key] = generator.choice([str(near), str(value + 1), other[where]])


def _branch(data: Data, generator: random.Random) -> None:
    """A branch or an entry less, or one of a list twice."""
    at, key = generator.choice([each for each in places(data["proof"]) if isinstance(each[0][each[1]], dict | list)])
    if isinstance(at, list) and generator.random() < 0.5:
        at.append(copy.deepcopy(at[key]))
    else:
        del at[key]


def _swap(data: Data, generator: random.Random) -> None:
    """Two nodes of the trees trade places, if neither is within the other."""
    nodes = [(at, key) for at, key in places(data["proof"]) if isinstance(at, dict) and isinstance(at[key], dict)]
    leaves = [(at, key) for at, key in nodes if "work" in at[key]]
    (one, first), (other, second) = (generator.choice(generator.choice([nodes, leaves])) for _ in range(2))
    a, b = copy.deepcopy(one[first]), copy.deepcopy(other[second])
    one[first], other[second] = b, a


def _rename(data: Data, generator: random.Random) -> None:
    """Another policy."""
    data["method"] = generator.choice([*METHODS, "fixed", "marginal"])


def _events(data: Data, generator: random.Random) -> None:
    """Two events of a node trade names, or one has another name."""
    nodes = [at[key] for at, key in places(data["proof"]) if key == "events"]
    node = generator.choice([each for each in nodes if each])
    names = generator.sample([*node], min(len(node), 2))
    new = names[::-1] if len(names) == 2 and generator.random() < 0.7 else ["end 1", "end 0"][: len(names)]
    moved = {name: node.pop(name) for name in names}
    node.update(zip(new, moved.values(), strict=True))


def _split(data: Data, generator: random.Random) -> None:
    """Branches of a split trade places, or the split is replaced by one of its branches."""
    found = [(at, key) for at, key in places(data["proof"]) if isinstance(at[key], dict) and "split" in at[key]]
    if not found:
        return _events(data, generator)
    at, key = generator.choice(found)
    node = at[key]
    if generator.random() < 0.5:
        node["positive"], node["negative"] = node["negative"], node["positive"]
    else:
        at[key] = node[generator.choice(["positive", "negative"])]
    return None


def _supremum(data: Data, generator: random.Random) -> None:
    """A lower or higher supremum, and all multipliers with it; sometimes the ratio, too."""
    factor = Fraction(generator.choice([1, 7, 8, 9, 11, 12]), 10) if generator.random() < 0.8 else Fraction(1, 2)
    for at, key in list(places(data)):
        if key in ("work", "arrival", "rows") and isinstance(at[key], list):
            at[key] = [str(Fraction(value) * factor) for value in at[key]]
    name = "supremum" if "supremum" in data else "at_most"
    data[name] = str(max(Fraction(1), Fraction(data[name]) * factor))
    if generator.random() < 0.5:
        data["ratio"] = data[name]
        data.pop("limit", None)


def _instance(data: Data, generator: random.Random) -> None:
    """Another number of a job, another job's table, or jobs in another order; sometimes of speeds, too."""
    jobs = data["instance"]["jobs"]
    job = generator.choice(jobs)
    kind = generator.randrange(5)
    if kind < 2:
        name = ("epochs", "arrival_s")[kind]
        job[name] = generator.choice([0.0, 1.0, job[name] * 2, job[name] + 1, -1.0, 1e300])
    elif kind == 2:
        count = generator.choice([*job["epoch_time_s"]])
        job["epoch_time_s"][count] *= generator.choice([0.5, 2.0, 1.0000001])
    elif kind == 3:
        jobs.reverse()
    else:
        table = generator.choice(data["speeds"])
        table[generator.randrange(len(table))] = str(generator.randint(1, 9))


FORGERS = (_number, _number, _branch, _swap, _rename, _events, _split, _supremum, _instance)


def forge(cases: list[Case], count: int, seed: int) -> tuple[int, list[tuple[str, Case, tuple[bool, bool]]]]:
    """Judge forgeries: how many are refused by both, and those on which the verdicts differ. None that is accepted is false."""
    generator = random.Random(seed)
    refused, differing = 0, []
    for k in range(count):
        case = cases[k % len(cases)]
        data, forger = certificate(case), FORGERS[k % len(FORGERS)]
        forger(data, generator)
        if data == certificate(case):
            continue
        found = verdicts(data)
        refused += found == (False, False)
        if any(found):
            speeds = tuple(tuple(map(Fraction, table)) for table in data["speeds"])
            assert Fraction(data["supremum"]) == _supremum_of(data["method"], speeds, data["jobs"]), (
                forger,
                case,
                found,
            )
        if found[0] != found[1]:
            differing.append((forger.__name__, case, found))
    return refused, differing


@functools.cache
def _supremum_of(method: str, speeds: tuple[tuple[Fraction, ...], ...], jobs: int) -> Fraction:
    return prove_policy(method, speeds=speeds, jobs=jobs).supremum


def test_neither_accepts_a_falsehood() -> None:
    """180 forgeries of certificates of two jobs."""
    refused, differing = forge(OF_TWO[:5], 180, 7)
    assert refused >= 120
    assert not differing


def test_neither_accepts_a_falsehood_of_two_thousand() -> None:
    """1,900 of two jobs, some with two tables, and 100 of three jobs."""
    for cases, count, seed in (([*OF_TWO[::3], MIXED], 1_900, 8), (OF_THREE[:2], 100, 9)):
        refused, differing = forge(cases, count, seed)
        assert refused >= count * 6 // 10
        # dlsched counts the last piece of a job whole, the second verifier to the job's end; what it accepts is true.
        assert all(found == (False, True) for _, _, found in differing)
        assert len(differing) <= count // 100
