"""Every kind of utility: exact methods find what brute force finds, heuristics no more, and certificates bound it."""

from fractions import Fraction

import pytest

import dlsched
from dlsched import ring_embedding
from dlsched.cluster.utility import KINDS
from dlsched.ring_embedding.instance import Instance
from dlsched.testing.ring_embedding import brute_force_max_min, brute_force_ring

SOLVERS = 1e-6


def contended(kind, **more):
    """Two servers on a thin link and three jobs that want all of them, of heights and sizes of their own."""
    figures = (("a", 3, 7.0, 1.0), ("b", 2, 5.0, 2.0), ("c", 1, 3.0, 0.5))
    return Instance(
        name=kind,
        slots=2,
        nodes=[{"id": "s0", "capacity": {"gpu": 2}}, {"id": "s1", "capacity": {"gpu": 1}}],
        links=[{"ends": ("s0", "s1"), "bandwidth_bytes_per_s": 1.0}],
        jobs=[
            {
                "id": name,
                "max_workers": workers,
                "demand": {"gpu": 1},
                "bandwidth_bytes_per_s": 1.0,
                "rate": rate,
                "utility": KINDS[kind].sized(rate * workers * 2, height),
            }
            for name, workers, height, rate in figures
        ],
        **more,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("goal", ["sum", "max_min"])
def test_methods_agree_with_brute_force(kind, goal):
    """The optimum by three exact methods, no more by a plan and by DRF, and no less by any certificate."""
    instance = contended(kind, objective=goal)
    best = brute_force_ring(instance)[0] if goal == "sum" else brute_force_max_min(instance)[0][0]
    for method in ("exact", "milp", "circuit"):
        result = dlsched.solve(instance, method=method)
        assert result.status == "optimal" and result.objective == pytest.approx(best, rel=SOLVERS), method
    for method in ("plan", "drf"):
        found = dlsched.solve(instance, method=method)
        assert dlsched.check(instance, found.solution) == [] and found.objective <= best * (1 + SOLVERS), method
    for method in ("bound", "horizon", "aggregated"):
        certificate = dlsched.solve(instance, method=method).certificate
        assert ring_embedding.FAMILY.verify(instance, certificate) <= Fraction(certificate.value), method
        assert certificate.value >= best * (1 - 1e-12), method


@pytest.mark.parametrize("kind", KINDS)
def test_files_name_the_kind(kind):
    """An instance is written and read with it; the schema has it, and what is refused is told of it."""
    instance = contended(kind)
    data = instance.as_data()
    assert data["jobs"][0]["utility"]["kind"] == kind
    del data["format"]
    assert Instance(**data).sha256 == instance.sha256
    with pytest.raises(dlsched.InstanceError, match=rf"jobs\[0\].utility.kind: found \"none\", allowed: .*'{kind}'"):
        Instance(**data | {"jobs": [data["jobs"][0] | {"utility": {"kind": "none"}}]})
