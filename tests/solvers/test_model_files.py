"""Model files: whatever the numbers, a reader of the format gets back every one of them, bit by bit."""

import math

import numpy as np
import pytest

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.model_files import lp_text, mps_text

RELATIONS = {
    "<=": lambda right: (-math.inf, right),
    ">=": lambda right: (right, math.inf),
    "=": lambda right: (right, right),
}


def awkward(generator, count):
    """Return numbers that need up to 17 digits, of all magnitudes, and some plain ones."""
    digits = generator.uniform(0.1, 1.0, count) * 10.0 ** generator.integers(-20, 20, count)
    plain = generator.choice([1.0, -1.0, 2.0, 0.5, 1e15, 3e16], count)
    return np.where(generator.random(count) < 0.6, digits * generator.choice([-1.0, 1.0], count), plain)


def drawn(seed):
    """Draw a model of 8 variables of all kinds and 6 rows; the last variable is in no row and has no cost."""
    generator = np.random.default_rng(seed)
    rows = [np.flatnonzero(generator.random(7) < 0.6) for _ in range(5)] + [np.arange(7)]
    right = awkward(generator, 6)
    kind = generator.integers(0, 3, 6)
    lower = np.array([0.0, 0.0, 0.0, -math.inf, -math.inf, *awkward(generator, 1), 0.0, 0.0])
    upper = np.array([1.0, math.inf, math.inf, math.inf, 5.25, lower[5], 0.1, 1.0])
    costs = np.where(generator.random(8) < 0.7, awkward(generator, 8), 0.0)
    costs[7] = 0.0
    return LinearModel(
        sense=Sense.MINIMIZE if seed % 2 else Sense.MAXIMIZE,
        names=[f"x_{index}" for index in range(8)],
        costs=costs,
        constant=0.0,
        lower=lower,
        upper=upper,
        integer=np.array([True, True, False, False, False, False, False, True]),
        row_names=[f"row_{index}" for index in range(6)],
        row_starts=np.cumsum([0, *map(len, rows)]),
        columns=np.concatenate(rows),
        coefficients=awkward(generator, sum(map(len, rows))),
        row_lower=np.where(kind == 0, -math.inf, right),
        row_upper=np.where(kind == 1, math.inf, right),
    )


def facts(model, sign=1.0):
    """Everything that a file holds of a model: costs, rows and variables by name."""
    rows = {}
    for index, name in enumerate(model.row_names):
        columns, values = model.row(index)
        ends = (float(model.row_lower[index]), float(model.row_upper[index]))
        rows[name] = ({model.names[column]: value for column, value in zip(columns, values, strict=True)}, ends)
    costs = {name: sign * cost for name, cost in zip(model.names, model.costs.tolist(), strict=True) if cost != 0}
    variables = zip(model.lower.tolist(), model.upper.tolist(), model.integer.tolist(), strict=True)
    return costs, rows, dict(zip(model.names, variables, strict=True))


def terms(words):
    """Read ``2.5 x - y``."""
    found, sign, size = {}, 1.0, 1.0
    for word in words:
        if word in "+-":
            sign = -1.0 if word == "-" else 1.0
        elif word[0].isdigit():
            size = float(word)
        else:
            found[word], sign, size = sign * size, 1.0, 1.0
    return found


def read_lp(text):
    """Read what ``lp_text`` writes, as the format says: sections, ``name: terms``, bounds, kinds."""
    section, entries, found = "", [], {}
    for line in text.splitlines()[1:]:
        if line in ("Minimize", "Maximize", "Subject To", "Bounds", "Generals", "Binaries", "End"):
            section, entries = line, found.setdefault(line, [])
        elif section in ("Bounds", "Generals", "Binaries") or ":" in line:
            entries.append(line.split())
        else:
            entries[-1] += line.split()
    (objective,) = found.get("Minimize") or found["Maximize"]
    costs = terms(objective[1:])
    rows = {
        words[0].rstrip(":"): (terms(words[1:-2]), RELATIONS[words[-2]](float(words[-1])))
        for words in found["Subject To"]
    }
    variables = {name: [0.0, math.inf, False] for name in [*costs, *(name for row, _ in rows.values() for name in row)]}
    for words in found.get("Bounds", []):
        if words[-1] == "free":
            variables[words[0]][:2] = -math.inf, math.inf
        elif words[1] == "=":
            variables[words[0]][:2] = float(words[2]), float(words[2])
        else:
            name = next(word for word in words if word in variables)
            before, after = words[: words.index(name)], words[words.index(name) + 1 :]
            variables[name][:2] = float(before[0]) if before else 0.0, float(after[1]) if after else math.inf
    for (name,) in found.get("Generals", []):
        variables[name][2] = True
    for (name,) in found.get("Binaries", []):
        variables[name] = [0.0, 1.0, True]
    costs = {name: cost for name, cost in costs.items() if cost != 0}
    return costs, rows, {name: tuple(of_name) for name, of_name in variables.items()}


