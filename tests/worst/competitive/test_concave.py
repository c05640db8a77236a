"""Suprema over all concave tables of speeds: intervals, their certificates, forgeries, and numbers that depend on the table."""

import copy
import json
import random
from fractions import Fraction
from typing import Any

import pytest

from dlsched.core.errors import DlschedError, UsageError
from dlsched.core.limits import Limits
from dlsched.worst.competitive.concave import GAP, AllTables, prove_all_tables
from dlsched.worst.competitive.proven import prove_policy
from dlsched.worst.competitive.tables import Simplex, TableFacts, Varying
from dlsched.worst.competitive.verification import concave_table, verify
from tests.worst.competitive.test_verification import _damage

Data = dict[str, Any]
POLICIES = (
    *("equal", "fixed", "fifo-fastest", "srpt-fastest", "sjf-fastest", "las-fastest", "efficiency-fastest"),
    *("srpt-equal", "sjf-equal", "las-equal", "srpt-fixed", "sjf-fixed", "fifo-knee", "sjf-knee"),
)
HAND = {
    ("equal", 2): "4/3",  # by hand: linear speeds, equal jobs at once: 1 + 1 for 1/2 + 1
    ("equal", 3): "2",  # linear speeds, one unit each, a third is idle: 1 + 1 for 1/3 + 2/3
    ("fixed", 2): "2",  # a short job comes just after a long one
    ("fifo-fastest", 3): "2",
    ("srpt-fastest", 2): "3/2",  # speeds that hardly grow: equal jobs one after the other, 1 + 2 for 1 + 1
    ("srpt-fastest", 3): "3/2",
}


def data_of(proven: AllTables) -> Data:
    """The certificate as text, read again."""
    data: Data = json.loads(json.dumps(proven.as_data()))
    return data


def random_table(generator: random.Random, units: int) -> list[Fraction]:
    """A concave table with speed 1 on one unit, on faces now and then."""
    gains = [Fraction(1)]
    while len(gains) < units:
        gains.append(gains[-1] * generator.choice([Fraction(0), Fraction(1), *(Fraction(k, 16) for k in range(1, 16))]))
    return [sum(gains[: m + 1], Fraction(0)) for m in range(units)]


@pytest.mark.parametrize("units", [2, 3])
@pytest.mark.parametrize("method", POLICIES)
def test_an_interval_holds_the_suprema_of_random_tables(method: str, units: int) -> None:
    """As narrow as asked for; the verifier confirms it; tables are below its upper end, and that shown is near it."""
    _held_against_tables(method, units, 10)


@pytest.mark.parametrize("units", [2, 3])
@pytest.mark.parametrize("method", POLICIES)
def test_an_interval_holds_the_suprema_of_many_tables(method: str, units: int) -> None:
    """The same with 200 tables."""
    _held_against_tables(method, units, 200)


def _held_against_tables(method: str, units: int, tables: int) -> None:
    proven = prove_all_tables(method, units=units)
    assert proven.at_most is not None
    assert proven.at_most <= proven.ratio * (1 + GAP)
    if (method, units) in HAND:
        assert proven.at_most == Fraction(HAND[method, units])
    found = verify(data_of(proven))
    assert (found.supremum, found.ratio, found.interval) == (proven.at_most, proven.ratio, True)
    generator = random.Random(f"{method} {units}")
    for table in [list(proven.setting.speeds[0]), *(random_table(generator, units) for _ in range(tables))]:
        supremum = prove_policy(method, speeds=[table], jobs=2).supremum
        assert supremum is not None
        assert supremum <= proven.at_most
        assert table != list(proven.setting.speeds[0]) or supremum * (1 + GAP) >= proven.at_most


@pytest.mark.parametrize(
    ("method", "units"), [("equal", 2), ("srpt-fastest", 2), ("srpt-equal", 2), ("sjf-fastest", 3)]
)
def test_forged_certificates_prove_nothing_false(method: str, units: int) -> None:
    """A random change somewhere: refused, or what it states is no less than the ratio of the instance of the true one."""
    _forged(method, units, 30)


@pytest.mark.parametrize(("method", "units"), [("equal", 3), ("srpt-fastest", 3), ("fifo-knee", 3), ("srpt-equal", 2)])
def test_many_forged_certificates_prove_nothing_false(method: str, units: int) -> None:
    """The same, 500 of each."""
    _forged(method, units, 500)


def _forged(method: str, units: int, count: int) -> None:
    good = data_of(prove_all_tables(method, units=units))
    supremum, at_most = Fraction(good["ratio"]), Fraction(good["at_most"])
    generator = random.Random(f"{method} {units}")
    refused = 0
    for _ in range(count):
        data = copy.deepcopy(good)
        if generator.random() < 0.5:
            _damage(data, generator)
        else:
            _damage_cells(data, generator)
        if generator.random() < 0.3:
            data["at_most"] = str(at_most * Fraction(generator.randint(9_000, 9_999), 10_000))
        try:
            found = verify(data)
        except (ValueError, DlschedError):
            refused += 1
            continue
        assert found.supremum is not None
        assert found.supremum >= supremum
    assert refused >= count // 3


