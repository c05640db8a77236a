"""Frames on a pipe come out as they went in, and whatever else comes in is noticed."""

import os

import pytest

from dlsched.processes.frames import Frames, framed, write_frame


def test_frames_that_arrive_byte_by_byte():
    """However a pipe cuts them, the contents are the same, empty ones too."""
    contents = [b"one", b"", b"dlsd" * 1000]
    frames = Frames()
    found = [each for content in contents for byte in framed(content) for each in frames.feed(bytes([byte]))]
    assert found == contents
    assert frames.feed(b"") == []


def test_frames_that_arrive_at_once():
    """Several in one piece, with the beginning of another."""
    frames = Frames()
    assert frames.feed(framed(b"one") + framed(b"two") + framed(b"three")[:9]) == [b"one", b"two"]
    assert frames.feed(framed(b"three")[9:]) == [b"three"]


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
