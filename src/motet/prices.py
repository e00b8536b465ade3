"""Prices and contexts of hosted models, from the optional `genai-prices`: its bundled snapshot, never the network.

    >>> price_of("nobody", "no-such-model") is None
    True

Importing it takes half a second, so it is imported when a price is first asked for.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from motet.backend import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo


def price_of(provider: str, model: str) -> Price | None:
    """What a model costs.

    Args:
        provider: its id there: `openai`, `anthropic`, `google`, `mistral`, …
        model: the model's name, as the provider's API has it.

    Returns:
        US dollars per million tokens, those of the lowest tier where prices rise with the prompt's length; None if
        the package is not installed or does not know the model.
    """
    info = _info(provider, model)
    if info is None:
        return None
    prices = info.get_prices(datetime.datetime.now(datetime.UTC))
    paid, written, cached = (_usd(getattr(prices, f"{part}_mtok")) for part in ("input", "output", "cache_read"))
    if paid is None and written is None:
        return None
    return Price(input=paid or 0.0, output=written or 0.0, cached=cached)


def context_of(provider: str, model: str) -> int | None:
    """Tokens that a model's prompt and reply may take together; None if unknown."""
    info = _info(provider, model)
    return info.context_window if info else None


@lru_cache(maxsize=256)
def _info(provider: str, model: str) -> ModelInfo | None:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        return get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None


def _usd(price: object) -> float | None:
    """A price, or the base of a tiered one, as a number."""
    base = getattr(price, "base", price)
    return float(base) if isinstance(base, Decimal) else None