def _damage_cells(data: Data, generator: random.Random) -> None:
    """Drop a cell, move a corner, exchange parts, leave ties out, or move a tree to another cell."""
    cells: list[Data] = []

    def collect(cell: Data) -> None:
        cells.append(cell)
        for part in (*cell.get("parts", ()), *(tie["cell"] for tie in cell.get("ties", ()))):
            collect(part)

    collect(data["proof"][0])
    cell = generator.choice(cells)
    if "parts" not in cell:
        if generator.random() < 0.5 and cell.pop("ties", None) is not None:
            return
        cell["tree"] = copy.deepcopy(generator.choice([each["tree"] for each in cells if "tree" in each]))
        return
    what = generator.randrange(5)
    if what == 0:
        cell["parts"].pop(generator.randrange(2))
    elif what == 1:
        cell["parts"].reverse()
    elif what == 2:
        cell["at"] = generator.choice(["0", "1", "1/3", "2/3", "-1/2", "3/2"])
    elif what == 3:
        cell["edge"] = generator.choice([cell["edge"][::-1], [0, 0], [0, len(cell["edge"])], [1, 2]])
    else:
        part = cell["parts"][generator.randrange(2)]
        cell.clear()
        cell.update(part)


def test_tables_on_which_numbers_are_equal_need_a_proof_of_their_own() -> None:
    """By hand: with speeds 1, 1 ``fastest`` takes one unit, with 1, 1 + e two: the corner is a face of its own."""
    data = data_of(prove_all_tables("srpt-fastest", units=2))
    (tie,) = data["proof"][0].pop("ties")
    assert tie["face"] == [0]
    with pytest.raises(ValueError, match=r"ties: without the faces \[\(0,\)\]"):
        verify(data)


@pytest.mark.parametrize("times", [{"1": 2.0, "2": 0.5}, {"1": 1.0, "2": 2.0}, {"1": 4.0}])
def test_the_instance_has_a_concave_table(times: dict[str, float]) -> None:
    """Speeds 1, 4 are convex, 1, 1/2 fall, and one is missing."""
    data = data_of(prove_all_tables("equal", units=2))
    for job in data["instance"]["jobs"]:
        job["epoch_time_s"] = times
    with pytest.raises(ValueError, match="has none of the speeds"):
        verify(data)


def test_concave_tables() -> None:
    """By hand, as seconds per epoch."""
    assert concave_table([Fraction(6), Fraction(3), Fraction(2)]) == [(1, 2, 3)]
    assert concave_table([Fraction(6), Fraction(3), Fraction(3)]) == [(1, 2, 2)]
    assert not concave_table([Fraction(6), Fraction(4), Fraction(2)])  # 1, 3/2, 3


@pytest.mark.parametrize("programs", [30, 100, 200])
def test_a_limit_gives_an_interval(programs: int) -> None:
    """Verified, if all tables have a bound by then; it is no narrower with fewer programs."""
    proven = prove_all_tables("equal", units=3, limits=Limits(nodes=programs))
    assert proven.ended == "limit"
    assert proven.ratio <= 2
    if proven.at_most is None:
        assert proven.as_data()["proof"] == []
    else:
        assert verify(data_of(proven)).supremum == proven.at_most >= 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "plan"}, "method: found 'plan'"),
        ({"method": "weighted"}, "method: found 'weighted': a quotient by a sum of times or of speeds"),
        ({"units": 5}, "gpus: found 5, allowed: 1 to 4 with all concave tables"),
        ({"jobs": 3}, "jobs: found 3"),
        ({"gap": Fraction(0)}, "gap: found 0"),
        ({"limits": Limits(nodes=0)}, "found a node_limit after 0 linear programs"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], said: str) -> None:
    """By name, with what is allowed."""
    with pytest.raises(UsageError, match=said):
        prove_all_tables(**{"method": "equal", "units": 2} | arguments)


def test_numbers_of_the_table_are_those_of_each_table() -> None:
    """Sums, products and quotients of speeds, and forms with such coefficients, at random tables, against fractions."""
    generator = random.Random(3)
    corners = [tuple(Fraction(min(m, k), k) for m in range(1, 4)) for k in range(1, 4)]
    facts = TableFacts(Simplex(corners), 2)
    times = facts.times()
    form = facts.form([1, 0]) - facts.form([0, 1]) * (1 / times[2]) + facts.form([0, 1]) * (times[1] / times[3])
    number = (1 / times[1] + 1 / times[2]) * times[3] - Fraction(1, 7)
    for _ in range(20):
        shares = [Fraction(generator.randint(1, 9)) for _ in corners]
        weights = [each / sum(shares) for each in shares]
        s = [sum(x * corner[m] for x, corner in zip(weights, corners, strict=True)) for m in range(3)]
        assert _value(form, weights, s) == [1, -s[1] + s[2] / s[0]]
        assert _value(number, weights, s) == [(s[0] + s[1]) / s[2] - Fraction(1, 7)]


def _value(number: Varying, weights: list[Fraction], speeds: list[Any]) -> list[Fraction]:
    total = [Fraction(0)] * len(next(iter(number.terms.values())))
    for at, row in number.terms.items():
        factor = Fraction(1)
        for weight, power in zip(weights, at, strict=True):
            factor *= weight**power
        for speed, power in zip(speeds, number.powers, strict=True):
            factor *= speed**power
        total = [old + factor * each for old, each in zip(total, row, strict=True)]
    return total
