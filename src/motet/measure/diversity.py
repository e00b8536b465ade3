"""Diversity of a group: how unlike its members' answers, or its texts, are.

    value diversity      mean over pairs of agents of the mean over questions of d(answer, answer')
                         d: 1 if they differ (nominal), or |a - a'| / (options - 1) (ordinal)
    alignment            1 - mean over questions of d(answer, reference)
    lexical diversity    mean over pairs of texts of 1 - |words in both| / |words in either|
    semantic diversity   mean over pairs of embeddings of 1 - cosine
    distinct-n           different n-grams / n-grams, all texts together
    novelty              1 - the highest cosine to an earlier text

Value diversity is a property of the group, and one can lose it while every member stays aligned: Xu et al., "Beyond
Alignment: Value Diversity as a Collective Property in Multicultural Agent Systems" (2026); inferred: the two d, and
that questions count alike. Distinct-n: Li et al. (2016). Lexical diversity is Jaccard's distance of word sets and not
self-BLEU (Zhu et al. 2018): it is symmetric, has no smoothing or reference length to choose, and takes no more than
one product of matrices; distinct-n stands beside it because it sees repetition within a text, but falls with length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints, as_answers, as_gold

WORD: Final = re.compile(r"\w+")
BLOCK: Final = 2048
"""Rows compared with all others at a time."""


def dissimilarity(answers: npt.ArrayLike, options: npt.ArrayLike | None = None) -> Floats:
    """How unlike each two agents' answers are.

    Args:
        answers: (n, m) n questions on axis 0; options' numbers for ordinal answers. A question that one of a pair did
            not answer (`NONE`) is left out for that pair.
        options: (n,) how many options each question has, at least 2, if they are ordered and evenly spaced; left out,
            answers are equal or not.

    Returns:
        (m, m) from 0 to 1, symmetric, 0 on the diagonal; NaN where a pair has no question in common.

    Raises:
        ValueError: as `as_answers`, or the options do not fit.

    >>> dissimilarity([[1, 1], [1, 3]], options=[5, 5]).tolist()
    [[0.0, 0.25], [0.25, 0.0]]
    """
    table = as_answers(answers)
    step = _step(options, len(table))
    m = table.shape[1]
    found = np.full((m, m), np.nan)
    for j in range(m):
        found[j, j:] = found[j:, j] = _apart(table[:, j:], table[:, j], step)
        found[j, j] = 0.0
    return found


def value_diversity(answers: npt.ArrayLike, options: npt.ArrayLike | None = None) -> float:
    """How unlike the agents' answers to a survey are, on average over pairs.

    Args:
        answers: (n, m) as in `dissimilarity`, at least two agents.
        options: as in `dissimilarity`.

    Returns:
        From 0, all agents answer alike, to 1; pairs without a question in common are left out, NaN where all are.

    Raises:
        ValueError: as `dissimilarity`, or a single agent.

    >>> value_diversity([[1, 2, 2], [1, 1, 1]])
    0.3333333333333333
    """
    pairs = dissimilarity(answers, options)
    if len(pairs) < 2:
        raise ValueError("one agent alone has no diversity: at least two are needed")
    values = pairs[np.triu_indices(len(pairs), 1)]
    values = values[np.isfinite(values)]
    return float(values.mean()) if values.size else float("nan")


def alignment(answers: npt.ArrayLike, reference: npt.ArrayLike, options: npt.ArrayLike | None = None) -> Floats:
    """How like a reference each agent's answers are.

    Args:
        answers: (n, m) as in `dissimilarity`.
        reference: (n,) the reference's answers; `UNKNOWN` where it has none.
        options: as in `dissimilarity`.

    Returns:
        (m,) from 0 to 1; NaN for an agent that shares no question with the reference.

    Raises:
        ValueError: as `dissimilarity` and `as_gold`.

    >>> alignment([[1, 2], [1, 1]], [1, 1]).tolist()
    [1.0, 0.5]
    """
    table = as_answers(answers)
    right = as_gold(reference, len(table))
    return 1 - _apart(table, np.maximum(right, NONE), _step(options, len(table)))


def words(text: str) -> list[str]:
    """The words of a text, without case and punctuation.

    >>> words("Don't panic!")
    ['don', 't', 'panic']
    """
    return WORD.findall(text.lower())


def distinct_n(texts: Sequence[str], n: int = 2) -> float:
    """The share of n-grams of words that are different, over all texts together.

    Args:
        texts: any number.
        n: words an n-gram; the paper reports 1 and 2.

    Returns:
        Up to 1, no n-gram comes twice; NaN where no text is n words long. Compare texts of like length only.

    >>> distinct_n(["a b c", "a b d"])
    0.75
    """
    grams = [tuple(w[i : i + n]) for w in map(words, texts) for i in range(len(w) - n + 1)]
    return len(set(grams)) / len(grams) if grams else float("nan")


def lexical_diversity(texts: Sequence[str]) -> float:
    """How different the words of two texts are, on average over pairs.

    Args:
        texts: at least two; texts without a word are like each other and unlike all others.

    Returns:
        From 0, the same words everywhere, to 1, no word in common.

    Raises:
        ValueError: fewer than two texts.

    >>> lexical_diversity(["red fish", "blue fish"])
    0.6666666666666667
    """
    if len(texts) < 2:
        raise ValueError(f"{len(texts)} texts have no diversity: at least two are needed")
    number: dict[str, int] = {}
    rows = [sorted({number.setdefault(word, len(number)) for word in words(text)}) for text in texts]
    # All texts that hold a word share it pairwise: counted through the words, so that no dense table is needed.
    holders: list[list[int]] = [[] for _ in number]
    for text, row in enumerate(rows):
        for word in row:
            holders[word].append(text)
    t = len(texts)
    both = np.zeros((t, t))
    for who in holders:
        both[np.ix_(who, who)] += 1
    sizes = np.diag(both)
    either = sizes[:, None] + sizes - both
    like = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    return float(1 - like[np.triu_indices(t, 1)].mean())


def semantic_diversity(embeddings: npt.ArrayLike) -> float:
    """How unlike the meanings of two texts are, on average over pairs.

    Args:
        embeddings: (t, d) at least two; lengths do not matter.

    Returns:
        Mean 1 - cosine: 0 where all point the same way, 1 where they are unrelated, up to 2.

    Raises:
        ValueError: fewer than two, or one of no length.

    >>> semantic_diversity([[1.0, 0.0], [0.0, 2.0]])
    1.0
    """
    unit = _unit(embeddings)
    t = len(unit)
    if t < 2:
        raise ValueError("one text alone has no diversity: at least two are needed")
    # The sum of all pairs' cosines from the length of the vectors' sum, without the matrix of pairs.
    cosines = (float((unit.sum(axis=0) ** 2).sum()) - t) / (t * (t - 1))
    return max(0.0, 1 - cosines)


def novelty(embeddings: npt.ArrayLike) -> Floats:
    """How far each text is from everything said before it.

    Args:
        embeddings: (t, d) in the order in which the texts came.

    Returns:
        (t,) 1 - the cosine to the nearest earlier text, from 0 to 2; NaN for the first.

    Raises:
        ValueError: as `semantic_diversity`.

    >>> novelty([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]).tolist()
    [nan, 1.0, 0.0]
    """
    unit = _unit(embeddings)
    t = len(unit)
    nearest = np.full(t, np.nan)
    for start in range(0, t, BLOCK):
        stop = min(t, start + BLOCK)
        cosine = unit[start:stop] @ unit[:stop].T
        later = np.arange(stop) >= np.arange(start, stop)[:, None]
        nearest[start:stop] = np.where(later, -np.inf, cosine).max(axis=1)
    return np.where(np.arange(t) > 0, np.maximum(0.0, 1 - nearest), np.nan)


def _apart(table: Ints, other: Ints, step: Floats | None) -> Floats:
    """Mean distance of each column to another, over the questions that both answered."""
    both = (table != NONE) & (other != NONE)[:, None]
    gap = (table != other[:, None]).astype(float) if step is None else np.abs(table - other[:, None]) * step[:, None]
    count = both.sum(axis=0)
    return np.where(count > 0, np.where(both, gap, 0).sum(axis=0) / np.maximum(count, 1), np.nan)


def _step(options: npt.ArrayLike | None, n: int) -> Floats | None:
    if options is None:
        return None
    number = np.asarray(options, dtype=float)
    if number.shape != (n,) or not (number >= 2).all():
        raise ValueError(f"{n} questions need as many numbers of options, at least 2 each; these have {number.shape}")
    step: Floats = 1 / (number - 1)
    return step


def _unit(embeddings: npt.ArrayLike) -> Floats:
    vectors = np.asarray(embeddings, dtype=float)
    if vectors.ndim != 2 or not vectors.size or not np.isfinite(vectors).all():
        raise ValueError(f"texts by dimensions, all finite, are needed; these have the shape {vectors.shape}")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not length.all():
        raise ValueError(f"the embedding of text {int(np.argmin(length))} has no length: an empty text has no meaning")
    unit: Floats = vectors / length
    return unit
