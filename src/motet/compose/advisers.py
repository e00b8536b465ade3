"""Advisers: what unlike advisers say, fused by Bayes' rule, each as reliable as it has shown itself so far.

After the orchestrator of EmoMAS: Long, Liu and Xu, "EmoMAS: Emotion-Aware Multi-Agent System for High-Stakes
Edge-Deployable Negotiation with Bayesian Orchestration", arXiv 2604.07003; read in the public code: Yunbo-max/EmoMAS at
7703e11 (PAPER_NOTES.md, models/bayesian_multiagent.py). There, a game-theoretic, a learning and a psychological adviser
each name the emotion to show next. The orchestrator keeps a Dirichlet of each one's reliability, adds reliability times
confidence for every emotion that is named, and shows the one with most; when it is known how the negotiation ended, the
reliabilities of those who were right grow. Its notes say that both choose by that sum, and that the paper updates the
weights by multiplying with likelihoods where the code adds and normalises.

Here an adviser's reliability r is its chance of naming the right one of K answers, known as a Beta (the Dirichlet of
right and wrong), and those who err are taken to err by themselves, alike over the K - 1 others:

    P(answer | said)  ~  product over advisers of  E[r] if it said that answer, else (1 - E[r]) / (K - 1)

in which the mean of the Beta stands for r exactly, since every factor is linear in it. That is `rule="product"`, what
Bayes' rule makes of it and motet's default; `rule="sum"` chooses as EmoMAS does, a linear pool, in which two poor
advisers outvote a good one; with the product they need not. Simulated, one of 85 % among four of 35 to 40 %, after
60 graded questions: plain vote 71 % right, sum 80 %, product 83 %.

`learned` makes the next state of a state: an adviser gains the probability that what it said is right, and loses the
rest. With feedback that is 1 or 0; without any, the posterior itself will do (one step of Dawid and Skene's EM), as
long as advisers are right more often than not. `keep` below 1 forgets, for advisers that change.

The state is plain data in the configuration, by adviser (right, wrong), the prior's counts included; nothing is learned
while a question is answered, so that the same question gets the same answer: whoever hears how it ended calls `learned`
and passes the new state on. Kept elsewhere: reliabilities by topic are `Roundtable`'s, whose table gives the same
product from graded outcomes. Left out: confidences that advisers state of themselves; exploration.

Shape: one call an adviser, all at once. Without a state, and with equal priors, it is a plain vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, log
from typing import ClassVar, Literal

from motet.aggregate.camps import camps
from motet.compose.base import at_least, finite
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen
from motet.run import Agent, Run

State = Mapping[str, tuple[float, float]]
"""What is known of each adviser, by its name: how often it was right and how often wrong, a Beta's two parameters."""
PRIOR = (2.0, 2.0)
"""An adviser nobody knows yet: as likely right as wrong, and soon known better (2 a count: EmoMAS's Dirichlet)."""


def answers(replies: Iterable[Reply], question: str = "") -> list[tuple[str, str]]:
    """Who said what, as votes tell answers apart: what `fused` and `learned` read.

    >>> answers([Reply("It is 4.", agent="ann"), Reply("four", agent="bob")])
    [('ann', '4'), ('bob', '4')]
    """
    given = list(replies)
    return [(given[place].agent, said) for said, camp in camps(given, question).items() for place in camp]


def fused(
    said: Sequence[tuple[str, str]],
    state: State,
    *,
    classes: int = 4,
    prior: tuple[float, float] = PRIOR,
    rule: Literal["product", "sum"] = "product",
) -> dict[str, float]:
    """How probable each answer is that somebody gave.

    Args:
        said: adviser and answer, for every answer given.
        state: what is known of the advisers.
        classes: K, how many answers there are to choose from; at least as many as were given.
        prior: what is known of an adviser that the state does not have.
        rule: multiply (Bayes) or add.

    Returns:
        Probabilities in the order in which answers were first given. With `product` they leave room for the answers
        that nobody gave; with `sum` they are shares of the whole.

    Raises:
        UsageError: there is no such rule, or what is known of an adviser is no Beta's.

    >>> said = [("ann", "4"), ("bob", "5"), ("cat", "5")]
    >>> known = {"ann": (18.0, 2.0), "bob": (10.0, 10.0), "cat": (10.0, 10.0)}
    >>> fused(said, known), fused(said, known, rule="sum")  # doctest: +ELLIPSIS
    ({'4': 0.71..., '5': 0.23...}, {'4': 0.47..., '5': 0.52...})
    """
    _refuse("fused", state, prior, rule)
    given = list(dict.fromkeys(answer for _, answer in said))
    k = max(classes, len(given))
    means = {name: _mean(state.get(name, prior)) for name, _ in said}
    if rule == "sum":
        whole = fsum(means[name] for name, _ in said)
        return {each: fsum(means[name] for name, answer in said if answer == each) / whole for each in given}
    right = {name: log(mean) for name, mean in means.items()}
    wrong = {name: log((1 - mean) / (k - 1)) for name, mean in means.items()}
    # `fsum` does not depend on the order, so that equals are equal and nobody wins by a rounding error
    logs = [fsum((right if answer == each else wrong)[name] for name, answer in said) for each in given]
    logs += [fsum(wrong[name] for name, _ in said) + log(k - len(given))] if k > len(given) else []
    odds = [exp(each - max(logs, default=0.0)) for each in logs]
    return {each: odd / sum(odds) for each, odd in zip(given, odds, strict=False)}


