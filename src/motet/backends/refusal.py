"""What an endpoint's error means: status, headers and body in, a `BackendError` of one kind out.

Providers agree on little more than the status, and not always on that: an empty account is 402, 403 or 429, too long a
prompt is 400, 413 or 500. So the codes and words of the body decide first, within what the status allows.

    >>> refusal(429, {"retry-after": "2"}, b'{"error": {"message": "Slow down", "code": "rate_limit"}}').retry_after
    2.0
    >>> refusal(400, {}, b'{"error": {"message": "maximum context length is 8192 tokens"}}').kind
    'context_length'
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping

from motet.errors import BackendError, Kind

LONGEST = 500
"""Characters of an endpoint's words that an error repeats."""

# Words of codes, types and messages, lower case, as OpenAI, Anthropic, Google, Mistral, DeepSeek, Groq, Together,
# OpenRouter, Azure, vLLM, llama.cpp and Ollama use them. Google says "check your plan and billing" for an ordinary rate
# limit, so the bare words quota and billing decide nothing.
_WORDS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (
        "context_length",
        (
            "context_length",
            "context length",
            "context window",
            "context size",
            "exceed_context",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "input token count",
            "too many tokens",
            "reduce the length",
            "reduce your message size",
            "string_above_max_length",
            "max_new_tokens",
        ),
    ),
    (
        "content_filter",
        (
            "content_filter",
            "content_policy",
            "content management policy",
            "content exists risk",
            "moderation",
            "responsibleai",
            "safety system",
        ),
    ),
    (
        "quota",
        (
            "insufficient_quota",
            "insufficient balance",
            "insufficient_balance",
            "insufficient credit",
            "credit balance",
            "billing_hard_limit",
            "billing_not_active",
        ),
    ),
    ("auth", ("invalid_api_key", "api_key_invalid", "api key not valid", "incorrect api key", "invalid api key")),
    ("not_found", ("model_not_found", "not a valid model", "model not found")),
    ("rate_limit", ("rate_limit", "rate limit", "too many requests", "resource_exhausted")),
)
_REFUSED = frozenset({"context_length", "content_filter", "quota", "auth", "not_found"})

