"""Utilities: values against decimals of 400 digits, what floats of them are off by, shapes, files and refusals."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial

import conftest
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, reject
from hypothesis import strategies as st
from pydantic import TypeAdapter

from dlsched.cluster.utility import KINDS, AlphaFair, Loss, Table, Utility
from dlsched.core.errors import InstanceError
from dlsched.ring_embedding.instance import Instance

RELATIVE = Fraction(1, 2**50)
ANY = TypeAdapter(Utility)

powers_of_ten = st.floats(-100.0, 100.0).map(lambda power: 10.0**power)
sizes = st.one_of(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), powers_of_ten)
amounts = st.one_of(st.just(0.0), sizes)
progress = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.integers(1, 5000).map(float), powers_of_ten)
positions = st.lists(progress, min_size=1, max_size=8)
profile = partial(conftest.profile, suppress_health_check=[HealthCheck.filter_too_much])


def allowed(kind, **fields):
    """The utility, unless it is refused as too large or too small."""
    try:
        return kind(**fields)
    except InstanceError:
        reject()


@st.composite
def alpha_fair(draw):
    """Alphas from 0 to 8 and about 1; shifts from far below to far above what is asked for."""
    alpha = draw(st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, 1 - 1e-9, 1 + 1e-12]), st.floats(0.0, 8.0)))
    shift = draw(sizes if alpha >= 1 else amounts)
    return allowed(AlphaFair, alpha=alpha, scale=draw(sizes), shift=shift)


@st.composite
def losses(draw):
    """Curves that fall, fast or slowly, and flat ones."""
    return allowed(Loss, scale=draw(sizes), curve={"b0": draw(amounts), "b1": draw(sizes), "b2": draw(amounts)})


@st.composite
def tables(draw):
    """Any points that do not fall, one of them at 0; steps of all sizes, plateaus."""
    widths = draw(st.lists(sizes, max_size=6))
    rises = [draw(amounts) for _ in widths]
    at = itertools.accumulate(widths, initial=0.0)
    return allowed(Table, progress=list(at), worth=list(itertools.accumulate(rises, initial=draw(amounts))))


def decimal(number):
    """A float as a decimal, exactly; a fraction to all digits."""
    return Decimal(number) if isinstance(number, float) else Decimal(number.numerator) / Decimal(number.denominator)


def exact(utility, x):
    """The utility as its docstring has it, by decimals."""
    with localcontext() as context:
        context.prec = 400  # what is left of powers of numbers that differ by 1e-200 of themselves
        x = decimal(x)
        if utility.kind == "alpha_fair":
            scale, shift, power = map(decimal, (utility.scale, utility.shift, 1 - Fraction(utility.alpha)))
            if power == 0:
                return scale * ((x + shift) / shift).ln()
            return scale * (raised(x + shift, power) - raised(shift, power)) / power
        if utility.kind == "loss":
            b0, b1, b2 = map(decimal, (utility.curve.b0, utility.curve.b1, utility.curve.b2))
            return decimal(utility.scale) * ((1 / b1 + b2) - (1 / (b0 * x + b1) + b2))
        points = list(zip(map(decimal, utility.progress), map(decimal, utility.worth), strict=True))
        for (a, low), (b, high) in itertools.pairwise(points):
            if x <= b:
                return low + (high - low) * (x - a) / (b - a)
        return points[-1][1]


def raised(base, power):
    """A power, 0 of 0 for powers > 0."""
    return Decimal(0) if base == 0 else (power * base.ln()).exp()


@profile(100)
@given(st.one_of(alpha_fair(), losses(), tables()), positions)
@example(AlphaFair(alpha=1 + 1e-12, scale=1.0, shift=1e-6), [1e9])
@example(AlphaFair(alpha=8.0, scale=1.0, shift=1e-6), [1e-9, 1e9])
@example(AlphaFair(alpha=0.999, scale=1.0, shift=1e6), [1e-9])
@example(Loss(scale=1e6, curve={"b0": 1e-6, "b1": 1e6}), [1e-9, 1e9])
def test_floats_are_as_near_as_they_say(utility, xs):
    """Within a relative 2**-50 and ``error`` of the largest one asked for, as bounds take it for granted."""
    values = utility.values(np.array(xs))
    allowed = Fraction(utility.error(float(values.max())))
    for x, value in zip(xs, values.tolist(), strict=True):
        assert utility.at(x) == value
        off = abs(Fraction(value) - Fraction(exact(utility, x)))
        assert off <= allowed + RELATIVE * Fraction(value), float(off / Fraction(value or 1))


@profile(100)
@given(st.one_of(alpha_fair(), losses(), tables()), positions)
def test_none_falls_and_nothing_is_worth_nothing(utility, xs):
    """Up to what floats are off by; a table begins with what it says."""
    ordered = np.array(sorted(xs))
    values = utility.values(ordered)
    slack = utility.error(float(values.max())) + 2.0**-50 * float(values.max())
    assert all(before <= after + slack for before, after in itertools.pairwise(values.tolist()))
    assert utility.at(0.0) == (utility.worth[0] if utility.kind == "table" else 0.0)


def test_values_by_hand():
    """Linear, root, logarithm, 1 - 1 / (1 + x); a loss of 2 that has halved at 1; between the points of a table."""
    assert AlphaFair(alpha=0.0, scale=3.0, shift=7.0).at(5.0) == pytest.approx(15.0, rel=1e-15)
    assert AlphaFair(alpha=0.5, scale=3.0).at(4.0) == 12.0
    assert AlphaFair(alpha=1.0, scale=3.0, shift=2.0).at(2.0) == pytest.approx(3 * math.log(2), rel=1e-15)
    assert AlphaFair(alpha=2.0, scale=1.0, shift=1.0).at(3.0) == pytest.approx(0.75, rel=1e-15)
    assert Loss(scale=3.0, curve={"b0": 0.5, "b1": 0.5, "b2": 9.0}).at(1.0) == 3.0
    table = Table(progress=[0.0, 2.0, 4.0, 5.0], worth=[1.0, 1.0, 5.0, 5.5])
    assert table.values(np.array([0.0, 1.0, 2.0, 3.0, 4.5, 5.0, 99.0])).tolist() == [1.0, 1.0, 1.0, 3.0, 5.25, 5.5, 5.5]
    assert Table(progress=[0.0], worth=[2.5]).values(np.array([0.0, 8.0])).tolist() == [2.5, 2.5]


@profile(80)
@given(tables())
def test_tables_are_concave_where_no_slope_rises(table):
    """Exactly: of three points after each other the middle one is on the line between the others, or above."""
    points = [(Fraction(x), Fraction(y)) for x, y in zip(table.progress, table.worth, strict=True)]
    bends = zip(points, points[1:], points[2:], strict=False)
    assert table.concave == all((b - a) * (z - y) >= (c - b) * (y - x) for (x, a), (y, b), (z, c) in bends)


def test_shapes_by_hand():
    """All alpha-fair utilities and losses are concave, and tables that bend down; not those with a rise after a plateau."""
    assert AlphaFair(alpha=0.0, scale=1.0).concave and AlphaFair(alpha=5.0, scale=1.0, shift=0.1).concave
    assert Loss(scale=1.0, curve={"b0": 1.0, "b1": 1.0}).concave
    assert Table(progress=[0.0], worth=[3.0]).concave
    assert Table(progress=[0.0, 1.0, 2.0, 9.0], worth=[0.0, 2.0, 4.0, 4.0]).concave
    assert not Table(progress=[0.0, 1.0, 2.0], worth=[1.0, 1.0, 2.0]).concave
    assert not Table(progress=[0.0, 1.0, 2.0], worth=[0.0, 1.0, 2.0 + 2.0**-51]).concave


@profile(100)
@given(st.one_of(alpha_fair(), losses(), tables()))
def test_files_hold_all_of_it(utility):
    """Written with its kind and read again it is the same."""
    text = utility.model_dump_json()
    assert f'"kind":"{utility.kind}"' in text
    assert ANY.validate_json(text) == utility


@pytest.mark.parametrize(
    ("fields", "where", "message"),
    [
        ({"kind": "alpha_fair", "alpha": 2, "scale": 1, "shift": 0}, "shift", "found 0, allowed: a number > 0 where"),
        ({"kind": "alpha_fair", "alpha": -0.5, "scale": 1}, "alpha", "found -0.5, allowed: a number >= 0"),
        ({"kind": "alpha_fair", "alpha": 0.5, "scale": 0}, "scale", "found 0, allowed: a number > 0"),
        ({"kind": "alpha_fair", "alpha": 0.5, "scale": 1, "shift": -1}, "shift", "found -1, allowed: a number >= 0"),
        ({"kind": "alpha_fair", "scale": 1}, "alpha", "this field is required"),
        (
            {"kind": "alpha_fair", "alpha": 40, "scale": 1, "shift": 1e3},
            "alpha",
            "found a limit of 1e-119, allowed: fields by which a utility grows up to a number from 1e-100 to 1e100",
        ),
        ({"kind": "alpha_fair", "alpha": 40, "scale": 1, "shift": 1e-3}, "alpha", "found a limit of 1e115"),
        ({"kind": "loss", "scale": 1, "curve": {"b0": 1, "b1": 0}}, "curve.b1", "found 0, allowed: a number > 0"),
        ({"kind": "loss", "scale": 1, "curve": {"b0": -1, "b1": 1}}, "curve.b0", "found -1, allowed: a number >= 0"),
        ({"kind": "loss", "scale": 1, "curve": {"b0": 1, "b1": 1, "b3": 1}}, "curve.b3", "found an unknown field"),
        ({"kind": "loss", "scale": 1e60, "curve": {"b0": 1, "b1": 1e-60}}, "scale", "scale / b1"),
        (
            {"kind": "table", "progress": [0, 1], "worth": [0]},
            "worth",
            "found 1 numbers, allowed: 2, as many as progress",
        ),
        ({"kind": "table", "progress": [1, 2], "worth": [0, 1]}, "progress[0]", "found 1.0, allowed: 0"),
        (
            {"kind": "table", "progress": [0, 2, 2], "worth": [0, 1, 2]},
            "progress[2]",
            "found 2.0, allowed: a number > 2.0",
        ),
        (
            {"kind": "table", "progress": [0, 1, 2], "worth": [0, 2, 1]},
            "worth[2]",
            "found 1.0, allowed: a number >= 2.0",
        ),
        ({"kind": "table", "progress": [], "worth": []}, "progress", "allowed"),
        ({"kind": "table", "progress": [0], "worth": [-1]}, "worth[0]", "found -1, allowed: a number >= 0"),
    ],
)
def test_refusals_name_the_field(fields, where, message):
    """In an instance: where, what was found and what is allowed."""
    job = {"id": "a", "max_workers": 1, "demand": {"gpu": 1}, "bandwidth_bytes_per_s": 0, "rate": 1, "utility": fields}
    with pytest.raises(InstanceError) as refused:
        Instance(name="one", slots=1, nodes=[{"id": "s", "capacity": {"gpu": 1}}], links=[], jobs=[job])
    assert str(refused.value).startswith(f"jobs[0].utility.{where}: ")
    assert message in str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_what_all_promise(kind):
    """Of the size asked for; it never falls, is concave where it says so, and the same for one and for many, and in files."""
    utility = KINDS[kind].sized(200.0, 7.0)
    assert utility.kind == kind and utility.at(200.0) == pytest.approx(7.0, rel=1e-3)
    xs = np.linspace(0.0, 400.0, 801)
    values = utility.values(xs)
    slack = utility.error(float(values.max())) + 2.0**-50 * float(values.max())
    rises = np.diff(values)
    assert values.tolist() == pytest.approx([utility.at(x) for x in xs.tolist()], rel=1e-15)
    assert values[0] >= 0 and (rises >= -slack).all()
    assert utility.concave == bool((np.diff(rises) <= 4 * slack).all())
    assert ANY.validate_json(utility.model_dump_json()) == utility
