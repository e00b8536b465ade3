"""Texts as vectors: near in direction where the texts are near in meaning.

For effective channels, semantic diversity and novelty, which take an array and leave its making to you. Here a small
static model makes it, without torch and offline: WordLlama's `l2_supercat` (256 dimensions, 16 MB, MIT), which ships
inside its wheel; `pip install "motet[embed]"`. Any other embeddings do as well; they only have to be rows of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from motet.errors import UsageError

if TYPE_CHECKING:
    from motet.measure.arrays import Floats


class _Model(Protocol):
    def embed(self, texts: list[str], norm: bool) -> Floats: ...


def embed(texts: Sequence[str]) -> Floats:
    """The vectors of texts.

    Args:
        texts: any number of them; of a very long one the beginning counts, as far as the model's tokens reach.

    Returns:
        (len(texts), 256), each row of length 1; a text without any known word is all zeros.

    Raises:
        UsageError: the extra `embed` is not installed.

    >>> cat, sitting, rates = embed(["the cat sat", "a cat is sitting", "interest rates rose"])
    >>> bool(cat @ sitting > cat @ rates)
    True
    """
    import numpy as np

    if not texts:
        return np.zeros((0, 256))
    made = np.asarray(_model().embed(list(texts), norm=False), dtype=float)
    length = np.linalg.norm(made, axis=1, keepdims=True)
    unit: Floats = np.divide(made, length, out=np.zeros_like(made), where=length > 0)
    return unit


@cache
def _model() -> _Model:
    try:
        import wordllama
    except ImportError:
        raise UsageError('texts as vectors need the extra "embed": pip install "motet[embed]"') from None
    # Its folder as the cache: the package looks for its own tokenizer in a folder of another name, then on the network.
    model: _Model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return model
