"""Symbolic mixture of experts: name the skills a question takes, recruit the experts that have them, aggregate.

Chen, Yun, Stengel-Eskin, Chen and Bansal, "Symbolic Mixture-of-Experts: Adaptive Skill-based Routing for Heterogeneous
Reasoning", arXiv 2503.05641; read in the public code: dinobby/Symbolic-MoE at c0b5da8 (agent.py, annotate_keywords.py,
create_profile.py, recruit_agents.py, expert_inference.py, aggregate.py, bench_aggr.py). A keyword agent names the
skills, in several draws of which what is named more than once is kept; each is taken for the skill in the profiles that
is most like it. An expert's suitability is the sum of its profile over those skills; times its strength over all skills
it is the weight with which the k experts are drawn, with replacement (an expert drawn twice answers twice). Their
replies, once and without discussion, go to an aggregator chosen for how well it tells right from wrong replies, not
for what it knows. A profile is made from questions with known answers: a skill gains a point for each right answer to a
question that takes it and loses one for each wrong one (`profile`). Defaults from the code: 5 draws, 3 experts,
strength raised to 1 / 0.5.

Differences: skills are matched by their letters unless `alike="meaning"`, which is theirs (there by another embedding
model); one that is like none is left out. A keyword may have 40 characters (there 20). Without any skill, experts are
drawn by strength (there, all alike); where nobody did well in the skills, whoever has no record of them counts 0 in
them, better than a bad one (there it is no candidate). If none of those drawn answers, others are drawn. Choosing the
aggregator on a benchmark of its own (bench_aggr.py) is not done here: name the agent. The batch form, which loads each
model once, is `motet.batch`.

Shape: draws + k calls and the aggregator's, 3 in series; without profiles the keyword agent is not asked.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from motet.aggregate import Aggregator
from motet.ballot import LOOKED_AT
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.form import keywords_form
from motet.message import Chat, Message, Reply
from motet.run import Agent, Run

Profile = Mapping[str, float]
"""An expert's score by skill: how many more questions that take it were answered right than wrong."""
LONGEST = 40
"""Characters of a keyword; what is longer is a sentence."""
KEYWORDS = (
    "Do not answer this. Which knowledge, subjects or skills does it take? Name 2 to 5, in a word or two each, on one "
    'line that begins with "Keywords:" and has commas between them, and nothing else.'
)


def profile(graded: Iterable[tuple[Iterable[str], bool]]) -> dict[str, float]:
    """The profile of an expert, from the skills that questions took and whether it answered them right.

    >>> profile([(["algebra"], True), (["algebra", "sets"], True), (["sets", "law"], False)])
    {'algebra': 2.0, 'sets': 0.0, 'law': -1.0}
    """
    found: dict[str, float] = {}
    for skills, right in graded:
        for skill in skills:
            found[skill] = found.get(skill, 0.0) + (1 if right else -1)
    return found


def read_keywords(text: str) -> list[str]:
    """The keywords on the last line that begins so, in lower case; none if there is no such line.

    >>> read_keywords("**Keywords:** Graph theory, *sets*, and a sentence that is far too long to be any skill")
    ['graph theory', 'sets']
    """
    *before, said = re.split(r"(?im)^[^\w\n]*keywords?\b[^:\n]{0,20}:", text[-LOOKED_AT:])
    lines = [line for line in said.splitlines() if re.search(r"\w", line)]
    words = [word.strip(" \t*_`'\".:()[]").lower() for word in re.split("[,;]", lines[0])] if before and lines else []
    return list(dict.fromkeys(word for word in words if 0 < len(word) <= LONGEST))


