"""Words of errors fit a row, whatever the errors do."""

import os
from collections.abc import Callable

import pytest

from dlsched.processes import streams
from dlsched.processes.streams import LONGEST_MESSAGE, Frames, Tail, Whole, framed, gather, short, words_of, write_frame


def test_words_fit_a_row():
    """On one line, printable, and no longer than a row holds."""
    assert short("a\nb\x1b[31m") == "a\\nb\\x1b[31m"
    assert short("half \udc80") == "half \\udc80"
    assert len(short("x" * 10_000_000)) == LONGEST_MESSAGE
    assert len(short("\n" * 5000)) == LONGEST_MESSAGE


def test_an_error_without_text_has_words():
    """Its text may fail, with whatever exception."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    assert words_of(ValueError("wrong")) == "wrong"
    assert words_of(MuteError()) == "its text cannot be had: SystemExit"


@pytest.mark.parametrize("size", [1, 9, 100_000])
def test_frames_however_they_arrive(size: int):
    """However a pipe cuts them, the contents are the same, empty ones too."""
    contents = [b"one", b"", b"dlsd" * 1000]
    frames, raw = Frames(), b"".join(map(framed, contents))
    found = [each for at in range(0, len(raw), size) for each in frames.feed(raw[at : at + size])]
    assert found == contents
    assert frames.feed(b"") == []


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"printed by somebody", "no frame"),
        (framed(b"content")[:-1] + b"!", "checksum"),
        (framed(b"x" * 11), "found 0 MiB, allowed: 0"),
    ],
)
def test_what_is_no_frame_is_refused(raw: bytes, words: str):
    """Text, a frame that somebody wrote into, and one that is too large."""
    with pytest.raises(ValueError, match=words):
        Frames(largest=10).feed(raw)


def test_a_frame_is_written_whole():
    """Through a pipe."""
    reading, writing = os.pipe()
    write_frame(writing, b"content")
    assert Frames().feed(os.read(reading, 100)) == [b"content"]
    os.close(reading)
    os.close(writing)


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
