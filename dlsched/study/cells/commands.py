"""Commands of a plan: programs in any language that take the path of an instance and print an answer."""

import os
import subprocess
from collections.abc import Sequence

from dlsched.core.messages import printable
from dlsched.processes.descendants import death
from dlsched.processes.streams import Tail, Whole, gather
from dlsched.results.answers import UnreadableAnswer, claim_of_text
from dlsched.results.reading import Claim
from dlsched.study.cells.outcome import CellEnded

INSTANCE = "{instance}"
"""Placeholder in the words of a command for the path of the instance's file."""


def printed(words: Sequence[str], instance: str, folder: str) -> Claim:
    """Run a program and read the answer that it prints: a bare solution, or a whole result.

    Parameters
    ----------
    words
        The words of the command.
    instance
        Path of the instance's file.
    folder
        For its temporary files.

    Raises
    ------
    CellEnded
        The program cannot be started, exits with a code other than 0, or prints no answer.
    """
    out, err = Whole(), Tail()
    filled = [word.replace(INSTANCE, instance) for word in words]
    try:
        process = subprocess.Popen(
            filled,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            env=os.environ | {"TMPDIR": folder},
        )
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise CellEnded("error", f"{printable(filled[0])}: cannot be started: {said or error}") from None
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            gather(
                {process.stdout.fileno(): out.feed, process.stderr.fileno(): err.feed},
                lambda: process.poll() is not None,
            )
        except ValueError as error:
            process.kill()
            raise CellEnded("error", f"standard output: {error}") from None
        finally:
            process.wait()  # it may close its output long before it ends
    if process.returncode:
        status, words_of_death = death(process.returncode)
        said = err.last_line or out.last_line
        raise CellEnded(status, said or words_of_death if status == "error" else words_of_death)
    try:
        return claim_of_text(out.content, "standard output")
    except UnreadableAnswer as error:
        raise CellEnded("error", err.last_line or out.last_line or str(error)) from None
