"""``dlsched generate``: numbers of which no instance can be made are wrong usage, and the option is named."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from dlsched.core.arguments import LARGEST_DRAWN
from dlsched.core.errors import InstanceError, UsageError
from dlsched.families import FAMILIES
from dlsched.ring_allocation.generator import generate

REALS = ("load", "tick", "alpha", "energy_price", "weights")
TEXT = ("objective", "preset")
COUNTS = ("0", "-1", "1", "2", "9007199254740993", "9223372036854775808", "1" + "0" * 30, "1" + "0" * 400)
NUMBERS = ["0", "-1", "1", "1000", "-1e200", "nan", "inf", "-inf"]
NUMBERS += [f"1e{power}" for power in (-320, -200, -101, -100, -99, -20, 4, 20, 99, 100, 101, 200, 308, 400)]
"""Whether a number is refused depends on the family; that a refusal is wrong usage does not."""


def numbers_of(name: str) -> Sequence[str]:
    """What is tried for a number of this name."""
    return NUMBERS if name in REALS else COUNTS


def lines() -> Iterator[tuple[str, str, Sequence[str], list[str]]]:
    """Every family, preset and number that ``generate`` takes, each alone, beside few jobs; of further presets a third."""
    for family, record in FAMILIES.items():
        numbers = [name for name in inspect.signature(record.generate).parameters if name not in TEXT]
        for preset in record.presets:
            for name in numbers:
                further = [] if name == "jobs" else ["--jobs=2"]
                further += ["--objective=alpha_fair"] if (family, name) == ("matching_placement", "alpha") else []
                words = ["generate", family, "--preset", preset, "-o", "/dev/null", *further]
                yield family, name, numbers_of(name)[:: 1 if preset == next(iter(record.presets)) else 3], words


@pytest.mark.parametrize("family", FAMILIES)
def test_2_wherever_a_number_makes_no_instance(family: str, cli: Callable[..., Any]) -> None:
    """Never 3, which blames a file, never a traceback: exit 2 and the option, for all presets."""
    refused = 0
    for of, name, tried, words in lines():
        if of != family:
            continue
        for number in tried:
            ended = cli(*words, f"--{name.replace('_', '-')}={number}")
            assert ended.code in (0, 2), (words, name, number, ended.err)
            if ended.code == 2:
                refused += 1
                assert name.replace("_", "-") in ended.err.replace("_", "-"), (words, number, ended.err)
    assert refused > 20


def test_the_line_of_the_price_of_energy(cli: Callable[..., Any]) -> None:
    """As other numbers out of range."""
    ended = cli("generate", "ring_embedding", "--preset", "energy", "--energy-price", "1e200")
    assert (ended.code, ended.out) == (2, "")
    assert ended.line == "dlsched: --energy-price: found 1e+200, allowed: a number from 1e-100 to 1e+100"


@pytest.mark.parametrize("family", FAMILIES)
def test_counts_that_no_memory_holds(family: str, cli: Callable[..., Any]) -> None:
    """Every count of every family ends at the same number, and is refused before anything is drawn."""
    takes = inspect.signature(FAMILIES[family].generate).parameters
    counts = [name for name in ("jobs", "gpus", "max_gpus", "nodes", "max_nodes", "servers", "slots") if name in takes]
    assert len(counts) >= 2
    for name in counts:
        option = f"--{name.replace('_', '-')}"
        for found in (LARGEST_DRAWN + 1, 2**53):
            ended = cli("generate", family, option, found)
            assert (ended.code, ended.out) == (2, "")
            assert ended.line == f"dlsched: {option}: found {found}, allowed: an integer from 1 to 100,000,000"


def test_what_is_wrong_together(cli: Callable[..., Any]) -> None:
    """Each could be, but a tick of 1e-9 s is too short for jobs of hours: both are named, and what is allowed."""
    ended = cli("generate", "elastic_stream", "--jobs", 3, "--tick", "1e-9")
    assert ended.code == 2
    assert ended.line.startswith(
        "dlsched: --jobs, --tick: found jobs 3, tick 1e-09, allowed: those of which an instance can be "
    )
    assert "tick_s: found 1e-09" in ended.line


def test_a_generator_in_python_says_the_same() -> None:
    """``UsageError``, and no ``InstanceError``: there is no instance that could be wrong."""
    with pytest.raises(UsageError, match=r"^max_gpus: found 100000001, allowed: an integer from 1 to 100,000,000$"):
        generate(jobs=2, max_gpus=10**8 + 1)
    assert not issubclass(UsageError, InstanceError)
