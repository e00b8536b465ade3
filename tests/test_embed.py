"""Texts as vectors."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from motet import embed as module
from motet.embed import embed
from motet.errors import UsageError


def test_shapes_and_lengths() -> None:
    """A row a text, of length 1; nothing for no text, zeros for the empty one, and the odd ones do no harm."""
    assert embed([]).shape == (0, 256)
    made = embed(["one", "", "数学は楽しい", "🎉", "word " * 20_000])
    assert made.shape == (5, 256)
    assert np.isfinite(made).all()
    lengths = np.linalg.norm(made, axis=1)
    assert lengths == pytest.approx(np.where(lengths > 0, 1, 0))
    assert lengths[0] == pytest.approx(1)


def test_nearer_in_meaning_is_nearer() -> None:
    """Paraphrases are nearer to each other than to other sentences."""
    texts = [
        "How do I reset my password?", "I forgot my password, what now?",
        "The derivative of x squared is 2x.", "Differentiating x^2 gives 2x.",
        "Paris is the capital of France.", "France's capital city is Paris.",
    ]  # fmt: skip
    made = embed(texts)
    alike = made @ made.T - 2 * np.eye(len(texts))
    assert alike.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said."""
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "wordllama":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    module._model.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"motet\[embed\]"):
        embed(["x"])
