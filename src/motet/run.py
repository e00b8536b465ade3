"""The run: the one thing passed down. It asks agents, and owns what every method would else write for itself.

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(agent, chat) for agent in self.agents)

`ask` numbers a draw where it is called and starts nothing until it is awaited, so that the numbers do not depend on
how tasks happen to be scheduled. `all` and `each` run asks side by side; a failed agent is absent, too few replies
are an error that says who failed and why. A bug in an agent crashes loudly where it is.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, TypeVar, runtime_checkable

import msgspec

from motet.backend import HOLD, Backend, checked, worst_case
from motet.budget import Budget
from motet.errors import (
    DEADLY,
    RETRYABLE,
    TAKEN,
    AgentFailed,
    BackendError,
    BudgetExceeded,
    Failure,
    Kind,
    MotetError,
    TooFewReplies,
    UsageError,
)
from motet.message import Chat, Reply, Request, ToolSpec, Usage, digest
from motet.record import Record
from motet.trace import (
    AnyEvent,
    AskEnded,
    AskFailed,
    AskStarted,
    CallEnded,
    CallFailed,
    CallStarted,
    Hedged,
    Noted,
    Offered,
    Streamed,
    ToolCalled,
    Trace,
)

Seat = TypeVar("Seat")
Part = TypeVar("Part")
BATCH = 256
"""Tasks started before the loop gets a turn, so that a hundred thousand asks do not block it."""
LINGER = 0.25
"""Seconds after a deadline in which agents may still make a reply of what they have; then they are cancelled. Their
calls end at the deadline itself."""


@runtime_checkable
class Agent(Protocol):
    """Whatever can answer: a model given a part, or a composition of agents. A mixture of agents is an agent."""

    @property
    def name(self) -> str: ...

    async def __call__(self, chat: Chat, run: Run) -> Reply: ...


_UNPATHLIKE = str.maketrans("/#~", "___")


class Shared:
    """What all runs inside one question have in common."""

    __slots__ = (
        "backends", "cancelled", "clock", "dead", "flights", "leaves", "noted", "purse", "record", "seed", "spent",
        "started", "stopped", "task", "told", "tools", "trace", "wrap",
    )  # fmt: skip

    def __init__(
        self,
        trace: Trace,
        purse: Budget,
        *,
        seed: int = 0,
        tools: Sequence[ToolSpec] = (),
        record: Record | None = None,
        wrap: Callable[[Backend], Backend] | None = None,
        told: Callable[[Agent, Chat], Chat] | None = None,
    ) -> None:
        self.trace, self.seed, self.tools, self.record, self.wrap = trace, seed, tuple(tools), record, wrap
        self.told = told
        self.purse, self.stopped = purse, ""
        self.clock = asyncio.get_running_loop().time
        self.started = self.clock()
        self.task = asyncio.current_task()
        self.cancelled = self.task.cancelling() if self.task else 0
        self.leaves: dict[str, Agent] = {}
        self.backends: dict[str, Backend] = {}
        self.flights: dict[str, asyncio.Future[Reply]] = {}
        self.dead: dict[str, Failure] = {}
        self.noted: set[tuple[str, str]] = set()
        self.spent: dict[str, Usage] = {}

    @property
    def stopping(self) -> bool:
        """Whether whoever waits for the run has cancelled it."""
        return self.task is not None and self.task.cancelling() > self.cancelled

    def knows(self, leaf: Agent) -> None:
        """Note who calls a backend by its name.

        Raises:
            UsageError: another agent does so under the same name.
        """
        known = self.leaves.setdefault(leaf.name, leaf)
        if known is not leaf and known != leaf:
            raise UsageError(
                f"two different agents are both called {leaf.name!r}, so their failures and costs could not be told "
                f"apart: give one another name"
            )


class Ask:
    """One numbered ask. Await it for the reply, or give it to `run.all` / `run.each`.

    Raises (when awaited):
        AgentFailed: the agent gave no reply; says why.
        BudgetExceeded: a purse around this ask is spent.
    """

    __slots__ = ("after", "agent", "answering", "budget", "chat", "draw", "draws", "hedge", "path", "run")

    def __init__(
        self,
        run: Run,
        agent: Agent,
        chat: Chat,
        draw: int,
        path: str,
        *,
        budget: Budget | None = None,
        hedge: Agent | None = None,
        after: float = 0.0,
        answering: bool = False,
    ) -> None:
        self.run, self.agent, self.chat, self.draw, self.path = run, agent, chat, draw, path
        self.budget, self.hedge, self.after, self.answering = budget, hedge, after, answering
        self.draws: list[_Asked] = []

    def __await__(self) -> Generator[object, None, Reply]:
        return self.reply().__await__()

    async def reply(self) -> Reply:
        """Ask, and hedge if that was wanted."""
        return await (self._hedged(self.hedge) if self.hedge else self._once(self.agent, self.path))

    async def settled(self) -> Reply | AgentFailed | BudgetExceeded:
        """The reply, or what came instead of it, as a value."""
        try:
            return await self.reply()
        except (AgentFailed, BudgetExceeded) as error:
            return error

    async def _hedged(self, other: Agent) -> Reply:
        """The first usable reply of two draws, the second started when the first is late or has failed."""
        run, record = self.run, self.run._shared.record
        spare = f"{self.path}~{other.name.translate(_UNPATHLIKE)}"

        async def settle(agent: Agent, path: str) -> Reply | AgentFailed | BudgetExceeded:
            try:
                return await self._once(agent, path)
            except (AgentFailed, BudgetExceeded) as error:
                return error

        async with _Group() as group:
            pending = {group.create_task(settle(self.agent, self.path))}
            self.draws = list(pending)
            await asyncio.wait(pending, timeout=None if record else self.after)
            if record.under(spare) if record else not _usable(self.had()):
                run.emit(Hedged(path=self.path, at=run.now(), agent=self.agent.name, other=other.name))
                self.draws.append(group.create_task(settle(other, spare)))
                pending = set(self.draws)
            while pending and (record or not _usable(self.had())):  # a replay repeats what both did
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
        found = self.had() or AgentFailed(run._cancelled(self.agent.name))
        if isinstance(found, Reply):
            return found
        raise found

    def had(self) -> Reply | AgentFailed | BudgetExceeded | None:
        """What a hedged ask has by now: the first usable reply, else what became of its first draw."""
        found = [task.result() if task.done() and not task.cancelled() else None for task in self.draws]
        return next(filter(_usable, found), found[0] if found else None)

    async def _once(self, agent: Agent, path: str) -> Reply:
        """One agent, one draw."""
        run = self.run
        shared, emit = run._shared, run._shared.trace.emit
        if shared.record is not None:
            known = shared.record.failure(path)
            if known is not None:
                for event in shared.record.under(path):  # what had happened there by then
                    if event.path != path or not isinstance(event, Hedged):
                        emit(event)
                spent = BudgetExceeded(run.budget, known.limit, text=known.failure.text)
                if known.failure.kind == "stopped":
                    raise spent
                raise AgentFailed(known.failure) from (spent if known.failure.kind == "budget" else None)
        elif agent.name in shared.dead:
            shared.knows(agent)
            before = shared.dead[agent.name]
            failure = msgspec.structs.replace(before, kind="dead", text=f"not asked again after {before.kind}")
            emit(AskStarted(path=path, at=run.now(), agent=agent.name, heard=self.chat.sources))
            emit(AskFailed(path=path, at=run.now(), failure=failure, leaf=True))
            raise AgentFailed(failure)
        own = self.budget
        if own is not None:
            # A replay takes from the record where a purse ended: calls that take no time come in another order.
            own = (Budget() if shared.record else own).start(within=run.budget)
        child = Run(
            shared,
            agent.name,
            path,
            (*run.draws, self.draw),
            own or run.budget,
            acting=run.acting and self.answering,
            streaming=run.streaming and self.answering,
        )
        emit(AskStarted(path=path, at=run.now(), agent=agent.name, heard=self.chat.sources))
        chat = self.chat if shared.told is None else shared.told(agent, self.chat)
        limit = ""
        cause: MotetError
        try:
            if own is not None and own.deadline is not None:
                reply = await _within(own, agent(chat, child), LINGER)
            else:
                reply = await agent(chat, child)
            reply = child._signed(reply)
            if child.leaf:
                shared.knows(agent)
        except BackendError as error:
            cause = error
            failure = Failure(agent.name, error.kind, error.text, error.status, error.attempts)
            if error.kind in DEADLY:
                shared.knows(agent)
                shared.dead[agent.name] = failure
        except AgentFailed as error:
            cause = error
            inner = error.failure
            failure = Failure(agent.name, inner.kind, str(inner), inner.status, inner.attempts)
            if inner.agent == agent.name:
                failure = inner
        except TooFewReplies as error:
            cause = error
            failure = Failure(agent.name, "too_few", str(error))
        except BudgetExceeded as error:
            cause, limit = error, error.limit
            if error.budget in shared.purse.chain():
                shared.stopped = shared.stopped or limit
            if child.best is None:
                if error.budget is not own and run.path:  # somebody else's purse; at the outermost ask all are its own
                    failure = Failure(agent.name, "stopped", str(error))
                    emit(AskFailed(path=path, at=run.now(), failure=failure, leaf=child.leaf, limit=limit))
                    raise
                failure = Failure(agent.name, "budget", str(error))
            else:
                reply = msgspec.structs.replace(child._signed(child.best), stopped=limit)
                return self._ended(child, reply)
        except asyncio.CancelledError:
            failure = run._cancelled(agent.name)
            emit(AskFailed(path=path, at=run.now(), failure=failure, leaf=child.leaf, limit="seconds"))
            raise
        else:
            return self._ended(child, reply)
        emit(AskFailed(path=path, at=run.now(), failure=failure, leaf=child.leaf, limit=limit))
        raise AgentFailed(failure) from cause

    def _ended(self, child: Run, reply: Reply) -> Reply:
        """Tell of a reply; whoever asked nobody for it is a leaf."""
        leaf = child.leaf or not (child._asked or child._parts)
        child.emit(AskEnded(path=child.path, at=child.now(), agent=child.agent, reply=reply, leaf=leaf))
        return reply


class Run:
    """A place in a question: who is asked here, with which purse. Passed down, never kept.

    Attributes:
        agent: the name of the agent that runs here.
        path: the place, `/mixture/member#2/…`.
        draws: the numbers of the draws that led here, outermost first.
        budget: the purse.
        acting: whether this is the agent whose reply is the answer; only it calls tools.
        streaming: whether its words go to a client as they are written.
        best: the best reply offered so far.
        leaf: whether the agent called a backend itself.
        missing: why whom it asked with `all` or `each` did not answer.
        abstained: who of them had nothing to say.
    """

    __slots__ = (
        "_asked", "_calls", "_parts", "_rng", "_score", "_shared",
        "abstained", "acting", "agent", "best", "budget", "draws", "leaf", "missing", "path", "streaming",
    )  # fmt: skip

    def __init__(
        self,
        shared: Shared,
        agent: str,
        path: str,
        draws: tuple[int, ...],
        budget: Budget,
        *,
        acting: bool = False,
        streaming: bool = False,
    ) -> None:
        self._shared, self.agent, self.path, self.draws, self.budget = shared, agent, path, draws, budget
        self.acting, self.streaming = acting, streaming
        self.best: Reply | None = None
        self.leaf = False
        self.missing: tuple[Failure, ...] = ()
        self.abstained: tuple[str, ...] = ()
        self._score = float("-inf")
        self._asked: dict[str | tuple[str, str], int] = {}
        self._calls = 0
        self._parts = 0
        self._rng: random.Random | None = None

    # ---- asking

    def ask(
        self,
        agent: Agent,
        chat: Chat,
        *,
        budget: Budget | None = None,
        hedge: Agent | None = None,
        after: float = 0.0,
    ) -> Ask:
        """Ask an agent. The same agent asked the same thing again is a new, numbered draw.

        Args:
            agent: who is asked.
            chat: what is asked.
            budget: a purse of its own, inside the run's. Spent, this agent has failed; the run goes on.
            hedge: who is asked as well when the first reply is late or fails; the first usable reply counts.
            after: seconds after which it is late.
        """
        return self._numbered(agent, chat, budget, hedge, after, answering=False)

    def answer(self, agent: Agent, chat: Chat, *, budget: Budget | None = None) -> Ask:
        """Ask the agent whose reply is this composition's reply: its tokens stream to the client, it may use tools."""
        return self._numbered(agent, chat, budget, None, 0.0, answering=True)

    async def all(self, asks: Iterable[Ask], *, need: int = 1, grace: float | None = None) -> list[Reply]:
        """The usable replies of asks made side by side, in the order they were asked.

        Args:
            asks: what `ask` gave.
            need: usable replies (not failed, empty, cut or abstained) that are enough; 0 to take what comes.
            grace: seconds to wait for the slow once `need` have answered, and at least one; then they are cancelled and
                recorded as late. None waits for everybody.

        Raises:
            TooFewReplies: fewer than `need` usable replies; says who failed and why.
            BudgetExceeded: a purse is spent and fewer than `need` had answered.
        """
        found = await self._gather(enumerate(asks), need, grace)
        return list(found.values())

    async def each(self, asks: Mapping[Seat, Ask], *, need: int = 1, grace: float | None = None) -> dict[Seat, Reply]:
        """Like `all`, keyed: whoever failed has no entry, and the seats of the others stay theirs."""
        return await self._gather(asks.items(), need, grace)

    async def parts(self, works: Iterable[Callable[[Run], Awaitable[Part]]]) -> list[Part]:
        """Several pieces of work side by side, each in a part of this place whose asks are numbered apart.

        For work of more than one step (scoring each of several replies, say), so that numbers and randomness do
        not depend on whose step comes first. If some of it fails, the failure of the first in order is raised once all
        have ended.
        """
        places = enumerate(works, self._parts)
        tasks: list[asyncio.Task[tuple[Part] | MotetError]] = []
        async with _Group() as group:
            for place, work in places:
                self._parts = place + 1
                part = Run(self._shared, self.agent, f"{self.path}/.{place}", self.draws, self.budget)
                tasks.append(group.create_task(_settled(work(part))))
        found: list[Part] = []
        for task in tasks:
            result = task.result()
            if not isinstance(result, tuple):
                raise result
            found += result
        return found

    def offer(self, reply: Reply, score: float | None = None) -> Reply:
        """Say that `reply` is the best so far, should a budget end the run; returns it.

        With a `score` it replaces what was offered only if it scores at least as high.
        """
        if reply.usable and (score is None or score >= self._score):
            self.best = reply
            self._score = self._score if score is None else score
            self.emit(Offered(path=self.path, at=self.now(), reply=reply.id))
        return reply

    @property
    def rng(self) -> random.Random:
        """Randomness seeded by the run's seed and the place in the run: the same every time."""
        if self._rng is None:
            self._rng = random.Random(digest([self._shared.seed, self.path]))
        return self._rng

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The client's own tools, for the acting agent: calls to them are handed back, not made."""
        return self._shared.tools if self.acting else ()

    # ---- telling

    def now(self) -> float:
        """Seconds since the question was put."""
        return self._shared.clock() - self._shared.started

    def emit(self, event: AnyEvent) -> None:
        """Append to the trace."""
        self._shared.trace.emit(event)

    def recalled(self, name: str, arguments: str) -> ToolCalled | None:
        """In a replay, what a tool gave then: what it did must not be done again.

        Raises:
            ReplayMiss: it was not called so.
        """
        record = self._shared.record
        return record.tool(self.path, name, arguments) if record is not None else None

    def note(self, text: str) -> None:
        """Tell whoever reads the result, once: a ballot that could not be read, say."""
        if (self.agent, text) not in self._shared.noted:
            self._shared.noted.add((self.agent, text))
            self.emit(Noted(path=self.path, at=self.now(), agent=self.agent, text=text))

    # ---- calling

    async def call(self, backend: Backend, request: Request, *, heard: tuple[str, ...] = ()) -> Reply:
        """Complete a request at a backend: reserved, recorded, settled; the same key is called once in a run.

        Args:
            backend: where it goes.
            request: what goes; the run adds its seed, the number of the draw, the deadline and the allowance.
            heard: ids of the replies whose words are in it.

        Raises:
            BackendError: the call failed.
            BudgetExceeded: a purse is spent.
        """
        shared = self._shared
        self.leaf = True
        known = shared.backends.setdefault(backend.name, backend)
        if known is not backend and known != backend:
            raise UsageError(
                f"two different backends are both called {backend.name!r}, so their replies could not be told apart: "
                f"give one another name"
            )
        if shared.wrap is not None:
            backend = shared.wrap(backend)
        number = _number((*self.draws, self._calls))
        self._calls += 1
        request = msgspec.structs.replace(request, seed=shared.seed, draw=number, deadline=self.budget.deadline)
        if shared.record is not None:
            return await self._again(shared.record, backend, request, heard)
        work = self._flown(backend, request, heard)
        return await (work if self.budget.deadline is None else _within(self.budget, work))

    def _alone(self, request: Request) -> Request:
        """`request` as a draw of this place alone, that no other asks for."""
        return msgspec.structs.replace(request, draw=f"{request.draw}~{self.path}")

    async def _again(self, record: Record, backend: Backend, request: Request, heard: tuple[str, ...]) -> Reply:
        """A call of a replay: made or shared as it was then, whoever comes first now."""
        alone = self._alone(request)
        if alone.key in record.calls:
            request = alone
        known = record.shared(self.path, request.key)
        return self._known(request, known, heard) if known else await self._complete(backend, request, heard)

    async def _flown(self, backend: Backend, request: Request, heard: tuple[str, ...]) -> Reply:
        """Make a call, or wait for the same one that is under way."""
        shared, key = self._shared, request.key
        while (flight := shared.flights.get(key)) is not None:
            try:
                reply = await asyncio.shield(flight)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not flight.cancelled() or (task is not None and task.cancelling()):
                    raise
                continue  # whoever made the call was cancelled; it is ours to make now
            except BackendError as error:
                if (error.kind not in RETRYABLE and error.kind != "dead") or self.agent in shared.dead:
                    raise
            else:
                if reply.state != "cut":
                    self._stream(reply.text)
                    return self._known(request, reply, heard)
            # It was perhaps the purse or the deadline of whoever made the call that ended it early.
            request = self._alone(request)
            key = request.key
        flight = shared.flights[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._complete(backend, request, heard)
        except BaseException as error:
            if isinstance(error, BackendError):
                flight.set_exception(error)
                flight.exception()  # looked at: nobody else may be waiting
            else:
                del shared.flights[key]
                flight.cancel()
            raise
        flight.set_result(reply)
        return reply

    async def _complete(self, backend: Backend, request: Request, heard: tuple[str, ...]) -> Reply:
        key, shared, card = request.key, self._shared, backend.card
        lookup: Callable[[Request], Reply | None] | None = getattr(backend, "lookup", None)  # it is `Knowing`
        if lookup is not None:
            known = lookup(request)
            if known is not None:
                self._stream(known.text)
                return self._known(request, known, heard)
        cost = worst_case(backend, request)
        if card.price is None:
            self.note(f"no price is known for {backend.name}: its calls are counted as 0 USD")
        hold = await self.budget.reserve(cost)
        if self.agent in shared.dead and shared.record is None:  # it died while this call waited for the purse
            hold.settle(Usage())
            raise BackendError("dead", f"not called again after {shared.dead[self.agent].kind}")
        if hold.output < cost.output:
            request = msgspec.structs.replace(request, allowance=hold.output)
        emit, began = shared.trace.emit, shared.clock()
        at = began - shared.started
        token = HOLD.set(hold)
        try:
            emit(CallStarted(path=self.path, at=at, agent=self.agent, key=key, request=request, heard=heard))
            reply = await (self._streamed(backend, request) if self.streaming else backend.complete(request))
        except BaseException as crash:
            error = crash if isinstance(crash, BackendError) else BackendError(self._cancelled().kind, "cancelled")
            calls = error.calls if error is crash else hold.cost.calls
            charged = usage = Usage(calls=calls, seconds=shared.clock() - began)
            if error is not crash or error.kind in TAKEN:
                # What upstream made of the prompt is unknown: the purse is charged the worst case, the report says
                # what was certainly used.
                usage = msgspec.structs.replace(usage, input=cost.input, usd=cost.usd_input)
                charged = msgspec.structs.replace(usage, output=hold.output, usd=hold.cost.usd)
            hold.settle(charged)
            self._spend(usage)
            emit(
                CallFailed(
                    path=self.path,
                    at=self.now(),
                    agent=self.agent,
                    key=key,
                    kind=error.kind,
                    text=error.text,
                    status=error.status,
                    attempts=error.attempts,
                    usage=usage,
                )
            )
            late = self.budget.expired()
            if error is crash and error.kind == "timeout" and late is not None:
                raise late.exceeded_seconds() from error  # our time was up, whatever the backend's clock is called
            raise
        finally:
            HOLD.reset(token)
        if reply.usage.saved_calls and not reply.usage.calls:  # another run's call brought it meanwhile
            hold.settle(Usage())
            return self._known(request, reply, heard)
        ended = shared.clock()
        reply, trouble = checked(backend, request, reply, ended - began)
        if trouble:
            self.note(f"{backend.name}: {trouble}; our own count is used")
        hold.settle(reply.usage)
        self._spend(reply.usage)
        reply = msgspec.structs.replace(reply, id=key, agent=self.agent, sources=heard)
        emit(CallEnded(path=self.path, at=ended - shared.started, agent=self.agent, key=key, reply=reply))
        return reply

    async def _streamed(self, backend: Backend, request: Request) -> Reply:
        whole: Reply | None = None
        stream = backend.stream(request)
        try:
            async for delta in stream:
                if delta.text:
                    self._stream(delta.text)
                whole = delta.reply or whole
        finally:  # a watcher that fails must not leave a connection open
            close: Callable[[], Awaitable[None]] | None = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        if whole is None:
            raise BackendError("cut", f"the stream of {backend.name} ended without a reply")
        return whole

    def _stream(self, text: str) -> None:
        if self.streaming and text:
            event = Streamed(path=self.path, at=self.now(), agent=self.agent, text=text)
            for watcher in self._shared.trace.watchers:
                watcher(event)

    def _known(self, request: Request, reply: Reply, heard: tuple[str, ...]) -> Reply:
        """A reply that cost nothing, since it was there already."""
        usage = reply.usage.as_saved()
        self._spend(usage)
        reply = msgspec.structs.replace(reply, id=request.key, agent=self.agent, sources=heard, usage=usage)
        self.emit(CallEnded(path=self.path, at=self.now(), agent=self.agent, key=request.key, reply=reply, saved=True))
        return reply

    # ---- inside

    def _numbered(
        self, agent: Agent, chat: Chat, budget: Budget | None, hedge: Agent | None, after: float, *, answering: bool
    ) -> Ask:
        name = agent.name
        step = name.translate(_UNPATHLIKE).lstrip(".")  # as the parts of a place begin
        place = self._asked.get(step, 0)
        self._asked[step] = place + 1
        drawn = (name, chat.key)
        draw = self._asked.get(drawn, 0)
        self._asked[drawn] = draw + 1
        path = f"{self.path}/{step}#{place}" if place else f"{self.path}/{step}"
        return Ask(self, agent, chat, draw, path, budget=budget, hedge=hedge, after=after, answering=answering)

    async def _gather(self, asks: Iterable[tuple[Seat, Ask]], need: int, grace: float | None) -> dict[Seat, Reply]:
        if grace is not None and not grace >= 0:
            raise UsageError(f"a grace of {grace} seconds makes no sense: give 0 or more, or None to wait for all")
        tasks: dict[Seat, _Asked] = {}
        asked: list[Ask] = []
        async with _Group() as group:
            for place, (seat, ask) in enumerate(asks):
                tasks[seat] = group.create_task(ask.settled())
                asked.append(ask)
                if place % BATCH == BATCH - 1:
                    await asyncio.sleep(0)
            if grace is not None and tasks and self._shared.record is None:
                await _stragglers(tasks.values(), max(need, 1), grace)
        return self._quorum(tasks, asked, need)

    def _quorum(self, tasks: Mapping[Seat, _Asked], asked: Sequence[Ask], need: int) -> dict[Seat, Reply]:
        replies: dict[Seat, Reply] = {}
        missing: list[Failure] = []
        abstained: list[str] = []
        spent: BudgetExceeded | None = None
        for ask, (seat, task) in zip(asked, tasks.items(), strict=True):
            result = ask.had() if task.cancelled() else task.result()
            if result is None:
                missing.append(self._cancelled(ask.agent.name))
            elif isinstance(result, AgentFailed):
                missing.append(result.failure)
            elif isinstance(result, BudgetExceeded):
                spent = spent or result
                missing.append(Failure(ask.agent.name, "stopped", str(result)))
            elif result.usable:
                replies[seat] = result
            elif result.state == "abstained":
                abstained.append(result.agent)
            else:
                kind: Kind = "cut" if result.state == "cut" else "empty"
                missing.append(Failure(result.agent, kind, f"the reply was {result.state}"))
        self.missing += tuple(missing)
        self.abstained += tuple(abstained)
        if len(replies) < need:
            raise spent or TooFewReplies(need, len(replies), missing, abstained)
        return replies

    def _signed(self, reply: Reply) -> Reply:
        """A composition's reply under its own name and id, made from what it was made from."""
        if self.leaf and reply.agent == self.agent:
            return reply
        sources = reply.sources if reply.agent == "" else (reply.id,)
        return msgspec.structs.replace(
            reply,
            agent=self.agent,
            id=digest([self._shared.seed, self.path, reply.text]),
            sources=sources,
            usage=Usage(),  # the members' own, counted there
        )

    def _cancelled(self, agent: str = "") -> Failure:
        """Why an ask here that was cancelled was: the run has to stop, or it was slower than the others."""
        kind: Kind = "stopped" if self._shared.stopping or self.budget.expired() else "late"
        return Failure(agent, kind, "cancelled before it had answered")

    def _spend(self, usage: Usage) -> None:
        spent = self._shared.spent
        spent[self.agent] = spent[self.agent] + usage if self.agent in spent else usage


_Asked = asyncio.Task[Reply | AgentFailed | BudgetExceeded]


def _usable(found: object) -> bool:
    return isinstance(found, Reply) and found.usable


async def _stragglers(tasks: Collection[_Asked], need: int, grace: float) -> None:
    """Once enough have answered, give the others `grace` seconds, then cancel them."""
    enough = asyncio.get_running_loop().create_future()
    left, usable = len(tasks), 0

    def count(task: _Asked) -> None:
        nonlocal left, usable
        left -= 1
        usable += not task.cancelled() and not task.exception() and _usable(task.result())
        if (usable >= need or not left) and not enough.done():
            enough.set_result(None)

    for task in tasks:
        task.add_done_callback(count)
    await enough
    _, late = await asyncio.wait(tasks, timeout=grace)
    for task in late:
        task.cancel()


async def _within(budget: Budget, work: Awaitable[Reply], linger: float = 0.0) -> Reply:
    """`work`, until the clock of `budget` runs out."""
    clock = asyncio.timeout_at(None if budget.deadline is None else budget.deadline + linger)
    try:
        async with clock:
            return await work
    except TimeoutError:
        late = budget.expired()
        if late is None or not clock.expired():
            raise
        raise late.exceeded_seconds() from None


class _Group(asyncio.TaskGroup):
    """A task group that raises what one of its tasks raised, as it was raised."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, traceback)
        except BaseExceptionGroup as several:
            first = several.exceptions[0]
            raise first from first.__cause__


async def _settled(work: Awaitable[Part]) -> tuple[Part] | MotetError:
    """What work gives, or how an agent, a backend or a purse failed it, as a value."""
    try:
        return (await work,)
    except (AgentFailed, BackendError, BudgetExceeded, TooFewReplies) as error:
        return error


def _number(draws: tuple[int, ...]) -> str:
    """Draws as one word, without leading zeros: the first draw inside a first draw is the first draw."""
    for place, draw in enumerate(draws):
        if draw:
            return ".".join(map(str, draws[place:]))
    return ""
