"""Attention-MoA: in each layer agents criticise each other's replies in pairs and rewrite their own; a residual agent
puts the layers' results together, and ends it when a layer brings nothing new.

Wen, Yang, Yu, Xiao and Zeng, "Attention-MoA: Enhancing Mixture-of-Agents via Inter-Agent Semantic Attention and Deep
Residual Synthesis", arXiv 2601.16596; read in the public code: John-Wendell/Attention-MoA
(generate_for_alpaca_amoa_api_cache.py at c308e84, utils.py and the files under attention_prompt/ at d9d30ea). The
attention is words, not numbers: each agent compares its reply with each other one and says what to change in that one
(cross-attention), looks its own over again (self-attention), and then rewrites its own, weighing what it was told
(inter-agent semantic attention). The summarizer makes one reply of the rewritten ones. From the second layer on it
also makes one of the results of all layers so far (inter-layer residual module), or says that the last one is no better
(adaptive early stopping); then that layer's summary is the answer, as in the code. The next layer hears that one reply.
The code runs 1 layer unless told otherwise; 2, the least in which all parts take part, is motet's default.

Differences: remarks and replies stand fenced and shuffled in the user's turn, one's own reply as one's turn. After the
last layer the summarizer is not asked whether to stop, since nothing is saved by it. Who gets no remark keeps its
reply; so does who fails to rewrite it. `attention=False`, `residual=False` and `early_stop=False` leave the parts out.

Shape: (agents² + 2 × agents + 2) × layers - 1 calls at most, 5 × layers - 1 in series. Needs agents that can criticise
when they are told to, and not only answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate.plurality import plurality
from motet.aggregate.synthesize import NOTE
from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.message import Chat, Message, Reply, hear, recall
from motet.prompt import next_labels
from motet.run import Agent, Run

CRITICISE = (
    "Below is another reply to the same question. Compare it with yours. Say what should be changed in it to make it "
    "better, and why: what is wrong, what is missing, what yours has that it should have. Say so if it is yours that "
    "is wrong. Do not write the reply anew."
)
REVISE = (
    "Look your reply over again. Say what in it is wrong, doubtful or missing, and what should be changed, with "
    "reasons. Do not write it anew."
)
REWRITE = (
    "Below are remarks on your reply, of others and of yourself. They may be mistaken: weigh each, take what holds and "
    "leave the rest. Then give your reply again, improved, without mentioning the remarks."
)
RESIDUAL = (
    "Below is what several rounds of work on this have given, one result a round, the last round's last. Check them "
    "against each other and against what you know. Then give one reply of your own, the best that can be given, "
    "without mentioning the rounds."
)
STOP = ' If the last round\'s result is no better than the others, write no reply but only one line: "Verdict: STOP".'


@dataclass(frozen=True)
class AttentionMoA:
    """Layers of agents that criticise and rewrite, and a summarizer over agents and over layers.

    If the summarizer gives no usable reply, the result so far is taken, or in the first layer the plurality of the
    answers, and that is noted.

    Args:
        agents: who answers, criticises and rewrites in every layer.
        summarizer: who makes one reply of a layer's, and one of the layers' results.
        layers: layers at the most.
        attention: whether replies are criticised and rewritten.
        residual: whether the results of all layers are put together; else each layer's summary stands.
        early_stop: whether the summarizer may end it when a layer brings nothing new; it takes `residual`.
        note: what is said about replies that are to be made into one.
        criticise: what agents are told about each other's replies.
        revise: what each is told about its own.
        rewrite: what each is told about the remarks on its own.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> a, b = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris"))
    >>> result = asyncio.run(perform(AttentionMoA([a, b], summarizer=b, layers=1), "Capital of France?"))
    >>> result.text, result.usage.calls  # two answers, four criticisms, two rewritten answers, a summary
    ('Paris', 9)
    """

    also_known_as: ClassVar = ("AMoA", "inter-agent semantic attention")

    agents: Sequence[Agent]
    summarizer: Agent
    layers: int = 2
    attention: bool = True
    residual: bool = True
    early_stop: bool = True
    note: str = NOTE
    criticise: str = CRITICISE
    revise: str = REVISE
    rewrite: str = REWRITE
    grace: float | None = None
    name: str = "attention-moa"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "layers", self.layers, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        results: list[Reply] = []  # of the layers so far
        for layer in range(1, self.layers + 1):
            heard = hear(chat, results[-1:], self.note) if results else chat
            replies = await self._attended(heard, run, need=0 if results else 1)
            if not replies:
                run.note(f"nobody answered in layer {layer}; the result of the one before stands")
                break
            last, residual = layer == self.layers, self.residual and bool(results)
            asked = hear(chat, replies, self.note)
            summary = await self._written(asked, results[-1:] or replies, run, final=last and not residual)
            result = summary
            if residual:
                note = RESIDUAL if last or not self.early_stop else RESIDUAL + STOP
                asked = hear(chat, [*results, summary], note, next_labels(chat, layer))
                result = await self._written(asked, [summary], run, final=last)
                said = result is not summary  # else the summarizer said nothing, and that one may be a member's own
                if said and self.early_stop and not last and read_choice(result.text.upper(), ("STOP",)):
                    run.note(f"layer {layer} of {self.layers} brought nothing new, so it is the last")
                    return run.offer(summary)
            results.append(run.offer(result))
        return results[-1]

    async def _attended(self, chat: Chat, run: Run, need: int) -> list[Reply]:
        """A layer's replies, each rewritten by whose it is after everybody has criticised it."""
        seats = range(len(self.agents))
        said = await run.each({i: run.ask(self.agents[i], chat) for i in seats}, need=need, grace=self.grace)
        if need:
            run.offer(next(iter(said.values())))  # in the first layer there is nothing better yet
        if not self.attention:
            return list(said.values())
        pairs = [(critic, author) for critic in said for author in said]
        asks = {(i, j): run.ask(self.agents[i], self._compared(chat, said[i], said[j])) for i, j in pairs}
        remarks = await run.each(asks, need=0, grace=self.grace)
        told = {j: [remarks[i, j] for i in said if (i, j) in remarks] for j in said}
        rewritten = {
            j: run.ask(self.agents[j], hear(recall(chat, said[j]), told[j], self.rewrite)) for j in said if told[j]
        }
        return list({**said, **await run.each(rewritten, need=0, grace=self.grace)}.values())

    def _compared(self, chat: Chat, own: Reply, other: Reply) -> Chat:
        """What a critic is asked about another's reply, or about its own."""
        if own is other:
            return recall(chat, own).add(Message("user", self.revise))
        return hear(recall(chat, own).add(Message("user", self.criticise)), [other])

    async def _written(self, asked: Chat, instead: Sequence[Reply], run: Run, *, final: bool) -> Reply:
        """What the summarizer makes of what it is asked; it is the answer itself where that is `final`."""
        ask = run.answer if final else run.ask
        written = await run.all([ask(self.summarizer, asked)], need=0)
        if written:
            return written[0]
        run.note("the summarizer gave no reply; the result so far, or else the most frequent answer, is taken instead")
        return plurality(instead, question=asked.question)
