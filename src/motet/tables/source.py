"""Files as bytes and text, within limits: gzip is opened, and what can't be a table is refused with a reason.

The limit counts what comes out of a compressed file, so that a small file which unpacks to a huge one is stopped on
the way. A pipe is read once into memory, since formats are told apart by looking first.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from motet.errors import UsageError

LIMIT: Final = 1 << 30
"""Bytes of a file, as it lies there and unpacked: 1 GiB."""
HEAD: Final = 1 << 16
"""Bytes at the start of a file by which its kind is told."""

GZIP: Final = b"\x1f\x8b"
ZIP: Final = b"PK\x03\x04"
PARQUET: Final = b"PAR1"
_SAYS: Final = {
    b"BZh": "packed with bzip2: unpack it",
    b"\xfd7zXZ": "packed with xz: unpack it",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"%PDF": "a PDF: give the numbers as CSV",
    b"SQLite format 3": "an SQLite database: export the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet: save it as CSV",
    b"\xff\xfe": "in UTF-16: save it as UTF-8",
    b"\xfe\xff": "in UTF-16: save it as UTF-8",
}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong in reading `path` into one line that says what, and what to do.

    Raises:
        UsageError: the file is not there, can't be read, is damaged, or is not text in UTF-8.
    """
    try:
        yield
    except FileNotFoundError:
        raise UsageError(f"no such file: {path}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: the compressed file is cut or damaged ({error}); make or fetch it again") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte 0x{error.object[error.start]:02x}); save it as UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"{path}: {error}; see that quotes are closed, and leave out columns of long texts") from error
    except RecursionError:
        raise UsageError(f"{path}: nested too deep for a table") from None
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror or error}") from error


class _Limited(io.RawIOBase):
    """A stream of bytes that stops at the limit, and at what no text holds."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, path: Path, text: bool) -> None:
        self._stream, self._path, self._text, self._left = stream, path, text, LIMIT

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise UsageError(f"{self._path}: over {size(LIMIT)} unpacked, more than is read; split it by items")
        if self._text and b"\0" in data:
            raise UsageError(f"{self._path}: holds NUL bytes, so it is no text; give CSV, JSON or Parquet")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


class Source:
    """One file.

    Args:
        path: a regular file, or a pipe.

    Raises:
        UsageError: it is not there, a folder, empty, larger than `LIMIT`, or of a kind that is no table.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: bytes | None = None
        with reading(path):
            found = path.stat()
            if stat.S_ISDIR(found.st_mode):
                raise UsageError(f"{path}: a folder where a file is needed")
            if not stat.S_ISREG(found.st_mode):
                with path.open("rb") as stream:
                    self._data = stream.read(LIMIT + 1)
            length = found.st_size if self._data is None else len(self._data)
            if length > LIMIT:
                raise UsageError(f"{path}: {size(length)}; at most {size(LIMIT)} are read: split it by items")
            if not length:
                raise UsageError(f"{path}: an empty file")
            with self._raw() as stream:
                self.packed = stream.read(2) == GZIP
            with self.binary() as stream:
                self.head = stream.read(HEAD)
        self._refuse()

    def _raw(self) -> BinaryIO:
        return self.path.open("rb") if self._data is None else io.BytesIO(self._data)

    def _refuse(self) -> None:
        if self.head.startswith(GZIP):
            raise UsageError(f"{self.path}: gzip inside gzip; unpack it once")
        for magic, says in _SAYS.items():
            if self.head.startswith(magic):
                raise UsageError(f"{self.path}: {says}")
        if not self.head.startswith((ZIP, PARQUET)) and b"\0" in self.head:
            raise UsageError(f"{self.path}: a binary file, not a table; give CSV, JSON or Parquet")
        if not self.head.removeprefix(b"\xef\xbb\xbf").strip():
            raise UsageError(f"{self.path}: an empty file")

    def binary(self, *, text: bool = False) -> BinaryIO:
        """The bytes, unpacked if they are gzipped; with `text`, NUL bytes are refused."""
        stream: BinaryIO | gzip.GzipFile
        if not self.packed:
            stream = self._raw()
        else:
            stream = gzip.GzipFile(self.path) if self._data is None else gzip.GzipFile(fileobj=io.BytesIO(self._data))
        return io.BufferedReader(_Limited(stream, self.path, text), HEAD)  # type: ignore[type-var]

    def bytes(self) -> bytes:
        """All of it, unpacked, without a byte-order mark."""
        with reading(self.path), self.binary(text=True) as stream:
            return stream.read().removeprefix(b"\xef\xbb\xbf")

    def text(self) -> io.TextIOWrapper:
        """The text; line ends are left to whoever reads it."""
        return io.TextIOWrapper(self.binary(text=True), encoding="utf-8-sig", newline="")


def decoded(data: bytes) -> object:
    """One JSON value. NaN and Infinity, which evaluation tools write and JSON does not have, are read too.

    Raises:
        ValueError: it is no JSON.

    >>> decoded(b'[1, NaN]')
    [1, nan]
    """
    try:
        value: object = msgspec.json.decode(data)
    except msgspec.DecodeError:
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        value = json.loads(data)
    return value


def size(count: int) -> str:
    """Bytes for people.

    >>> size(1 << 30), size(2_500_000)
    ('1.1 GB', '2.5 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def plain(path: str | os.PathLike[str]) -> Path:
    """A path as it was given, `~` resolved."""
    return Path(path).expanduser()
