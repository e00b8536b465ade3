"""What may stand under `[models.…]`, and the backend that it describes.

A model is a table or, for short, one line:

| line | means |
|---|---|
| `"openai:gpt-5-mini"` | a model at an endpoint known by name: see `motet.backends.presets` |
| `"http://host:8000/v1#name"` | a model at any other OpenAI-compatible endpoint |
| `"llama:smollm2-135m"` | a model of the embedded pool |
| `"llama:./my.gguf"` | one's own GGUF file |
| `"function:package.module:name"` | a Python function of the question |

`${VAR}` in any text here is that environment variable, looked up when the model is used; what an endpoint is sent of it
is shown nowhere: errors and answers that repeat it say `${VAR}`. A key is never written down here, nor anything else
under the name of a secret: it is `${VAR}`, or lies in a file.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Protocol
from urllib.parse import parse_qsl, urlsplit

from msgspec import Meta

from motet.backend import Backend, Price
from motet.backends.fallback import Fallback
from motet.backends.openai import Clocks
from motet.backends.presets import PRESETS, openai_backend
from motet.backends.secret import Secret, is_secret, secret_texts
from motet.backends.wire import check_extra
from motet.errors import ConfigError, MotetError
from motet.message import digest
from motet.spec.entry import ModelName, Reference
from motet.spec.fields import fields_of
from motet.spec.locate import Path as KeyPath
from motet.spec.read import Reader, Wrong, suggestion
from motet.spec.registry import imported

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SCHEME = re.compile(r"\s*(bearer|basic|token)?[\s:]*", re.IGNORECASE)
"""What may be written down beside the variables of a secret."""
BACKEND = "backend"
UNSET = "unset"
"""What stands for a variable that is not set where nothing will be called."""
IMPLIED = {"function": "function", "path": "llama", "base_url": "compatible"}
"""Keys that say what the backend is where nothing else does."""
_CONTENT = ("backend", "model", "path", "base_url", "extra", "function")
"""Keys that decide which model it is that answers."""


class Models(Protocol):
    """Gives the backends of other models of the configuration."""

    def model(self, name: str, /) -> Backend: ...


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """A model.

    Args:
        backend: what runs it.
        fallbacks: models that are asked, in this order, when this one fails.
    """

    backend: str
    fallbacks: Sequence[ModelName] = ()

    def make(self, name: str, folder: Path | None, keyless: bool, secrets: Sequence[Secret]) -> Backend:
        """The backend itself, without what goes around it; `secrets` are the variables' values."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FunctionEntry(ModelEntry):
    """A Python function of the question, whose answer None means that it abstains.

    Args:
        function: `package.module:name`.
    """

    function: Reference

    def make(self, name: str, folder: Path | None, keyless: bool, secrets: Sequence[Secret]) -> Backend:
        """The function as a backend."""
        from motet.backends.function import Function

        function = imported(self.function, folder)
        if not callable(function):
            raise ConfigError(f"{self.function} is no function")
        return Function(function, name)


@dataclass(frozen=True, kw_only=True)
class LanguageModelEntry(ModelEntry):
    """A language model.

    Args:
        context: tokens that prompt and reply may take together; by default what is known of the model.
        price: US dollars per million tokens (input, output, cached) and per second; by default what is known.
        cache: where replies are known from, so that the same draw is not paid for twice: off, memory or journal.
    """

    context: Annotated[int, Meta(ge=1)] | None = None
    price: Price | None = None
    cache: Literal["off", "memory", "journal"] = "off"

    def __post_init__(self) -> None:
        if self.price and min(self.price.input, self.price.output, self.price.cached or 0, self.price.second) < 0:
            raise ValueError("a price can't be negative")


