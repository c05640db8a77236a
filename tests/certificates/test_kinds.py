"""Certificates as files hold them: written, read back, and refused where they are malformed."""

import json

import pytest

from dlsched.certificates import (
    CompletionsCertificate,
    DualsCertificate,
    LengthsCertificate,
    PackingCertificate,
    PriceCertificate,
    PricesCertificate,
    SrptCertificate,
)
from dlsched.certificates.kinds import certificate_from
from dlsched.core.errors import InputError

KINDS = [
    PriceCertificate(2.0, 6.0),
    DualsCertificate("milp", {"capacity": -1.0}, 3.0),
    SrptCertificate({"a": 1.0}, 2.0),
    SrptCertificate({"a": 1.0}, 2.0, {"b": 0.5}),
    LengthsCertificate({}, 0.0),
    PricesCertificate((0.0, 1.5, 4.0), (0.25, 0.0), 3.0),
    PricesCertificate((), (), 0.0),
    PricesCertificate((0.0, 3.0), (0.5,), 1.0, {"2": (0.25,)}),
    PackingCertificate((0.0, 3.0), {"a": (0.5,)}, (), 1.0),
    PackingCertificate((), {}, ({"from_s": 0.0, "until_s": 1.0, "touching": "a", "charges": {"b": 2.0}},), 1.0),
    CompletionsCertificate(
        (
            {"first": "a", "then": "b"},
            {"first": "a", "by_s": 3.0},
            *({"multipliers": (0.5,)},) * 2,
            {"multipliers": ()},
        ),
        1.0,
    ),
]


def test_as_data():
    """Certificates are written as formats.md says."""
    assert PriceCertificate(2.0, 6.0).as_data() == {"kind": "price", "price": 2.0, "value": 6.0}
    assert DualsCertificate("milp", {"capacity": -1.0}, 3.0).as_data() == {
        "kind": "duals",
        "formulation": "milp",
        "rows": {"capacity": -1.0},
        "value": 3.0,
    }
    assert list(SrptCertificate({"a": 1.0}, 2.0, {"b": 0.5}).as_data()) == ["kind", "sizes", "lengths", "value"]
    prices = PricesCertificate((0.0, 2.0), (0.5,), 1.0).as_data()
    assert json.loads(json.dumps(prices)) == {
        "kind": "prices",
        "breakpoints": [0.0, 2.0],
        "prices": [0.5],
        "value": 1.0,
    }
    assert list(SrptCertificate({"a": 1.0}, 2.0).as_data()) == ["kind", "sizes", "value"]
    assert list(LengthsCertificate({}, 0.0).as_data()) == ["kind", "lengths", "value"]


@pytest.mark.parametrize("certificate", KINDS, ids=repr)
def test_what_is_written_is_read_back(certificate):
    """The same class, the same numbers, from a file too."""
    assert certificate_from(certificate.as_data()) == certificate
    assert certificate_from(json.loads(json.dumps(certificate.as_data()))) == certificate


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "certificate.kind: found null, allowed: price, duals, srpt, lengths, prices, packing, completions"),
        (
            {"kind": "proof"},
            'certificate.kind: found "proof", allowed: price, duals, srpt, lengths, prices, packing, completions',
        ),
        ({"kind": "price", "value": 1.0}, "certificate.price: found nothing, allowed: this field is required"),
        ({"kind": "price", "price": "1", "value": 1.0}, 'certificate.price: found "1", allowed: a number'),
        (
            {"kind": "lengths", "lengths": {"a": -1.0}, "value": 1.0},
            "certificate.lengths.a: found -1.0, allowed: a number >= 0",
        ),
        (
            {"kind": "duals", "formulation": "", "rows": {}, "value": 1.0},
            'certificate.formulation: found "", allowed: a non-empty string',
        ),
        (
            {"kind": "prices", "breakpoints": [0.0, 1.0], "value": 1.0},
            "certificate.prices: found nothing, allowed: this field is required",
        ),
        (
            {"kind": "prices", "breakpoints": [0.0, 1.0], "prices": [-1.0], "value": 1.0},
            "certificate.prices[0]: found -1.0, allowed: a number >= 0",
        ),
        (
            {"kind": "prices", "breakpoints": [0.0, float("inf")], "prices": [1.0], "value": 1.0},
            "certificate.breakpoints[1]: found inf, allowed: a finite number",
        ),
        (
            {"kind": "prices", "breakpoints": [0.0, 1.0], "prices": [1.0], "blocks": {"2": [-1.0]}, "value": 1.0},
            "certificate.blocks.2[0]: found -1.0, allowed: a number >= 0",
        ),
        (
            {"kind": "packing", "breakpoints": [0.0, 1.0], "rates": {"a": [-1.0]}, "windows": [], "value": 1.0},
            "certificate.rates.a[0]: found -1.0, allowed: a number >= 0",
        ),
        (
            {
                "kind": "packing",
                "breakpoints": [],
                "rates": {},
                "windows": [{"from_s": 0.0, "touching": "a", "charges": {}}],
                "value": 1.0,
            },
            "certificate.windows[0].until_s: found nothing, allowed: this field is required",
        ),
        (
            {"kind": "prices", "breakpoints": 0.0, "prices": [], "value": 1.0},
            "certificate.breakpoints: found 0.0, allowed: a list",
        ),
        (
            {"kind": "srpt", "sizes": {}, "value": 1.0, "rows": {}},
            "certificate.rows: found an unknown field, allowed: only the fields of the format",
        ),
    ],
    ids=str,
)
def test_malformed_certificates_are_refused(data, message):
    """The field, what was found, what is allowed."""
    with pytest.raises(InputError) as refused:
        certificate_from(data)
    assert str(refused.value) == message