@dataclass(frozen=True)
class SymbolicMoE:
    """Experts recruited by the skills that the question takes, and one reply made of theirs.

    Args:
        agents: the pool of experts.
        aggregate: makes the reply of the experts'; the paper's is `Synthesize(agent)`, the agent chosen for that.
        keywords: who names the skills; the first agent if None.
        profiles: the experts' scores by agent and skill; an agent without any has none of the skills.
        k: experts that are recruited.
        draws: how often the skills are named; if several draws come, what is named only once is left out.
        recruit: `sample` draws experts by their weights, the same one perhaps twice; `top` takes the k heaviest.
        temperature: the lower, the more the strength over all skills counts.
        alike: how a named skill finds its like in the profiles: by `letters`, or by `meaning` (the extra `embed`).
        note: what the keyword agent is told.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Plurality, Scripted, perform
    >>> poet, guide = (ModelAgent(Scripted(said, name=said), said) for said in ("Lyon", "Paris"))
    >>> words = ModelAgent(Scripted("Keywords: geography", name="words"), "words")
    >>> skills = {"Lyon": {"rhyme": 5.0, "geography": -2.0}, "Paris": {"geography": 4.0}}
    >>> mixture = SymbolicMoE([poet, guide], Plurality(), words, skills)
    >>> asyncio.run(perform(mixture, "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("Symbolic-MoE", "skill-based recruiting")

    agents: Sequence[Agent]
    aggregate: Aggregator
    keywords: Agent | None = None
    profiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    k: int = 3
    draws: int = 5
    recruit: Literal["sample", "top"] = "sample"
    temperature: float = 0.5
    alike: Literal["letters", "meaning"] = "letters"
    note: str = KEYWORDS
    grace: float | None = None
    name: str = "symbolic-moe"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "experts (k)", self.k, self.name)
        at_least(1, "draws", self.draws, self.name)
        if self.recruit not in ("sample", "top") or self.alike not in ("letters", "meaning"):
            raise UsageError(
                f"{self.name} can't recruit by {self.recruit!r} and match by {self.alike!r}: recruit by sample or top, "
                f"and match by letters or meaning"
            )
        finite(self.name, profiles=self.profiles, temperature=self.temperature)
        if not self.temperature > 0:
            raise UsageError(f"{self.name} has a temperature of {self.temperature:g}: give more than 0")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        skills = await self._skills(chat, run)
        replies = await self._answers(chat, skills, run)
        run.offer(replies[0])
        return await self.aggregate(chat, replies, run)

    async def _answers(self, chat: Chat, skills: Sequence[str], run: Run) -> list[Reply]:
        """The replies of the experts for these skills; if there are none, of the experts among the others."""
        left = list(self.agents)
        while True:
            experts = self._recruited(left, skills, run)
            left = [agent for agent in left if agent not in experts]
            try:
                return await run.all((run.ask(expert, chat) for expert in experts), grace=self.grace)
            except TooFewReplies:
                if not left:
                    raise TooFewReplies(1, 0, run.missing, run.abstained) from None
                run.note("none of the experts that were recruited answered; others are")

    async def _skills(self, chat: Chat, run: Run) -> list[str]:
        """The skills of the profiles that the question takes."""
        if not any(self.profiles.get(agent.name) for agent in self.agents):
            run.note("no expert has a profile, so all are alike")
            return []
        asked = chat.add(Message("user", self.note))  # the question is now which skills it takes
        known = [skill for skill in self._skills_known() if len(read_keywords(f"Keywords: {skill}")) == 1]
        asked = asked.held(keywords_form(known, 2))
        writer = self.keywords or self.agents[0]
        said = await run.all((run.ask(writer, asked) for _ in range(self.draws)), need=0, grace=self.grace)
        named = Counter(word for reply in said for word in read_keywords(reply.text))
        found = self._known([word for word, times in named.items() if times >= min(2, len(said))])
        if not found:
            run.note("no skill that the profiles know was named; experts are recruited by their strength alone")
        return found

    def _known(self, named: Sequence[str]) -> list[str]:
        """For each named skill the one in the profiles that is most like it."""
        skills = self._skills_known()
        if self.alike == "letters" or not named:
            return [skill for word in named for skill in difflib.get_close_matches(word, skills, n=1)]
        from motet.embed import embed

        vectors = embed([*skills, *named])
        nearest = (vectors[len(skills) :] @ vectors[: len(skills)].T).argmax(axis=1)
        return [skills[place] for place in nearest]

    def _skills_known(self) -> list[str]:
        return list(dict.fromkeys(skill for agent in self.agents for skill in self._profile(agent)))

    def _profile(self, agent: Agent) -> Profile:
        """An agent's scores by skill, in lower case as keywords are."""
        return {skill.lower(): score for skill, score in self.profiles.get(agent.name, {}).items()}

    def _recruited(self, agents: Sequence[Agent], skills: Sequence[str], run: Run) -> list[Agent]:
        """The k experts for these skills."""
        profiles = [self._profile(agent) for agent in agents]
        suitable = _positive([sum(each.get(skill, 0.0) for skill in skills) for each in profiles])
        totals = _shifted([sum(each.values()) for each in profiles])
        most = max(totals) or 1.0  # shares of the most, since powers of totals may be too large for a number
        strength = [(total / most) ** (1 / self.temperature) for total in totals]
        weights = [fits * strong for fits, strong in zip(suitable, strength, strict=True)]
        weights = weights if sum(weights) > 0 else suitable
        if self.recruit == "sample":
            return run.rng.choices(agents, weights, k=self.k)
        return [agents[i] for i in sorted(range(len(agents)), key=lambda i: -weights[i])[: self.k]]


def _positive(values: Sequence[float]) -> list[float]:
    """Suitabilities without the negative ones if there are positive ones, else all shifted."""
    return [max(0.0, value) for value in values] if max(values) > 0 else [value - min(values) + 1 for value in values]


def _shifted(values: Sequence[float]) -> list[float]:
    """Strengths, all shifted if one is negative."""
    return [value - min(values) + 1 for value in values] if min(values) < 0 else list(values)
