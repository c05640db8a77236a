"""What a search holds: the certificate that proves most, and a bound that is its own."""

import pytest

from dlsched.certificates import LengthsCertificate
from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import Sense


def holding(sense: Sense, *values: float) -> Search[str]:
    """A search to which certificates of these values were handed."""
    search = Search[str](objective=len, check=lambda solution: [], sense=sense, limits=Limits())
    for value in values:
        search.prove(value, source="certificate", certificate=LengthsCertificate({}, value))
    return search


@pytest.mark.parametrize(
    ("sense", "values", "most"), [(Sense.MINIMIZE, (2.0, 3.0, 1.0), 3.0), (Sense.MAXIMIZE, (2.0, 1.0, 3.0), 1.0)]
)
def test_the_certificate_that_proves_most_is_held(sense: Sense, values: tuple[float, ...], most: float) -> None:
    """A weaker one that comes later would not prove the bound that is said to be of the certificate."""
    search = holding(sense, *values)
    assert search.bound == search.certificate.value == most


def test_a_certificate_in_another_form_says_what_it_proves() -> None:
    """The bound follows where it is the certificate's own, and stays where something else has proven more."""
    search = holding(Sense.MINIMIZE, 3.0)
    search.restate(LengthsCertificate({}, 2.5))
    assert search.bound == search.certificate.value == 2.5
    search.prove(4.0, source="HiGHS")
    search.restate(LengthsCertificate({}, 2.0))
    assert (search.bound, search.bound_source, search.certificate.value) == (4.0, "HiGHS", 2.0)