_ALLOWED: Mapping[int, tuple[Kind, frozenset[str]]] = {
    400: ("bad_request", _REFUSED),
    401: ("auth", frozenset()),
    402: ("quota", frozenset()),
    403: ("auth", frozenset({"content_filter", "quota"})),
    404: ("not_found", frozenset()),
    405: ("not_found", frozenset()),
    408: ("timeout", frozenset()),
    409: ("server", frozenset()),
    410: ("not_found", frozenset()),
    413: ("bad_request", frozenset({"context_length"})),
    422: ("bad_request", _REFUSED),
    425: ("server", frozenset()),
    429: ("rate_limit", frozenset({"quota"})),
    498: ("server", frozenset()),
    501: ("bad_request", frozenset()),
}
"""For a status: the kind it stands for, and the kinds that words may turn it into."""


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> BackendError:
    """The error that an answer with a status other than 200 stands for.

    Args:
        status: the HTTP status.
        headers: the answer's headers, in any case.
        body: what there is of the body.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        payload: object = json.loads(body)
    except (ValueError, RecursionError):
        payload = None
    if 300 <= status < 400:
        where = lower.get("location", "elsewhere")
        return BackendError("not_found", f"the endpoint has moved to {tidy(where)}: set base_url", status=status)
    if isinstance(payload, list) and payload:
        payload = payload[0]  # Google wraps its errors in a list
    if isinstance(payload, dict):
        words, text = _said(payload)
    else:
        words, text = "", page(body)
    kind = _kind(status, words)
    retry = {"true": True, "false": False}.get(lower.get("x-should-retry", "").strip().lower())
    if retry is None and kind == "rate_limit" and "request too large" in words:
        retry = False  # one request above the limit of a minute never fits
    wait = retry_after(lower)
    if wait is None and isinstance(payload, dict):
        wait = _delay(payload)
    return BackendError(kind, text or "no reason given", status=status, retry_after=wait, retry=retry)


def refusal_in(payload: Mapping[str, object]) -> BackendError:
    """The error that is told in a body with status 200, or in an event of a stream."""
    words, text = _said(payload)
    error = payload.get("error")
    code = error.get("code", error.get("status")) if isinstance(error, dict) else payload.get("code")
    status = int(str(code)) if re.fullmatch("[45][0-9][0-9]", str(code)) else 0
    kind = _kind(status, words) if status else _spoken(words, frozenset(dict(_WORDS))) or _unspoken(words)
    return BackendError(kind, text or "an error without words", status=status, retry_after=_delay(payload))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `Retry-After` (seconds or a date); headers in lower case.

    >>> retry_after({"retry-after-ms": "1500"}), retry_after({"retry-after": "-1"}), retry_after({})
    (1.5, 0.0, None)
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        try:
            seconds = float(value) / unit
        except ValueError:
            seconds = math.nan
            if name == "retry-after" and value:
                from email.utils import parsedate_to_datetime

                try:
                    seconds = parsedate_to_datetime(value).timestamp() - time.time()
                except (ValueError, OverflowError):
                    continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def tidy(text: str) -> str:
    """Words from outside on one line, without control characters, cut to `LONGEST`."""
    text = " ".join("".join(char if char.isprintable() else " " for char in text[: 8 * LONGEST]).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _kind(status: int, words: str) -> Kind:
    fallback: Kind
    if status >= 500 and status not in _ALLOWED:
        fallback, allowed = "server", frozenset({"context_length", "quota"})
    else:
        fallback, allowed = _ALLOWED.get(status, ("bad_request" if status >= 400 else "malformed", _REFUSED))
    return _spoken(words, allowed) or fallback


def _spoken(words: str, allowed: frozenset[str]) -> Kind | None:
    return next((kind for kind, signs in _WORDS if kind in allowed and any(sign in words for sign in signs)), None)


def _unspoken(words: str) -> Kind:
    return "bad_request" if "invalid_request" in words else "server"


def _said(payload: Mapping[str, object]) -> tuple[str, str]:
    """All words of an error in lower case, to be searched, and what to repeat of them."""
    error = payload.get("error", payload)
    if isinstance(error, str):
        return error.lower(), tidy(error)
    if not isinstance(error, Mapping):
        error = payload
    message = error.get("message") or error.get("detail") or error.get("error") or error
    told = message if isinstance(message, str) else json.dumps(message)
    labels = [str(error[key]) for key in ("code", "type", "status") if error.get(key)]
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None  # OpenRouter: what the provider said
    if isinstance(raw, str):
        told += f" ({raw})"
    label = next((one for one in labels if "_" in one and one not in told), "")
    return " ".join([*labels, told]).lower(), tidy(f"{told} [{label}]" if label else told)


def page(body: bytes) -> str:
    """What an answer that is no JSON says, for an error: of an HTML page, its title or its words."""
    text = body[: 8 * LONGEST].decode("utf-8", "replace")
    if "<" in text[:200]:
        title = re.search(r"<title[^>]*>(.*?)</title", text, re.IGNORECASE | re.DOTALL)
        text = title.group(1) if title else re.sub(r"<[^>]*>", " ", text)
        return tidy(f"an HTML page: {text}")
    return tidy(text)


def _delay(payload: Mapping[str, object]) -> float | None:
    """Google's way to say when to come back: `retryDelay` among the details, as "34s"."""
    error = payload.get("error")
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = str(detail.get("retryDelay", "")) if isinstance(detail, Mapping) else ""
        if re.fullmatch(r"\d{1,6}(\.\d+)?s", delay):
            return float(delay[:-1])
    return None
