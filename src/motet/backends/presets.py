"""Endpoints by name: base URL, key variable, quirks. `openai_backend` makes a whole backend of one.

    >>> backend = openai_backend("llama3.2", "ollama")
    >>> backend.name, backend.card.local
    ('llama3.2', True)
    >>> sorted(PRESETS)  # doctest: +NORMALIZE_WHITESPACE
    ['anthropic', 'compatible', 'deepseek', 'google', 'groq', 'llama.cpp', 'mistral', 'ollama', 'openai', 'openrouter',
     'together', 'vllm']

The quirks are what the providers' own documentation and their error messages say (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from motet.backend import Backend, Price
from motet.backends.breaker import Breaker
from motet.backends.limited import Limited, Limiter
from motet.backends.openai import CLOCKS, Clocks, OpenAI
from motet.backends.retried import Retried
from motet.backends.secret import Secret
from motet.backends.wire import Wire
from motet.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Preset:
    """An endpoint that is known by name.

    Args:
        base_url: what `/chat/completions` is appended to; "" where it has to be given.
        key_variable: the environment variable that its key is in by convention.
        key_required: whether it answers nobody without a key.
        provider: its id at `genai-prices`, "" where it has none.
        free: whether a call costs no money: one's own machine.
        max_concurrency: calls in flight at most, unless said otherwise. A local server works on a few at a time and
            lets the others wait, with their clocks running, so it gets few.
        wire: what it makes of the OpenAI wire.
    """

    base_url: str
    key_variable: str
    key_required: bool = True
    provider: str = ""
    free: bool = False
    max_concurrency: int = 64
    wire: Wire = Wire()


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "openai": Preset(
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            provider="openai",
            # Its reasoning models refuse max_tokens; chat models are not served by /completions.
            wire=Wire(limit="max_completion_tokens", completes=False),
        ),
        "anthropic": Preset(
            "https://api.anthropic.com/v1",
            "ANTHROPIC_API_KEY",
            provider="anthropic",
            # Seed, logprobs and response_format are ignored without a word.
            wire=Wire(seed="", logprobs="", schema=False, completes=False),
        ),
        "google": Preset(
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            provider="google",
            # Fields it does not know are refused with 400, the seed among them.
            wire=Wire(seed="", logprobs="", completes=False),
        ),
        "mistral": Preset(
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            provider="mistral",
            # Fields it does not know are refused with 422; a stream's usage comes unasked.
            wire=Wire(seed="random_seed", stream_usage=False, logprobs="", completes=False),
        ),
        "deepseek": Preset(
            "https://api.deepseek.com",
            "DEEPSEEK_API_KEY",
            provider="deepseek",
            # response_format knows json_object, but no schema.
            wire=Wire(seed="", schema=False, completes=False),
        ),
        "openrouter": Preset(
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            provider="openrouter",
            wire=Wire(cost=True),
        ),
        "together": Preset(
            "https://api.together.xyz/v1",
            "TOGETHER_API_KEY",
            provider="together",
            wire=Wire(logprobs="count"),
        ),
        "groq": Preset(
            "https://api.groq.com/openai/v1",
            "GROQ_API_KEY",
            provider="groq",
            # logprobs are refused with 400, and so are the names of messages, which are never sent.
            wire=Wire(limit="max_completion_tokens", logprobs="", completes=False),
        ),
        "ollama": Preset(
            "http://localhost:11434/v1",
            "OLLAMA_API_KEY",
            key_required=False,
            free=True,
            max_concurrency=4,  # it works on up to 4 at once by default
        ),
        "vllm": Preset(
            "http://localhost:8000/v1",
            "VLLM_API_KEY",
            key_required=False,
            free=True,
            max_concurrency=256,  # its default max_num_seqs
            wire=Wire(grammar="structured_outputs.grammar"),  # since 0.12; guided_grammar is ignored since
        ),
        "llama.cpp": Preset(
            "http://localhost:8080/v1",
            "LLAMA_API_KEY",
            key_required=False,
            free=True,
            max_concurrency=4,  # llama-server has 4 slots by default
            wire=Wire(grammar="grammar"),
        ),
        "compatible": Preset("", "", key_required=False, max_concurrency=256),
    }
)
"""`compatible` is any other endpoint, about which nothing is assumed but the common wire."""

_limiters: WeakValueDictionary[tuple[object, ...], Limiter] = WeakValueDictionary()
_breakers: WeakValueDictionary[tuple[object, ...], Breaker] = WeakValueDictionary()


def openai_backend(
    model: str,
    preset: str | Preset | None = None,
    *,
    base_url: str | None = None,
    api_key: Secret | str | None = None,
    key_variable: str | None = None,
    price: Price | None = None,
    context: int | None = None,
    clocks: Clocks = CLOCKS,
    max_concurrency: int | None = None,
    retries: int = 3,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    name: str | None = None,
    secrets: Sequence[Secret] = (),
) -> Backend:
    """A model behind an endpoint: retried, with a breaker, and limited in flight.

    Nothing is called and no key is needed yet: without one, the first call fails with a `BackendError` of kind `auth`
    that names the variable to set.

    Args:
        model: its name upstream.
        preset: one of `PRESETS` or one's own; by default `openai`, or `compatible` where a base URL is given.
        base_url: another URL for the preset.
        api_key: the key; by default it is in the environment.
        key_variable: the environment variable it is in.
        price: US dollars per million tokens; by default what `genai-prices` says, and 0 on this machine.
        context: tokens that prompt and reply may take together; by default what `genai-prices` says.
        clocks: the four time limits of an attempt.
        max_concurrency: calls in flight at most. Backends for one endpoint and key share the places, and the smallest
            number that any of them gives, the preset's own included, holds for all.
        retries: further attempts after a failure that may pass.
        extra: further fields of every call's body.
        headers: further headers of every call.
        name: what it is called in requests and traces; by default the model's name.
        secrets: texts inside the others that no error, answer or repr may show.

    Raises:
        ConfigError: there is no such preset, no base URL, or `extra` has a field that is not its to set.
    """
    if preset is None:
        preset = "compatible" if base_url else "openai"
    if isinstance(preset, str):
        if preset not in PRESETS:
            raise ConfigError(f"no preset {preset!r}; there are {', '.join(sorted(PRESETS))}", key="preset")
        preset = PRESETS[preset]
    url = base_url or preset.base_url
    if not url:
        raise ConfigError("an endpoint needs a URL, such as http://localhost:8000/v1", key="base_url")
    key = Secret(api_key) if isinstance(api_key, str) else api_key
    variable = preset.key_variable if key_variable is None else key_variable
    near = (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")
    inner = OpenAI(
        model,
        base_url=url,
        api_key=key,
        key_variable=variable,
        key_required=preset.key_required or bool(key_variable),
        wire=preset.wire,
        price=Price() if price is None and (preset.free or (near and not preset.provider)) else price,
        context=context,
        provider=preset.provider,
        local=near,
        clocks=clocks,
        extra=extra or {},
        headers=headers or {},
        name=name or model,
        secrets=secrets,
    )
    places = preset.max_concurrency if max_concurrency is None else max_concurrency
    account = (inner.endpoint, key or variable)
    limiter = _limiters.setdefault(account, Limiter(places))
    limiter.narrow(places)
    breaker = _breakers.setdefault((*account, model), Breaker(name=inner.hide(f"{model} at {inner.endpoint}")))
    return Retried(Limited(inner, limiter), attempts=retries + 1, breaker=breaker)