def learned(
    state: State,
    said: Sequence[tuple[str, str]],
    truth: str | Mapping[str, float],
    *,
    keep: float = 1.0,
    prior: tuple[float, float] = PRIOR,
) -> dict[str, tuple[float, float]]:
    """The state after one more question.

    Args:
        state: the state before; it is not changed.
        said: what each adviser said.
        truth: the right answer as `answers` writes it, or how probable each answer is.
        keep: the share of what was known that is kept, for the advisers of this question; what is forgotten makes
            room for the prior.
        prior: what is known of an adviser that the state does not have.

    Raises:
        UsageError: a probability or `keep` is not from 0 to 1, or what is known of an adviser is no Beta's.

    >>> learned({"ann": (8.0, 2.0)}, [("ann", "4"), ("bob", "5")], "4")
    {'ann': (9.0, 2.0), 'bob': (2.0, 3.0)}
    """
    _refuse("learned", state, prior)
    probable = {truth: 1.0} if isinstance(truth, str) else truth
    shares = [keep, *probable.values()]
    if not all(0 <= share <= 1 for share in shares):
        raise UsageError(f"shares and probabilities are from 0 to 1; these are {', '.join(map(str, shares))}")
    found = dict(state)
    for name in dict.fromkeys(name for name, _ in said):
        found[name] = _blend(found.get(name, prior), prior, keep)
    for name, answer in said:
        right, wrong = found[name]
        chance = probable.get(answer, 0.0)
        found[name] = (right + chance, wrong + 1 - chance)
    return found


@dataclass(frozen=True)
class Advisers:
    """The answer that is most probable, given what each adviser said and how reliable each is.

    Args:
        advisers: who advises; an agent named several times counts as often. Ties go to the answer given first.
        state: what is known of each, by its name: (right, wrong), the prior included; `learned` makes one.
        classes: how many answers there are to choose from; where answers are open, about how many different ones
            are given.
        prior: (right, wrong) of an adviser that the state does not have.
        rule: `product` multiplies, as Bayes does; `sum` adds reliabilities.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> ann, bob, cat = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "5", "five"))
    >>> state = {}
    >>> for _ in range(5):  # five questions whose right answer came out: each time it was agent 4's
    ...     state = learned(state, [("agent 4", "4"), ("agent 5", "5"), ("agent five", "5")], "4")
    >>> asyncio.run(perform(Advisers([ann, bob, cat]), "2 + 2?")).text  # nothing is known yet
    '5'
    >>> asyncio.run(perform(Advisers([ann, bob, cat], state), "2 + 2?")).text
    '4'
    """

    also_known_as: ClassVar = ("EmoMAS", "Bayesian orchestrator")

    advisers: Sequence[Agent]
    state: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    classes: int = 4
    prior: tuple[float, float] = PRIOR
    rule: Literal["product", "sum"] = "product"
    grace: float | None = None
    name: str = "advisers"

    def __post_init__(self) -> None:
        at_least(1, "advisers", self.advisers, self.name)
        at_least(2, "classes", self.classes, self.name)
        finite(self.name, classes=self.classes)
        _refuse(self.name, self.state, self.prior, self.rule)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all((run.ask(adviser, chat) for adviser in self.advisers), grace=self.grace)
        said = answers(replies, chat.question)
        chances = fused(said, self.state, classes=self.classes, prior=self.prior, rule=self.rule)
        best = max(chances, key=lambda answer: chances[answer])  # of equals the first
        return chosen(replies[camps(replies, chat.question)[best][0]], replies)


def _refuse(name: str, state: State, prior: tuple[float, float], rule: str = "product") -> None:
    """Refuse what is no Beta's parameters, and rules that there are not."""
    finite(name, state=state, prior=prior)
    for who, counts in (("prior", prior), *state.items()):
        if len(counts) != 2 or not min(counts) > 0 or not 0 < _mean(counts) < 1:
            raise UsageError(
                f"{name}: {who} can't be {tuple(counts)}: give how often it was right and how often wrong, "
                f"two numbers above 0 of which neither vanishes beside the other"
            )
    if rule not in ("product", "sum"):
        raise UsageError(f"{name} can't fuse by {rule!r}: give product or sum")


def _mean(counts: tuple[float, float]) -> float:
    return counts[0] / (counts[0] + counts[1])


def _blend(counts: tuple[float, float], prior: tuple[float, float], keep: float) -> tuple[float, float]:
    right, wrong = (keep * count + (1 - keep) * base for count, base in zip(counts, prior, strict=True))
    return right, wrong
