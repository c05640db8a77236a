"""What saves time: the command line run in this process, instances drawn and sources parsed once for many tests."""

import ast
import functools
import gc
import io
import json
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from dlsched.cli import run

collect_ignore = [
    "typing"
]  # scripts that test_typing.py has mypy read; no package, as that would shadow the standard library's


SLOW = frozenset((Path(__file__).parent / "slow.txt").read_text(encoding="utf-8").splitlines())
"""Tests of more than a second or so, by their names: ``make test`` leaves them to ``make test-slow``."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests."""
    for item in items:
        if item.nodeid in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and leave modules and tests, which live to the end, out of what it walks through."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@dataclass(frozen=True)
class Ended:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be JSON and nothing else."""
        return json.loads(self.out)

    @property
    def line(self) -> str:
        """The only line of standard error."""
        assert self.err.endswith("\n"), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err[:-1]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Run a command line in this process."""

    def call(*arguments: object, stdin: str = "") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*PuLP 4", DeprecationWarning)  # dlsched keeps to PuLP 3
            code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return call


def profile(examples: int, **more: Any) -> settings:
    """Settings of Hypothesis that draw the same on every machine, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None, **more)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a source, which nobody changes."""
    return ast.parse(path.read_bytes())


@functools.cache
def drawn(strategy: Callable[..., SearchStrategy[Any]], examples: int, **options: Any) -> tuple[Any, ...]:
    """Return what hypothesis draws, for tests that try many methods on the same instances."""
    found = []

    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(strategy(**options))
    def keep(instance: Any) -> None:
        found.append(instance)

    keep()
    return tuple(found)


def on_each(instances: Iterable[Any], check: Callable[[Any], object]) -> None:
    """Check all instances; a failure says on which."""
    for instance in instances:
        try:
            check(instance)
        except AssertionError as broken:
            broken.add_note(f"the instance: {json.dumps(instance.as_data())}")
            raise
