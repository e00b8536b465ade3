"""`ModelAgent`: a model given a part. The leaf of every mixture.

The part is data: system words, examples, sampling, tools, and how texts that do not fit are fitted. A `completion`
agent asks in few-shot form, which is how a base model answers well; a `chat` agent asks in turns.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from motet.backend import Backend, prompt_tokens
from motet.errors import AgentFailed, BackendError, Failure, ToolError, UsageError
from motet.fit import Rule, fit, shares, shortened
from motet.message import Chat, Message, Reply, Request, Sampling, ToolCall, ToolSpec, hear
from motet.prompt import Example, chat_prompt, completion_prompt, disarmed, unfenced
from motet.run import Run
from motet.tool import Tool
from motet.trace import Fitted, ToolCalled

FENCE_TOKENS = 16
"""What the fence and label of one heard text take, at most."""
MERGE = "Put what follows into one short text. Keep every answer that is given, and the reason for it."
_UNUSED = random.Random(0)
"""For a prompt without heard words, which has nothing to shuffle: seeding one takes longer than the prompt."""


@dataclass(frozen=True)
class ModelAgent:
    """A model given a part.

    Args:
        backend: the model.
        name: what the agent is called in traces and tables; never shown to other agents.
        system: words before everything else.
        instruction: words after the question, in the user's turn; a small model heeds them more than system words.
        examples: questions with their answers, shown first.
        style: `chat` for turns, `completion` for a few-shot prompt.
        sampling: temperature, length, stop strings and so on.
        tools: what it may call when it is the acting agent.
        max_steps: calls in the tool loop at most; the last one is made without tools, so that it answers.
        fit: the rule for heard texts that do not fit the context (see `motet.fit`).
        about: what the agent is good at, for people and for routers.
        held: a ballot, grade, verdict or list that it is asked for is nothing else: its model is held to the form (see
            `motet.form`), and calls no tools. So a small model can be read; a large one had better give its reasons.

    Raises:
        UsageError: `max_steps` is below 1, or it is `held` and its model takes no grammar.

    Raises (when called):
        BackendError: the call failed, or the question alone does not fit the context.
    """

    backend: Backend
    name: str
    system: str = ""
    instruction: str = ""
    examples: Sequence[Example] = ()
    style: Literal["chat", "completion"] = "chat"
    sampling: Sampling = Sampling()
    tools: Sequence[Tool] = ()
    max_steps: int = 8
    fit: Rule = "shorten"
    about: str = ""
    held: bool = False

    def __post_init__(self) -> None:
        if self.held and not self.backend.card.grammar:
            raise UsageError(
                f"{self.name} is to be held to forms, and {self.backend.name} takes no grammar: leave `held` out, or "
                f"use a local GGUF model, llama.cpp's server or vLLM"
            )
        if self.max_steps < 1:
            raise UsageError(f"{self.name} may make {self.max_steps} calls: give max_steps of at least 1")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        free = not (self.held and chat.form)  # a form has no place for calls
        own = {tool.name: tool for tool in self.tools} if run.acting and free else {}
        theirs = run.tools if free else ()
        offered = (*[tool.spec for tool in own.values()], *theirs)
        chat = await self._fitted(chat, offered, run)
        request = self._request(chat, run)
        for step in range(self.max_steps):
            last = step == self.max_steps - 1
            tools = theirs if last else offered
            sent = msgspec.structs.replace(request, tools=tools) if tools else request
            reply = await run.call(self.backend, sent, heard=chat.sources)
            clients = tuple(call for call in reply.tool_calls if any(spec.name == call.name for spec in theirs))
            if clients or not reply.tool_calls:
                return self._tidied(msgspec.structs.replace(reply, tool_calls=clients), chat)
            if last:
                break
            results = [await self._use(own, call, run) for call in reply.tool_calls]
            said = Message("assistant", reply.text, tool_calls=reply.tool_calls)
            request = msgspec.structs.replace(request, messages=(*request.messages, said, *results))
        raise AgentFailed(Failure(self.name, "steps", f"still calling tools after {self.max_steps} steps"))

    def _tidied(self, reply: Reply, chat: Chat) -> Reply:
        """`reply` without what its prompt's form left on it: the space after "A:", fences copied from what it heard."""
        text = unfenced(reply.text) if chat.sources else reply.text
        text = text.strip() if self.style == "completion" else text
        return reply if text == reply.text else msgspec.structs.replace(reply, text=text)

    def _request(self, chat: Chat, run: Run) -> Request:
        rng = run.rng if chat.sources else _UNUSED
        sampling = self.sampling
        if self.held and chat.form:  # which says itself where it ends
            sampling = msgspec.structs.replace(sampling, grammar=chat.form, format="", stop=())
        if self.style == "completion":
            if any(message.parts for message in chat.messages):
                raise BackendError("bad_request", f"{self.name} continues text and sees no pictures: ask a chat agent")
            prompt = completion_prompt(chat, rng, system=self.system, examples=self.examples)
            return Request(self.backend.name, prompt=prompt, sampling=sampling, asked=chat.question)
        if self.instruction:
            chat = _after_question(chat, Message("note", self.instruction))
        messages = chat_prompt(chat, rng, system=self.system, examples=self.examples)
        return Request(self.backend.name, messages=messages, sampling=sampling, asked=chat.question)

    async def _use(self, own: dict[str, Tool], call: ToolCall, run: Run) -> Message:
        """Call a tool; what goes wrong is told to the model."""
        failed = True
        then = run.recalled(call.name, call.arguments)
        if then is not None:
            result, failed = then.result, then.failed
        elif call.name not in own:
            result = f"error: there is no tool {call.name!r}; there are: {', '.join(own) or 'none'}"
        else:
            try:
                result, failed = await own[call.name](call.arguments), False
            except ToolError as error:
                result = f"error: {error}"
            except Exception as error:  # a tool's own failure is the model's to deal with
                result = f"error: {type(error).__name__}: {error}"
        run.emit(
            ToolCalled(
                path=run.path,
                at=run.now(),
                agent=self.name,
                name=call.name,
                arguments=call.arguments,
                result=result,
                failed=failed,
            )
        )
        return Message("tool", result, tool_call_id=call.id)

    async def _fitted(self, chat: Chat, tools: tuple[ToolSpec, ...], run: Run) -> Chat:
        """`chat` with heard texts that fit the context beside everything else and the reply."""
        context, count = self.backend.card.context, self.backend.count
        if context is None:
            return chat
        plain = Chat(tuple(message for message in chat.messages if not _is_heard(message)))
        request = msgspec.structs.replace(self._request(plain, run), tools=tools)
        fixed = prompt_tokens(self.backend, request) + self.sampling.max_tokens
        if fixed > context:
            raise BackendError(
                "context_length",
                f"the prompt without others' words and the {self.sampling.max_tokens} tokens of the reply take "
                f"{fixed} tokens, and {self.backend.name} has a context of {context}: shorten the question, lower "
                f"max_tokens, or use a model with a longer context",
            )
        # measured as they will stand in the prompt
        heard = [msgspec.structs.replace(message, text=disarmed(message.text)) for message in chat.heard]
        room = context - fixed - FENCE_TOKENS * len(heard)
        before = sum(count(message.text) for message in heard)
        if before <= room or not heard:
            return chat

        async def merge(texts: Sequence[Message], tokens: int) -> str:
            # in a part of this place, so that its words are not taken for the answer's
            async def work(part: Run) -> str:
                return await self._merged(plain, texts, tokens, part)

            return (await run.parts([work]))[0]

        kept = await fit(heard, room, count, self.fit, merge)
        sources = {message.source for message in kept}
        merged = self.fit == "tournament" and kept
        run.emit(
            Fitted(
                path=run.path,
                at=run.now(),
                agent=self.name,
                rule=self.fit,
                before=before,
                after=sum(count(message.text) for message in kept),
                dropped=() if merged else tuple(message.source for message in heard if message.source not in sources),
            )
        )
        fitted: list[Message] = []
        for message in chat.messages:
            if not _is_heard(message):
                fitted.append(message)
            elif kept and (kept[0].source, kept[0].name) == (message.source, message.name):
                fitted.append(kept.pop(0))
        return Chat(tuple(fitted), chat.form)

    async def _merged(self, plain: Chat, texts: Sequence[Message], tokens: int, run: Run) -> str:
        """One text made of several by this agent's own model, `tokens` long at most; "" if it gives none."""
        count = self.backend.count
        empty = prompt_tokens(self.backend, self._request(hear(plain, [], MERGE), run))
        room = (self.backend.card.context or 0) - empty - FENCE_TOKENS * len(texts)
        tokens = min(tokens, room // 2)  # the rest is for what it is made of
        sampling = msgspec.structs.replace(self.sampling, max_tokens=tokens, format="", grammar="")
        sizes = shares([count(message.text) for message in texts], room - tokens)
        shown = [shortened(message.text, size, count) for message, size in zip(texts, sizes, strict=True)]
        if not all(shown):
            return ""
        sources = tuple(message.source for message in texts)
        replies = [Reply(text, id=source) for text, source in zip(shown, sources, strict=True)]
        request = msgspec.structs.replace(self._request(hear(plain, replies, MERGE), run), sampling=sampling)
        return (await run.call(self.backend, request, heard=sources)).text


def _is_heard(message: Message) -> bool:
    return bool(message.source) and message.role == "user"


def _after_question(chat: Chat, note: Message) -> Chat:
    """`chat` with a note right after the last thing the user said."""
    said = [place for place, message in enumerate(chat.messages) if message.role == "user" and not message.source]
    place = said[-1] + 1 if said else len(chat.messages)
    return Chat((*chat.messages[:place], note, *chat.messages[place:]), chat.form)
