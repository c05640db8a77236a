"""The shipped streams: optima of those with ticks by HiGHS."""

from pathlib import Path

import pytest
from shipped import assert_proven_again, each_of, known


@pytest.mark.long
@each_of("elastic_stream")
def test_known_optimum_by_another_code_base(path: Path) -> None:
    """HiGHS proves the stated optima with decisions at ticks."""
    instance = known(path)
    if instance.tick_s is None:
        pytest.skip("the linear program is of decisions at ticks")
    assert_proven_again(instance, "milp", "highs")
