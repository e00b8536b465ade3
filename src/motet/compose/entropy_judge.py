"""Entropy judge: agents answer, and the answer whose tokens' entropies look most like those of right answers is given.

Zhao, Chen and Su, "On the Uncertainty of Large Language Model-Based Multi-Agent Systems" (later "When Does Multi-Agent
Collaboration Help? An Entropy Perspective"), arXiv 2602.04234. Read: its abstract, a summary, and the public code
(AgenticFinLab/multiagent-entropy: entropy_judger/train_judger.py and evaluate.py, data_mining/code/features.py). Its
*Entropy Judger* is trained on 245 features of the entropies of tokens, agents and rounds (the mean of an XGBoost and
a LightGBM classifier of whether the answer is right) and picks, of k runs, the one it finds likeliest right.

Here, of each candidate:

    mean, max, final    tokens: mean and highest entropy of its last reply, and that of the last token, in nats
    relative            agents: its mean less what its agent usually has (`base`; where not known, the candidates' mean)
    change              rounds: mean of the last round less that of the first

and the judge is linear: p(right) = 1 / (1 + exp(-sum of weight × feature)), up to a constant that decides nothing.
`learn` fits the weights to graded candidates by ridge logistic regression. They are data in the configuration.

Inferred: five features and a linear judge for 245 and trees, since trees are no plain data and the trained ones are not
published. The default weights are -1 each, motet's choice of the paper's signs: it finds that less entropy is better at
any stage, peaks always harm, and the answer's own tokens tell most. It also finds that this differs by task, and turns
round with models tuned by reinforcement, whose entropy is search: `learn` the weights of such. Its runs have two
rounds; the default here is one, since it finds that the first settles most. In a further round each agent goes over its
own reply again. Left out: stopping at the first candidate that is likely enough (its early-stop table).

Shape: agents × rounds calls, rounds in series. Needs `logprobs` in its agents' sampling, the more alternatives the
better (entropy.py says how the rest is counted). A candidate without them can't be judged and is not given; if none
has any, the most frequent answer is. Both are noted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar

from motet.aggregate import Plurality
from motet.compose.base import at_least, finite
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen, recall
from motet.run import Agent, Run

if TYPE_CHECKING:
    from motet.measure.arrays import Floats
    from motet.measure.entropy import TokenEntropy

NOTE = "Go over your answer once more, and give it again, corrected where it has to be."
FEATURES = ("mean", "max", "final", "relative", "change")
WEIGHTS: Mapping[str, float] = dict.fromkeys(FEATURES, -1.0)


def entropies(reply: Reply) -> TokenEntropy | None:
    """The entropies of a reply's tokens; None where it has no log-probabilities, or none that can be."""
    from motet.measure.entropy import token_entropy

    rows = [[logprob for _, logprob in token.top] or [token.logprob] for token in reply.logprobs]
    most = max(map(len, rows), default=0)
    try:
        found = token_entropy([row + [float("-inf")] * (most - len(row)) for row in rows]) if rows else None
    except ValueError:  # probabilities that sum to more than 1
        return None
    return found if found and found.tokens else None  # none: tokens that can't be, all of them


def features(rounds: Sequence[TokenEntropy], usual: float) -> dict[str, float]:
    """The features of a candidate, from the entropies of its rounds and what its agent usually has."""
    first, last = rounds[0], rounds[-1]
    found = (last.mean, last.max, last.final, last.mean - usual, last.mean - first.mean)
    return dict(zip(FEATURES, found, strict=True))


