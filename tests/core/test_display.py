"""What objects show of themselves: little, however much they hold."""

import pytest

import dlsched
from dlsched import FAMILIES, ring_allocation
from dlsched.certificates.kinds import DualsCertificate
from dlsched.core.display import LONGEST, brief

LARGE = ring_allocation.Instance(
    name="large",
    gpus=64,
    jobs=[{"id": f"j{i}", "epochs": i, "epoch_time_s": {1: 138.0, 2: 81.9}} for i in range(10_000)],
)


def test_an_instance_shows_its_fields():
    """A line each, and of the jobs how many there are and the first names."""
    assert (
        repr(LARGE) == str(LARGE) == "Instance: large (ring_allocation)\ngpus: 64\njobs: 10,000: j0, j1, j2, j3, j4, …"
    )
    assert LARGE._repr_html_().startswith("<table><tr><th>Instance</th><td>large (ring_allocation)</td></tr>")
    assert len(LARGE._repr_html_()) < 1000


def test_names_are_shown_as_text():
    """Neither markup nor a second line."""
    instance = LARGE.model_copy(update={"name": "<b>\nx", "jobs": LARGE.jobs[:1]})
    assert repr(instance).splitlines()[0] == "Instance: <b>\\nx (ring_allocation)"
    assert "<b>" not in instance._repr_html_()


def test_a_job_shows_what_differs_from_its_defaults():
    """As it can be written."""
    assert repr(LARGE.jobs[1]) == "Job(id='j1', epochs=1.0, epoch_time_s={1: 138.0, 2: 81.9})"


def test_small_solutions_are_shown_whole():
    """And of large ones the beginning."""
    assert repr(ring_allocation.Allocation({"a": 4, "b": 2})) == "Allocation(gpus={'a': 4, 'b': 2})"
    large = ring_allocation.Allocation({f"j{i}": 1 for i in range(10_000)})
    assert repr(large).startswith("Allocation(gpus={'j0': 1, ") and repr(large).endswith("… 10,000 in all})")
    assert len(repr(large)) <= LONGEST
    assert "<tr><th>…</th><td>9,990 more</td></tr>" in large._repr_html_()


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_of_a_family_shows_more_than_a_few_lines(family):
    """Instance, jobs, solution, result and certificate, of generated instances."""
    record = FAMILIES[family]
    instance = record.generate(jobs=30)
    heuristic = next(name for name, method in record.methods.items() if method.kind == "heuristic")
    result = dlsched.solve(instance, method=heuristic)
    example = record.example()
    certificate = dlsched.solve(example, method=record.best_bound).certificate
    for shown in (instance, *instance.jobs, result, result.solution, certificate):
        assert len(repr(shown)) <= 2 * LONGEST and repr(shown).count("\n") <= 10, type(shown)
        if hasattr(shown, "_repr_html_"):
            assert len(shown._repr_html_()) < 20 * LONGEST, type(shown)


def test_long_certificates_are_cut():
    """Thousands of multipliers are not shown."""
    certificate = DualsCertificate("milp", {f"row{i}": 1.0 for i in range(5000)}, 3.0)
    assert len(repr(certificate)) <= LONGEST
    assert "… 5,000 in all" in repr(certificate)


@pytest.mark.parametrize("value", [1, "a", (), (1,), {}, {"a": [1, 2]}, [(1, 2)], None, 0.5])
def test_short_values_are_as_ever(value):
    """As ``repr`` writes them."""
    assert brief(value) == repr(value)
