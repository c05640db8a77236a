"""What processes print is gathered until they end, whoever else holds their pipes."""

import os
from collections.abc import Callable

import pytest

from dlsched.processes import streams
from dlsched.processes.streams import Tail, Whole, gather


def test_the_end_of_a_stream():
    """Its last line that is not blank, however it is cut, and however much came before."""
    tail = Tail()
    assert tail.last_line == ""
    for arrived in (b"x" * 10_000_000, b"\nsaid ", b"last\n", b" \n\n"):
        tail.feed(arrived)
    assert tail.last_line == "said last"
    tail.feed(b"\xff\x1b[31m red\n")
    assert tail.last_line == "\\ufffd\\x1b[31m red" or tail.last_line == "�\\x1b[31m red"


def test_an_answer_has_a_largest_size(monkeypatch: pytest.MonkeyPatch):
    """Beyond which it is not held."""
    monkeypatch.setattr(streams, "LARGEST_ANSWER", 1 << 20)
    whole = Whole()
    whole.feed(b"x" * (1 << 20))
    with pytest.raises(ValueError, match="more than 1 MiB, allowed: 1"):
        whole.feed(b"x")


def test_pipes_that_close():
    """Everything that came is taken, from both."""
    found = [Tail(), Tail()]
    pipes = [os.pipe() for _ in found]
    for index, (_, writing) in enumerate(pipes):
        os.write(writing, b"line %d\n" % index)
        os.close(writing)
    gather({pipe[0]: tail.feed for pipe, tail in zip(pipes, found, strict=True)}, lambda: False)
    assert [tail.last_line for tail in found] == ["line 0", "line 1"]
    for reading, _ in pipes:
        os.close(reading)


def test_a_pipe_that_stays_open():
    """What had arrived when its process ended is taken, and no more is waited for."""
    reading, writing = os.pipe()
    tail, looks = Tail(), iter([False, True])
    over: Callable[[], bool] = lambda: next(looks)  # noqa: E731
    os.write(writing, b"first\n")
    gather({reading: tail.feed}, over)
    assert tail.last_line == "first"
    os.close(reading)
    os.close(writing)
