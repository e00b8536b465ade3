"""Prices and contexts from the bundled snapshot: known models, unknown ones, no package, no network."""

from __future__ import annotations

import subprocess
import sys

import pytest

from motet.backends.openai import OpenAI
from motet.prices import context_of, price_of

NO_NETWORK = """
import socket
def refuse(*_): raise AssertionError("a network call")
socket.socket.connect = socket.getaddrinfo = refuse
"""


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_known_models_have_prices_without_a_network() -> None:
    """Dollars per million tokens, cached ones apart, contexts where they are known."""
    pytest.importorskip("genai_prices")
    code = NO_NETWORK + (
        "from motet.prices import price_of, context_of\n"
        "price = price_of('openai', 'gpt-4o-mini')\n"
        "print(price.input, price.cached, price.output, context_of('openai', 'gpt-4o-mini'))"
    )
    assert run(code) == "0.15 0.075 0.6 128000"


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-5"),  # dearer from 200,000 tokens on
        ("google", "gemini-2.5-pro"),
        ("deepseek", "deepseek-chat"),  # cheaper at night
        ("mistral", "mistral-large-latest"),
        ("groq", "llama-3.3-70b-versatile"),
        ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
        ("openrouter", "openai/gpt-4o-mini"),
    ],
)
def test_every_way_to_state_a_price_is_read(provider: str, model: str) -> None:
    """Plain, in tiers and by the hour; output is never cheaper than input, cached input never dearer."""
    pytest.importorskip("genai_prices")
    price = price_of(provider, model)
    assert price is not None
    assert 0 < price.input <= price.output < 100
    assert price.cached is None or 0 < price.cached < price.input


def test_unknown_is_none() -> None:
    """Neither a model nor a provider that nobody knows is an error, or free."""
    assert price_of("openai", "no-such-model-9") is None
    assert price_of("nobody", "gpt-4o") is None
    assert context_of("nobody", "gpt-4o") is None


def test_without_the_package_nothing_is_known() -> None:
    """`genai-prices` is optional."""
    hidden = "import sys; sys.modules['genai_prices'] = None; "
    code = hidden + "from motet.prices import price_of; print(price_of('openai', 'gpt-4o-mini'))"
    assert run(code) == "None"


def test_a_card_looks_prices_up_once_it_is_read() -> None:
    """A backend for a provider knows its price and context; a given price wins."""
    pytest.importorskip("genai_prices")
    card = OpenAI("gpt-4o-mini", provider="openai").card
    assert card.price is not None
    assert (card.price.output, card.context) == (0.6, 128_000)
    assert OpenAI("gpt-4o-mini").card.price is None
