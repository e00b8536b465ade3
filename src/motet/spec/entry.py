"""What may stand under `[agents.…]` and `[budget]`, and which words in a table mean something else.

The fields here are the keys there; their descriptions are those of `motet config schema`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NewType

from msgspec import Meta

from motet.agent import ModelAgent
from motet.backend import Backend
from motet.fit import Rule
from motet.message import Sampling
from motet.prompt import Example
from motet.tool import Tool

ModelName = NewType("ModelName", str)
"""The name of a model of the same configuration."""
Reference = NewType("Reference", str)
"""A function or class of Python: `package.module:name`."""
Positive = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True)
class AgentEntry:
    """A model given a part.

    Args:
        model: the model's name.
        system: words before everything else.
        instruction: words after the question, in the user's turn; a small model heeds them more than system words.
        examples: questions with their answers, shown first.
        style: `chat` for turns, `completion` for a few-shot prompt, which is how a base model answers well.
        temperature: 0 is greedy.
        top_p: nucleus mass.
        max_tokens: output tokens at most, reasoning included.
        stop: strings that end the reply and are not part of it.
        logprobs: how many alternatives to report per token (0: none, 1: the token's own).
        format: an OpenAI `response_format`.
        grammar: a GBNF grammar, for models that constrain decoding.
        tools: functions the agent may call when it is the acting one, each as `package.module:function`.
        max_steps: calls in the tool loop at most.
        fit: what is done with heard texts that do not fit the context.
        about: what the agent is good at, for people and for routers.
        held: a ballot, grade, verdict, list or record that it is asked for is nothing else: its model is held to the
            form.
    """

    model: ModelName
    system: str = ""
    instruction: str = ""
    examples: Sequence[Example] = ()
    style: Literal["chat", "completion"] = "chat"
    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] = Sampling().max_tokens
    stop: str | Sequence[str] = ()
    logprobs: Annotated[int, Meta(ge=0)] = 0
    format: str | Mapping[str, object] = ""
    grammar: str = ""
    tools: Sequence[Reference] = ()
    max_steps: Annotated[int, Meta(ge=1)] = 8
    fit: Rule = "shorten"
    about: str = ""
    held: bool = False

    def agent(self, name: str, backend: Backend, tools: Sequence[Tool]) -> ModelAgent:
        """The agent that this describes."""
        sampling = Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens,
            stop=(self.stop,) if isinstance(self.stop, str) else tuple(self.stop),
            logprobs=self.logprobs,
            format=self.format if isinstance(self.format, str) else json.dumps(self.format),
            grammar=self.grammar,
        )
        return ModelAgent(
            backend,
            name,
            self.system,
            self.instruction,
            self.examples,
            self.style,
            sampling,
            tuple(tools),
            self.max_steps,
            self.fit,
            self.about,
            self.held,
        )

    @classmethod
    def of(cls, agent: ModelAgent, tools: Sequence[Reference]) -> AgentEntry:
        """What describes an agent; the reverse of `agent`."""
        sampling = agent.sampling
        return cls(
            ModelName(agent.backend.name),
            agent.system,
            agent.instruction,
            agent.examples,
            agent.style,
            sampling.temperature,
            sampling.top_p,
            sampling.max_tokens,
            sampling.stop,
            sampling.logprobs,
            _table(sampling.format),
            sampling.grammar,
            tools,
            agent.max_steps,
            agent.fit,
            agent.about,
            agent.held,
        )


@dataclass(frozen=True)
class BudgetEntry:
    """What one question may cost.

    Args:
        calls: calls to models at most.
        tokens: input and output tokens together, at most.
        usd: US dollars at most; 1 if nothing is said.
        seconds: wall time at most.
    """

    calls: Annotated[int, Meta(ge=0)] | None = None
    tokens: Annotated[int, Meta(ge=0)] | None = None
    usd: Annotated[float, Meta(ge=0)] | None = None
    seconds: Annotated[float, Meta(ge=0)] | None = None


def _table(text: str) -> str | Mapping[str, object]:
    """JSON text as a table, where writing that table gives the same text again."""
    try:
        table = json.loads(text)
    except ValueError:
        return text
    return table if isinstance(table, dict) and json.dumps(table) == text else text