@dataclass(frozen=True, kw_only=True)
class LlamaEntry(LanguageModelEntry):
    """A GGUF model, run in this process by llama.cpp.

    Args:
        model: its name in the embedded pool (see `motet models list`).
        path: or one's own file; relative to the folder of the configuration.
        parallel: requests that are worked on at once, each with a context of its own.
        threads: threads that compute; by default the physical cores, at most 8.
        idle_seconds: after so long without a request the model is unloaded.
    """

    model: str = ""
    path: str = ""
    parallel: Annotated[int, Meta(ge=1)] | None = None
    threads: Annotated[int, Meta(ge=1)] | None = None
    idle_seconds: Annotated[float, Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.model) == bool(self.path):
            raise ValueError("give either model, a name of the pool, or path, a GGUF file")

    def make(self, name: str, folder: Path | None, keyless: bool, secrets: Sequence[Secret]) -> Backend:
        """The model, not loaded yet."""
        from motet.backends.llama import Llama

        said = {key: getattr(self, key) for key in ("context", "parallel", "threads", "idle_seconds", "price")}
        file = str(_file(self.path, folder)) if self.path else self.model
        return Llama(file, name, **{key: value for key, value in said.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class EndpointEntry(LanguageModelEntry):
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: its name there.
        base_url: the endpoint's URL, where it isn't the usual one.
        api_key: `${VAR}`, the environment variable that the key is in, where it isn't the usual one.
        api_key_file: or a file that holds the key; relative to the folder of the configuration.
        timeouts: seconds to connect, to the first_byte, idle between chunks, and in total.
        max_concurrency: calls in flight at most; of the models at one endpoint with one key, the smallest counts.
        retries: further attempts after a failure that may pass.
        extra: further fields of every call's body (`reasoning_effort` and the like).
    """

    model: str
    base_url: str = ""
    api_key: str = ""
    api_key_file: str = ""
    timeouts: Clocks = Clocks()
    max_concurrency: Annotated[int, Meta(ge=1)] | None = None
    retries: Annotated[int, Meta(ge=0)] = 3
    extra: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.api_key and self.api_key_file:
            raise ValueError("give either api_key or api_key_file")
        check_extra(self.extra or {})
        if not (self.base_url or PRESETS[self.backend].base_url):
            raise ValueError('base_url is missing: give the endpoint, such as "http://localhost:8000/v1"')

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key, where the entry names one."""
        named = VARIABLE.fullmatch(self.api_key)
        return named.group(1) if named else None

    def make(self, name: str, folder: Path | None, keyless: bool, secrets: Sequence[Secret]) -> Backend:
        """The endpoint, not called yet. The key stays in the environment until a call is made."""
        return openai_backend(
            self.model,
            self.backend,
            base_url=self.base_url or None,
            api_key=self._key(folder) if self.api_key_file and not keyless else None,
            key_variable=self.key_variable,
            price=self.price,
            context=self.context,
            clocks=self.timeouts,
            max_concurrency=self.max_concurrency,
            retries=self.retries,
            extra=self.extra,
            name=name,
            secrets=secrets,
        )

    def _key(self, folder: Path | None) -> Secret:
        path = _file(self.api_key_file, folder)
        try:
            key = Secret(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigError(f"api_key_file {path} can't be read: {why}") from None
        if not key:
            raise ConfigError(f"api_key_file {path} is empty")
        return key


def expanded(line: str) -> dict[str, object]:
    """The table that a short line stands for.

    >>> expanded("ollama:qwen3:8b")
    {'backend': 'ollama', 'model': 'qwen3:8b'}
    >>> expanded("http://host:8000/v1#qwen")
    {'backend': 'compatible', 'base_url': 'http://host:8000/v1', 'model': 'qwen'}

    Raises:
        ValueError: it is no such line.
    """
    if line.startswith(("http://", "https://")):
        url, _, model = line.rpartition("#")
        if not url or not model:
            raise ValueError('should end in "#" and the model\'s name, as in "http://localhost:8000/v1#qwen"')
        return {BACKEND: "compatible", "base_url": url, "model": model}
    backend, _, rest = line.partition(":")
    if not rest:  # what is written there instead is not repeated: it might be a key
        raise ValueError('should be a table, or text as "openai:gpt-5-mini", "llama:smollm2-135m" or "llama:./my.gguf"')
    if backend == "function":
        return {BACKEND: backend, "function": rest}
    if backend == "llama" and (rest.lower().endswith(".gguf") or re.search(r"[/\\]|^~|\$\{", rest)):
        return {BACKEND: backend, "path": rest}
    return {BACKEND: backend, "model": rest}


def model_entry(table: Mapping[str, object], path: KeyPath, reader: Reader) -> ModelEntry:
    """Read a model's table.

    Raises:
        Wrong: something in it is wrong, and was told.
    """
    word = table.get(BACKEND) or _implied(table)
    kinds = ["llama", "function", *PRESETS]
    if not isinstance(word, str) or word not in kinds:
        at, said = ((*path, BACKEND), word) if isinstance(word, str) else (path, "")
        what = f"there is no backend {said!r}" if said else f"should say its {BACKEND}"
        reader.tell(at, what + suggestion(said, kinds))
        raise Wrong
    refused = list(_refused(table))
    for rest, text in refused:
        reader.tell((*path, *rest), text)
    cls = {"llama": LlamaEntry, "function": FunctionEntry}.get(word, EndpointEntry)
    entry = reader.record(cls, {**table, BACKEND: word}, path)
    if refused:
        raise Wrong
    assert isinstance(entry, ModelEntry)
    return entry


def identity(entry: ModelEntry, fallbacks: Sequence[str], folder: Path | None) -> str:
    """What a model is, as a digest: a name may come to mean another model, whose replies are others.

    Args:
        entry: the entry.
        fallbacks: the identities of its fallbacks, any of which may answer in its place.
        folder: what relative paths start from.
    """
    filled = _with_variables(entry, keyless=True)
    what = {each.name: getattr(filled, each.name) for each in fields_of(type(filled)) if each.name in _CONTENT}
    near = what.get("path") or what.get("function")
    return digest([what, list(fallbacks), str(folder or "") if near else "", _content(filled, folder)])


def _content(entry: ModelEntry, folder: Path | None) -> object:
    """What lies behind an entry on this machine: the source of its function's module, the size and time of its file."""
    try:
        if isinstance(entry, FunctionEntry):
            module = sys.modules[imported(entry.function, folder).__module__]
            return digest(Path(module.__file__ or "").read_bytes().hex())
        if isinstance(entry, LlamaEntry) and entry.path:
            found = _file(entry.path, folder).stat()
            return [found.st_size, found.st_mtime_ns]
    except (OSError, ImportError, AttributeError, KeyError):
        pass  # it is told where the model is made
    return ""


def backend_of(
    entry: ModelEntry, name: str, others: Models, *, folder: Path | None, keyless: bool, identity: str
) -> Backend:
    """The backend that an entry describes, with its fallbacks and its cache. Nothing is loaded or called yet.

    Args:
        entry: the entry.
        name: what the backend is called.
        others: gives the fallbacks.
        folder: what relative paths start from, and where one's own modules may lie.
        keyless: whether variables may be missing, since nothing will be called.
        identity: what the model is; the journal knows its replies by that.

    Raises:
        ConfigError: it can't be made so.
        ImportError: its function can't be imported.
    """
    filled = _with_variables(entry, keyless)
    made = filled.make(name, folder, keyless, _variables(entry))
    if entry.fallbacks:
        made = Fallback((made, *(_unjournaled(others.model(each)) for each in entry.fallbacks)), name=name)
    cache = filled.cache if isinstance(filled, LanguageModelEntry) and not keyless else "off"
    if cache == "memory":
        from motet.backends.cached import Cached, Memory

        made = Cached(made, Memory())
    elif cache == "journal":
        from motet.backends.journaled import Journaled, version_of
        from motet.journal import Journal, default_path

        made = Journaled(made, Journal.shared(default_path()), version_of(identity), trouble=_uncached)
    return made


def _unjournaled(backend: Backend) -> Backend:
    """A fallback as it is called in another's place: that other's journal, if it has one, writes its calls down."""
    if "motet.backends.journaled" in sys.modules:  # else there is none
        from motet.backends.journaled import Journaled

        if isinstance(backend, Journaled):
            return backend.backend
    return backend


def _uncached(error: MotetError) -> None:
    warnings.warn(f"a reply is not cached: {error}", RuntimeWarning, stacklevel=2)


def missing_variables(entry: ModelEntry) -> Iterator[tuple[KeyPath, str]]:
    """The environment variables that an entry needs and that are not set, each with the key that needs it."""
    for each in fields_of(type(entry)):
        for path, text in _texts(getattr(entry, each.name), (each.name,)):
            yield from ((path, name) for name in VARIABLE.findall(text) if not os.environ.get(name))
    if isinstance(entry, EndpointEntry) and not (entry.api_key or entry.api_key_file):
        preset = PRESETS[entry.backend]
        if preset.key_required and not os.environ.get(preset.key_variable):
            yield (), preset.key_variable


def _variables(entry: ModelEntry) -> tuple[Secret, ...]:
    """The values of the variables in an entry's texts, but for the key's, which stays in the environment."""
    fields = [each.name for each in fields_of(type(entry)) if each.name != "api_key"]
    texts = [text for name in fields for _, text in _texts(getattr(entry, name), ())]
    names = dict.fromkeys(name for text in texts for name in VARIABLE.findall(text))
    return tuple(Secret(os.environ[name], f"${{{name}}}") for name in names if os.environ.get(name, "").strip())


def _implied(table: Mapping[str, object]) -> str | None:
    """The backend that a table means which does not say it."""
    return next((word for key, word in IMPLIED.items() if key in table), None)


def _refused(table: Mapping[str, object]) -> Iterator[tuple[KeyPath, str]]:
    """Keys whose text must not stand there, each with the reason, which never repeats the text."""
    for path, text in _texts(table, ()):
        if "${" in VARIABLE.sub("", text):
            yield path, "only ${NAME} stands for an environment variable, without defaults or anything nested"
        if path == ("api_key",) and not VARIABLE.fullmatch(text):
            yield path, 'a key is not written down here: write api_key = "${VARIABLE}" and set it, or use api_key_file'
        if path == ("base_url",) and re.search(r"//[^/]*@", text):
            yield path, "a password is not written down here: leave it out and use api_key"
        if path == ("base_url",):
            named = [(key, value) for key, value in _query(text) if is_secret(key) and _is_literal(value)]
            yield from ((path, f"a secret is not written down here: write {key}=${{VARIABLE}}") for key, _ in named)
    for path, text in secret_texts(table):
        if path != ("api_key",) and _is_literal(text):
            yield path, 'a secret is not written down here: write "${VARIABLE}" and set it'


def _is_literal(text: str) -> bool:
    """Whether a text is more than variables and the word that says what scheme they are of."""
    return bool(text) and not (VARIABLE.search(text) and _SCHEME.fullmatch(VARIABLE.sub("", text)))


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query)
    except ValueError:  # no URL, which is told where it is used
        return []


def _texts(value: object, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, Sequence):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))


def _with_variables(entry: ModelEntry, keyless: bool) -> ModelEntry:
    """An entry with every variable in its texts replaced, but for the key's, which stays in the environment."""

    def filled(value: object) -> object:
        if isinstance(value, str):
            return VARIABLE.sub(lambda match: os.environ.get(match.group(1)) or UNSET, value)
        if isinstance(value, Mapping):
            return {key: filled(inner) for key, inner in value.items()}
        return [filled(inner) for inner in value] if isinstance(value, list) else value

    changes = {each.name: filled(getattr(entry, each.name)) for each in fields_of(type(entry))}
    if isinstance(entry, EndpointEntry):
        changes["api_key"] = entry.api_key
        if keyless and any(path == ("base_url",) for path, _ in missing_variables(entry)):
            changes["base_url"] = f"http://{UNSET}.invalid/v1"
    return replace(entry, **changes)  # type: ignore[arg-type]  # each value has the type that it had


def _file(text: str, folder: Path | None) -> Path:
    return (folder or Path()) / Path(text).expanduser()
