"""Arguments that several spaces take: their checks, the number of jobs of a draw, and their wording for people."""

from collections.abc import Sequence

from dlsched.core.errors import UsageError
from dlsched.core.messages import several
from dlsched.worst.space import Data

MOST_JOBS = 26
"""Most jobs of an instance: one letter names each, so that a person can read it."""
FEWEST_DRAWN, MOST_DRAWN = 2, 4


def jobs_drawn(jobs: int | None, most: int) -> list[int]:
    """Return the numbers of jobs that draws may have, ascending: ``jobs``, else 2 to 4, but at most ``most``."""
    return list(range(min(FEWEST_DRAWN, most), min(MOST_DRAWN, most) + 1)) if jobs is None else [jobs]


def sizes_said(jobs: int, gpus: int, unit: str = "GPU") -> str:
    """Say how many jobs there are at most, and on how many GPUs.

    >>> sizes_said(1, 2)
    'up to 1 job on 2 GPUs'
    """
    return f"up to {several(jobs, 'job')} on {several(gpus, unit)}"


def lettered(jobs: Sequence[Data]) -> list[Data]:
    """Name jobs a, b, c, ... in their order."""
    return [
        {"id": chr(ord("a") + index)} | {key: job[key] for key in job if key != "id"} for index, job in enumerate(jobs)
    ]


def require_one_of(name: str, value: str | None, allowed: Sequence[str | None]) -> None:
    """Refuse a word that is not allowed with a ``UsageError``; None in ``allowed``: it need not be given."""
    if value not in allowed:
        raise UsageError(where=name, found=repr(value), allowed=", ".join(word for word in allowed if word is not None))


def require_sizes(*, jobs: int | None, **sizes: int | None) -> None:
    """Refuse sizes below 1 (None: not given), and more jobs than there are letters, with a ``UsageError``."""
    if jobs is not None and (not isinstance(jobs, int) or not 1 <= jobs <= MOST_JOBS):
        raise UsageError(where="jobs", found=jobs, allowed=f"an integer from 1 to {MOST_JOBS}")
    for name, size in sizes.items():
        if size is not None and (not isinstance(size, int) or size < 1):
            raise UsageError(where=name, found=size, allowed="an integer >= 1")
