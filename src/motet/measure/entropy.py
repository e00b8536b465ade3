"""Entropy: how undecided an agent is over its samples, a group over its agents, a model over its tokens. In nats.

    answer entropy   H = -Σ_a p_a ln p_a         p_a: share of an item's answers that are a
    within, between  H(mean over agents of p) = mean over agents of H(p) + Jensen-Shannon divergence

so that what a pool is undecided about splits into what its agents are each undecided about and what they differ in.

Of a token's distribution an API shows the k likeliest alternatives; the rest of the mass r = 1 - Σ p is spread nobody
knows how. Both usual ways are here: `lumped` counts the rest as one more token, which is a lower bound of the true
entropy; `renormalised` divides by the mass that is seen, which may err either way, most where r is large.

    lumped        -Σ p ln p - r ln r              renormalised   -Σ (p/s) ln(p/s),  s = Σ p

Shannon (1948); Lin, "Divergence Measures Based on the Shannon Entropy", IEEE Trans. Inf. Theory 37 (1991). Entropy of
sampled answers as uncertainty: Kuhn, Gal and Farquhar, "Semantic Uncertainty" (2023). With few samples the entropy of
their shares is too small on average, by about (answers - 1) / 2 samples (Miller 1955); it is not corrected here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, as_answers, run_starts


@dataclass(frozen=True, eq=False)
class EntropyParts:
    """The entropy of a pool's answers and its parts, in nats, one an item; NaN where nobody answered.

    Attributes:
        total: (n,) of the mean distribution of the agents.
        within: (n,) mean of the agents' own entropies.
        between: (n,) total minus within, the Jensen-Shannon divergence of the agents.
    """

    total: Floats
    within: Floats
    between: Floats


@dataclass(frozen=True)
class TokenEntropy:
    """What the entropies of a text's tokens come to, in nats; all NaN for an empty text.

    Attributes:
        mean: over the tokens.
        max: the most undecided token.
        final: the last token, where a short answer is decided.
        unseen: mean mass outside the alternatives shown; where it is large, the entropies mean little.
        tokens: how many there are.
    """

    mean: float
    max: float
    final: float
    unseen: float
    tokens: int


def answer_entropy(answers: npt.ArrayLike) -> Floats:
    """The entropy of each item's answers.

    Args:
        answers: (n, k) of the k samples of one agent (entropy within), or one each of k agents (between);
            `NONE` is left out.

    Returns:
        (n,) nats, from 0 (all alike) to ln k (all different); NaN where there is no answer.

    Raises:
        ValueError: as `as_answers`.

    >>> answer_entropy([[1, 1], [1, 2]]).round(3).tolist()
    [0.0, 0.693]
    """
    table = as_answers(answers)
    return _entropies(table, np.where(table != NONE, 1.0, 0.0))


def entropy_parts(answers: npt.ArrayLike) -> EntropyParts:
    """Split the entropy of a pool's samples into the agents' own and what they differ in.

    Args:
        answers: (n, m, s) numbers, s samples of each of m agents; `NONE` is left out, and so is an agent that gave no
            answer to an item. Agents count alike, whatever the number of their answers.

    Returns:
        Total, within and between, each (n,).

    Raises:
        ValueError: it is not three-dimensional, or as `as_answers`.

    >>> entropy_parts([[[0, 0], [1, 1]]]).between.round(3).tolist()
    [0.693]
    """
    cube = np.asarray(answers)
    if cube.ndim != 3:
        raise ValueError(f"items by agents by samples are needed; these have the shape {cube.shape}")
    n, m, s = cube.shape
    table = as_answers(cube.reshape(n * m, -1))
    own = answer_entropy(table).reshape(n, m)
    given = (table != NONE).astype(float)
    counts = given.sum(axis=1, keepdims=True)
    share = given / np.maximum(counts, 1)
    total = _entropies(table.reshape(n, m * s), share.reshape(n, m * s))
    active = np.isfinite(own)
    voices = active.sum(axis=1)
    within = np.where(voices > 0, np.where(active, own, 0).sum(axis=1) / np.maximum(voices, 1), np.nan)
    # A difference of rounding below zero is none.
    return EntropyParts(total, within, np.maximum(total - within, 0.0))


def token_entropies(logprobs: npt.ArrayLike, *, lumped: bool = True) -> Floats:
    """The entropy of each token's distribution, as far as its likeliest alternatives show it.

    Args:
        logprobs: (t, k) natural logarithms of the probabilities of the k alternatives of each token, in any order;
            -inf or NaN where fewer are shown.
        lumped: count the rest as one token (a lower bound); otherwise divide by the mass seen.

    Returns:
        (t,) nats; NaN where nothing is shown.

    Raises:
        ValueError: it is not two-dimensional, or the probabilities of a token sum to more than 1 (by over 1 %).

    >>> token_entropies([[np.log(0.5), np.log(0.25)]]).round(3).tolist()
    [1.04]
    """
    p, seen = _shown(logprobs)
    if lumped:
        rest = np.clip(1 - seen, 0, 1)
        found = _plogp(p).sum(axis=1) + _plogp(rest)
    else:
        found = _plogp(p / np.where(seen > 0, seen, 1)[:, None]).sum(axis=1)
    return np.where(seen > 0, found, np.nan)


def token_entropy(logprobs: npt.ArrayLike, *, lumped: bool = True) -> TokenEntropy:
    """What the entropies of one text's tokens come to.

    Args:
        logprobs: (t, k) as in `token_entropies`.
        lumped: as in `token_entropies`.

    Returns:
        Mean, maximum and final entropy; tokens that show nothing are left out.

    Raises:
        ValueError: as `token_entropies`.

    >>> token_entropy([[0.0], [np.log(0.5)]]).final
    0.6931471805599453
    """
    values = token_entropies(logprobs, lumped=lumped)
    shown = np.isfinite(values)
    values = values[shown]
    if not values.size:
        nan = float("nan")
        return TokenEntropy(nan, nan, nan, nan, 0)
    unseen = np.clip(1 - _shown(logprobs)[1][shown], 0, 1)
    return TokenEntropy(
        float(values.mean()), float(values.max()), float(values[-1]), float(unseen.mean()), int(values.size)
    )


def _entropies(table: npt.NDArray[np.int64], share: Floats) -> Floats:
    """Row by row, the entropy of the distribution in which each cell adds its share to its answer."""
    n, k = table.shape
    order = np.argsort(table, axis=1, kind="stable")
    ranked, weight = np.take_along_axis(table, order, axis=1), np.take_along_axis(share, order, axis=1)
    fresh = run_starts(ranked)
    group = np.cumsum(fresh.ravel()) - 1
    mass = np.bincount(group, weight.ravel())
    row = np.repeat(np.arange(n), k)[fresh.ravel()]
    total = np.bincount(row, mass, minlength=n)
    safe = np.where(total > 0, total, 1)
    entropy = np.bincount(row, _plogp(mass / safe[row]), minlength=n)
    return np.where(total > 0, np.maximum(entropy, 0.0), np.nan)


def _plogp(p: Floats) -> Floats:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1)), 0.0)


def _shown(logprobs: npt.ArrayLike) -> tuple[Floats, Floats]:
    table = np.asarray(logprobs, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"tokens by alternatives are needed; these have the shape {table.shape}")
    p = np.exp(np.where(np.isnan(table), -np.inf, table))
    seen = p.sum(axis=1)
    if (seen > 1.01).any():
        at = int(np.argmax(seen))
        raise ValueError(f"the alternatives of token {at} have the probability {seen[at]:.3f}: are these logarithms?")
    return p, seen
