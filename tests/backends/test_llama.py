"""What the `llama` backend does without a model: settings, files that are none, estimates."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.backend import Price
from motet.backends.llama import TEMPLATE, Llama
from motet.backends.llama_server import Server, cores
from motet.errors import BackendError, ConfigError
from motet.message import Message, Part, Request, Sampling, ToolSpec

ASKED = Request("m", (Message("user", "hi"),), sampling=Sampling(max_tokens=4))
GARBAGE = b"GGUF" + (3).to_bytes(4, "little") + b"\xff" * 7 + b"\x7f" + b"\xff" * 7 + b"\x7f" + b"rubbish"


def failed(backend: Llama, request: Request = ASKED) -> BackendError:
    """The error of a call that has to fail."""
    with pytest.raises(BackendError) as caught:
        asyncio.run(backend.complete(request))
    return caught.value


def gguf(path: Path, template: str | None) -> Path:
    """A file that begins like a GGUF model with this chat template."""
    body = b"GGUF" + bytes(20)
    if template is not None:
        text = template.encode()
        body += TEMPLATE + (8).to_bytes(4, "little") + len(text).to_bytes(8, "little") + text
    path.write_bytes(body + b"tools, but not in the template")
    return path


def test_name_and_card() -> None:
    """A model is called as the pool or the file calls it, and its card says what the backend can do."""
    backend = Llama("/models/Some-Model.Q4.gguf", context=512, price=Price(second=1))
    assert backend.name == "Some-Model.Q4"
    assert Llama("smollm2-135m").name == "smollm2-135m"
    assert Llama("smollm2-135m", "smol").name == "smol"
    card = backend.card
    assert (card.context, card.local, card.completes, card.logprobs, card.grammar) == (512, True, True, True, True)
    assert card.price == Price(second=1)
    assert Llama("a.gguf", threads=2) == Llama("a.gguf", threads=2) != Llama("a.gguf", threads=1)


@pytest.mark.parametrize(
    ("key", "value"),
    [("context", 0), ("parallel", 0), ("threads", -1), ("idle_seconds", -1), ("idle_seconds", float("nan"))],
)
def test_senseless_numbers(key: str, value: float) -> None:
    """A number that makes no sense is refused at once, by its key."""
    with pytest.raises(ConfigError) as caught:
        Llama("x.gguf", **{key: value})  # type: ignore[arg-type]
    assert caught.value.key == key


def test_missing_file(tmp_path: Path) -> None:
    """A missing file is the `model_file` kind, names the file, and can't pass by trying again."""
    error = failed(Llama(tmp_path / "none.gguf"))
    assert (error.kind, error.retry) == ("model_file", False)
    assert str(tmp_path / "none.gguf") in error.text


def test_model_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of the pool that is not there says how to fetch it; a wrong name, what the pool has."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    error = failed(Llama("smollm2-135m"))
    assert error.kind == "model_file"
    assert "motet models fetch smollm2-135m" in error.text
    error = failed(Llama("smollm3"))
    assert error.kind == "model_file"
    assert "smollm2-135m" in error.text
    assert Llama("smollm2-135m").loaded is False
    assert Llama("smollm2-135m").unload() is True


@pytest.mark.parametrize("content", [b"", b"hello", b"<html>" + b" " * 100, b"GGUF", b"GGUF\x03\x00\x00\x00"])
def test_no_gguf(tmp_path: Path, content: bytes) -> None:
    """What is not GGUF, or is cut off at its head, is found without llama.cpp."""
    (tmp_path / "x.gguf").write_bytes(content)
    assert failed(Llama(tmp_path / "x.gguf")).kind == "model_file"


@pytest.mark.parametrize("content", [GARBAGE, b"GGUF" + os.urandom(4096), b"GGUF\x03" + bytes(4096)])
def test_garbage_in_gguf(tmp_path: Path, content: bytes) -> None:
    """A file that only begins like GGUF is an error with what to do, not a crash, and the next call says it again."""
    pytest.importorskip("xllamacpp")
    (tmp_path / "x.gguf").write_bytes(content)
    backend = Llama(tmp_path / "x.gguf", parallel=1)
    for _ in range(2):
        error = failed(backend)
        assert error.kind == "model_file"
        assert str(tmp_path / "x.gguf") in error.text
        assert "motet models verify" in error.text
    assert not backend.loaded


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without xllamacpp the error says what to install, and the environment is left as it was."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    (tmp_path / "x.gguf").write_bytes(GARBAGE)
    error = failed(Llama(tmp_path / "x.gguf", parallel=1))
    assert error.kind == "model_file"
    assert "pip install 'motet[local]'" in error.text
    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (Request("m"), "neither"),
        (Request("m", (Message("user", "what is it?", parts=(Part("image_url", "{}"),)),)), "image_url"),
        (Request("m", prompt="x", sampling=Sampling(format="{")), "response_format"),
        (Request("m", prompt="x", sampling=Sampling(format='{"type":"json_schema"}')), "response_format"),
        (Request("m", (Message("user", "x"),), tools=(ToolSpec("f", "", "{}"),)), "tools"),
    ],
)
def test_refused(request_: Request, word: str) -> None:
    """What a local model can't do is refused before anything is loaded, and says what it was."""
    error = failed(Llama("smollm2-135m"), request_)
    assert error.kind == "bad_request"
    assert word in error.text


def test_tools_by_template(tmp_path: Path) -> None:
    """Tools are offered only where the file's own chat template knows them."""
    assert Llama(gguf(tmp_path / "a.gguf", "{% if tools %}{{ tools }}{% endif %}")).card.tools
    assert not Llama(gguf(tmp_path / "b.gguf", "{{ messages }}")).card.tools
    assert not Llama(gguf(tmp_path / "c.gguf", None)).card.tools
    assert not Llama(tmp_path / "missing.gguf").card.tools


def test_shared(tmp_path: Path) -> None:
    """One file with the same sizes is one server; other sizes are another."""
    path = tmp_path / "x.gguf"
    assert Server.shared(path, 512, 2, 1) is Server.shared(path, 512, 2, 1)
    assert Server.shared(path, 512, 2, 1) is not Server.shared(path, 256, 2, 1)


def test_cores() -> None:
    """By default it computes on cores that it may use."""
    assert 1 <= cores() <= (os.cpu_count() or 1)


@given(st.text(max_size=200), st.text(max_size=20))
def test_estimate_grows(text: str, more: str) -> None:
    """Before the model is loaded, more words are never fewer tokens, and words are never nothing."""
    backend = Llama("not-there.gguf")
    assert 0 <= backend.count(text) <= backend.count(text + more) + 1
    assert backend.count(text) > 0 or not text


def test_import_is_light() -> None:
    """Importing the backend loads neither llama.cpp nor the pool."""
    code = "import sys, motet.backends.llama; sys.exit('xllamacpp' in sys.modules or 'motet.pool' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