def learn(candidates: Sequence[Mapping[str, float]], right: Sequence[bool], *, ridge: float = 1.0) -> dict[str, float]:
    """The weights that tell right candidates from wrong ones best.

    Args:
        candidates: the features of each.
        right: whether each was right.
        ridge: how strongly weights are held near 0; more than 0.

    Raises:
        ValueError: there are no candidates, not as many as verdicts (`right`), or numbers that are none.

    >>> sure, torn = dict.fromkeys(FEATURES, 0.1), dict.fromkeys(FEATURES, 0.9)
    >>> all(weight < 0 for weight in learn([sure, torn] * 20, [True, False] * 20).values())
    True
    """
    import numpy as np

    x = np.array([[1.0, *(each[name] for name in FEATURES)] for each in candidates])
    y, held = np.array(right, dtype=float), ridge * np.diag([1e-6, *[1.0] * len(FEATURES)])
    if not candidates or len(candidates) != len(right) or not np.isfinite(x).all() or not ridge > 0:
        raise ValueError(
            f"{len(candidates)} candidates, {len(right)} verdicts, or numbers that are none: teach nothing"
        )
    w = np.zeros(x.shape[1])

    def loss(w: Floats) -> float:
        return float(np.logaddexp(0.0, (1 - 2 * y) * (x @ w)).sum() + w @ held @ w / 2)

    for _ in range(25):  # Newton's steps, a handful is enough; halved where they lead too far
        p = np.exp(-np.logaddexp(0.0, -(x @ w)))
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + held, x.T @ (y - p) - held @ w)
        w += next((step / 2**half for half in range(30) if loss(w + step / 2**half) <= loss(w)), 0 * step)
    return {name: round(float(weight), 3) for name, weight in zip(FEATURES, w[1:], strict=True)}


@dataclass(frozen=True)
class EntropyJudge:
    """The candidate likeliest to be right by the entropies of its tokens.

    Args:
        agents: who answers; an agent named several times is drawn several times. Ties go to the one named first.
        rounds: replies of each agent, one after the other; the last is its candidate.
        weights: what each feature counts; see the module.
        base: the mean entropy that an agent's tokens usually have, by its name.
        note: what agents are told in a further round.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> from motet.message import Token
    >>> said = [Reply("Lyon", logprobs=(Token("Lyon", -0.7),)), Reply("Paris", logprobs=(Token("Paris", -0.01),))]
    >>> agents = [ModelAgent(Scripted([reply], name=reply.text), f"agent {reply.text}") for reply in said]
    >>> asyncio.run(perform(EntropyJudge(agents), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("Entropy Judger",)

    agents: Sequence[Agent]
    rounds: int = 1
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    base: Mapping[str, float] = field(default_factory=dict)
    note: str = NOTE
    grace: float | None = None
    name: str = "entropy-judge"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        finite(self.name, weights=self.weights, base=self.base)
        for unknown in self.weights.keys() - set(FEATURES):
            raise UsageError(f"{self.name} knows no feature {unknown!r}; there are: {', '.join(FEATURES)}")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        asks = {place: run.ask(agent, chat) for place, agent in enumerate(self.agents)}
        said = await run.each(asks, grace=self.grace)
        told = {place: [reply] for place, reply in said.items()}
        chats = dict.fromkeys(told, chat)
        for _ in range(1, self.rounds):
            run.offer(next(iter(said.values())))
            chats = {place: recall(chats[place], said[place]).note(self.note) for place in told}
            asks = {place: run.ask(self.agents[place], chats[place]) for place in told}
            for place, reply in (await run.each(asks, need=0, grace=self.grace)).items():
                told[place].append(reply)
                said[place] = reply
        replies = list(said.values())
        run.offer(replies[0])
        judged: dict[int, list[TokenEntropy]] = {}
        for place, rounds in told.items():
            found = list(map(entropies, rounds))
            if found[-1] is not None:
                judged[place] = [each for each in found if each is not None]
        if len(judged) < len(told):
            run.note("replies without token log-probabilities can't be judged: set logprobs in their agents' sampling")
        if not judged:
            run.note("no reply could be judged; the most frequent answer is given instead")
            return await Plurality()(chat, replies, run)
        pool = fmean(rounds[-1].mean for rounds in judged.values())
        odds: dict[int, float] = {}
        for place, known in judged.items():
            given = features(known, self.base.get(self.agents[place].name, pool))
            odds[place] = sum(self.weights.get(name, 0.0) * value for name, value in given.items())
        return chosen(said[max(odds, key=lambda place: odds[place])], replies)
