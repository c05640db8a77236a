"""The shipped gangs: their optima by HiGHS and by CP-SAT."""

from pathlib import Path

import pytest
from shipped import assert_proven_again, each_of, known

SERVERS = 8  # on more there are too many layouts


@pytest.mark.long
@each_of("srpt_mapping")
def test_known_optimum_by_another_code_base(path: Path) -> None:
    """HiGHS proves few gangs on few servers."""
    instance = known(path)
    if len(instance.jobs) > 5 or len(instance.servers) > SERVERS:
        pytest.skip("HiGHS proves few gangs on few servers")
    assert_proven_again(instance, "milp", "highs")


@pytest.mark.long
@each_of("srpt_mapping")
def test_known_optimum_by_intervals(path: Path) -> None:
    """CP-SAT proves the stated optima on its own model."""
    instance = known(path)
    if len(instance.servers) > SERVERS:
        pytest.skip("too many layouts")
    assert_proven_again(instance, "intervals")