def read_mps(text):
    """Read what ``mps_text`` writes, as the format says."""
    section, integer, relations, columns, right, variables = "", False, {}, {}, {}, {}
    for line in text.splitlines()[1:]:
        words = line.split()
        if line[0] != " ":
            section = words[0]
        elif section == "ROWS":
            relations[words[1]] = {"L": "<=", "G": ">=", "E": "=", "N": ""}[words[0]]
        elif section == "COLUMNS" and words[1] == "'MARKER'":
            integer = words[2] == "'INTORG'"
        elif section == "COLUMNS":
            variables.setdefault(words[0], [0.0, math.inf, integer])
            columns.setdefault(words[1], {})[words[0]] = float(words[2])
        elif section == "RHS":
            right[words[1]] = float(words[2])
        elif section == "BOUNDS":
            ends = variables[words[2]]
            value = float(words[3]) if len(words) > 3 else math.nan
            new = {"FX": (value, value), "BV": (0.0, 1.0), "FR": (-math.inf, math.inf), "MI": (-math.inf, ends[1])}
            new |= {"LO": (value, ends[1]), "UP": (ends[0], value)}
            ends[:2] = new[words[0]]
    costs = {name: cost for name, cost in columns["OBJ"].items() if cost != 0}
    rows = {name: (columns.get(name, {}), RELATIONS[sign](right[name])) for name, sign in relations.items() if sign}
    return costs, rows, {name: tuple(of_name) for name, of_name in variables.items()}


@pytest.mark.parametrize("seed", range(20))
def test_every_number_reads_back(seed):
    """As LP and as MPS; the latter is minimised, so a maximising model's costs are negated."""
    model = drawn(seed)
    assert read_lp(lp_text(model, "title")) == facts(model)
    assert read_mps(mps_text(model, "title")) == facts(model, model.sign)
    assert all(len(line) <= 78 for line in lp_text(model, "title").splitlines())


def test_by_hand():
    """A model of two variables, letter by letter; its row with two ends is two rows, the empty one has a term all the same."""
    model = LinearModel(
        sense=Sense.MAXIMIZE,
        names=["a", "b"],
        costs=np.array([1 / 3, 0.0]),
        constant=7.0,
        lower=np.array([0.0, -0.0]),
        upper=np.array([10.0, math.inf]),
        integer=np.array([True, False]),
        row_names=["both", "none"],
        row_starts=np.array([0, 2, 2]),
        columns=np.array([1, 0]),
        coefficients=np.array([-1.0, 0.1 + 0.2]),
        row_lower=np.array([-2.0, 0.0]),
        row_upper=np.array([1e22, 0.0]),
    )
    assert lp_text(model, "two").splitlines() == [
        "\\* two *\\",
        "Maximize",
        "OBJ: 0.3333333333333333 a",
        "Subject To",
        "both: 0.30000000000000004 a - b <= 1e+22",
        "both_low: 0.30000000000000004 a - b >= -2",
        "none: 0 a = 0",
        "Bounds",
        " 0 <= a <= 10",
        "Generals",
        "a",
        "End",
    ]
    assert [" ".join(line.split()) for line in mps_text(model, "two").splitlines()][-13:] == [
        "a both 0.30000000000000004",
        "a both_low 0.30000000000000004",
        "a OBJ -0.3333333333333333",
        "MARK 'MARKER' 'INTEND'",
        "b both -1",
        "b both_low -1",
        "RHS",
        "RHS both 1e+22",
        "RHS both_low -2",
        "RHS none 0",
        "BOUNDS",
        "UP BND a 10",
        "ENDATA",
    ]
