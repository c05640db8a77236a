"""Standard input, output and error: usable even if closed by the caller; errors name ``standard output``."""

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StandardOutput(io.FileIO):
    """Standard output whose errors have its name as their file, like errors of other files."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, and return how many were written.

        Raises
        ------
        OSError
            They cannot be written, with ``standard output`` as its file.
        """
        try:
            return super().write(data)
        except OSError as error:
            said = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(error.errno, f"cannot be written: {said}", "standard output") from None


def open_standard_files() -> None:
    """Open closed descriptors 0, 1, 2 on the null device, so that no later file gets these; set UTF-8.

    Python sets a closed standard file to None, and prints to standard output what is meant for a standard
    error of None. Printing to a standard output that was closed is an error, as on a full disk: the answer
    would be lost.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(
                os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR
            )  # the operating system gives the lowest free number, which is this one
    if sys.stdout is None or isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _standard_output()
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  it stays open to the end
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


def _standard_output() -> io.TextIOWrapper:
    """Open standard output anew, buffered as it is."""
    before = sys.stdout
    unbuffered = isinstance(before, io.TextIOWrapper) and isinstance(before.buffer, io.RawIOBase)  # ``python -u``
    raw = StandardOutput(1, "wb", closefd=False)
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=raw.isatty(),
        write_through=unbuffered,
    )
