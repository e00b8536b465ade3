"""Everything motet raises on purpose, as one tree.

    MotetError
    ├── UsageError             what was asked for makes no sense: no question, an unknown mixture
    ├── ConfigError            motet.toml is wrong; names the file, the line and the key
    ├── ModelFileError         a model file is missing, corrupt, or can't be fetched
    │   └── LicenseRequired    its licence has to be accepted first
    ├── BackendError           one call to a model failed, for one of a closed set of kinds
    ├── AgentFailed            an agent gave no reply; carries the failure that says why
    ├── TooFewReplies          a quorum was missed; says who failed and why
    ├── BudgetExceeded         a purse is spent; carries the limit that was hit
    ├── ReplayMiss             a replay asked for a call that its record does not hold
    └── ToolError              a tool can't be described or was called wrongly

An error says what happened, with the values, and what to do next. A bug in motet or in a user's own
code is none of these: it is raised as it is, where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

if TYPE_CHECKING:
    from motet.budget import Budget

Kind = Literal[
    "auth",  # the key is missing or refused
    "quota",  # the account is out of money
    "rate_limit",  # too many calls; try later
    "bad_request",  # the endpoint refused the request itself
    "context_length",  # the prompt is longer than the model's context
    "content_filter",  # the provider refused the content
    "not_found",  # no such endpoint or model
    "server",  # the endpoint failed (5xx) or is overloaded
    "connect",  # no connection: name, port, TLS, refused
    "timeout",  # one of the four clocks ran out: connect, first byte, idle, total
    "malformed",  # an answer that is not one: HTML, broken JSON, no choices, null content
    "cut",  # the reply ended early: connection lost, no finish reason, length limit
    "too_large",  # the answer is larger than what may be read
    "circuit_open",  # this endpoint failed too often just now; it is left alone for a while
    "model_file",  # the local model can't be loaded
    "empty",  # a reply without words
    "late",  # cancelled as a straggler, or because a hedge was faster
    "dead",  # not called: it failed earlier in the same question
    "budget",  # its own purse was spent
    "stopped",  # cancelled because the run stopped
    "too_few",  # a composition missed its quorum
    "steps",  # the tool loop reached its bound without an answer
]
KINDS: frozenset[str] = frozenset(get_args(Kind))

RETRYABLE: frozenset[str] = frozenset({"rate_limit", "server", "connect", "timeout", "malformed", "cut"})
"""Kinds for which the same call may well work in a moment."""

DEADLY: frozenset[str] = frozenset(
    {"auth", "quota", "rate_limit", "not_found", "server", "connect", "timeout", "circuit_open", "model_file"}
)
"""Kinds that say the agent, not this one question, is the trouble: it is not called again in the run."""

TAKEN: frozenset[str] = frozenset({"timeout", "cut", "malformed", "too_large", "content_filter"})
"""Kinds of failure after which upstream may have worked on the prompt, and may want to be paid for it."""

UNCALLED: frozenset[str] = frozenset({"circuit_open", "model_file", "dead", "budget"})
"""Kinds of failure before which, by themselves, no call was made."""


class Attempt(msgspec.Struct, frozen=True):
    """One try at a call: what kind of failure, which HTTP status (0: none), what was said, how long it took."""

    kind: Kind
    text: str
    status: int = 0
    seconds: float = 0.0


class Failure(msgspec.Struct, frozen=True):
    """Why an agent is missing. `attempts` holds each try of the call that failed, oldest first."""

    agent: str
    kind: Kind
    text: str
    status: int = 0
    attempts: tuple[Attempt, ...] = ()

    def __str__(self) -> str:
        tries = f" after {len(self.attempts)} attempts" if len(self.attempts) > 1 else ""
        return f"{self.agent}: {self.kind}{tries}: {self.text}"


class MotetError(Exception):
    """The root: catch this to catch everything motet raises on purpose."""


class UsageError(MotetError):
    """What was asked for makes no sense as asked."""


class ConfigError(MotetError):
    """The configuration is wrong. `where` is `file:line`, `key` the dotted key, when they are known."""

    def __init__(self, text: str, *, where: str = "", key: str = "") -> None:
        self.where, self.key = where, key
        super().__init__(": ".join(part for part in (where, key, text) if part))


class ModelFileError(MotetError):
    """A model file is missing, corrupt, or can't be fetched."""


class LicenseRequired(ModelFileError):
    """A model's licence has to be accepted before it is fetched."""


class BackendError(MotetError):
    """One call to a model failed. `kind` is one of `KINDS`.

    Args:
        kind: what went wrong, one of the closed set.
        text: what the endpoint or the machine said, without secrets.
        status: the HTTP status, 0 where there was none.
        retry_after: seconds the endpoint asked to wait, if it did.
        attempts: every try, oldest first, once a retry loop has given up.
        retry: whether the same call may be tried again; by default the kind decides.
        calls: calls that were made, 0 where nothing was sent; by default one an attempt, or as the kind says.

    >>> BackendError("server", "oops").calls, BackendError("circuit_open", "left alone").calls
    (1, 0)
    """

    def __init__(
        self,
        kind: Kind,
        text: str,
        *,
        status: int = 0,
        retry_after: float | None = None,
        attempts: Sequence[Attempt] = (),
        retry: bool | None = None,
        calls: int | None = None,
    ) -> None:
        self.kind, self.text, self.status = kind, text, status
        self.retry_after, self.attempts = retry_after, tuple(attempts)
        self.retry = kind in RETRYABLE if retry is None else retry
        self.calls = (len(self.attempts) or int(kind not in UNCALLED)) if calls is None else calls
        super().__init__(f"{kind}: {text}" + (f" (HTTP {status})" if status else ""))

    def but(
        self, *, text: str | None = None, attempts: Sequence[Attempt] | None = None, calls: int | None = None
    ) -> BackendError:
        """The same error in other words, or with what came before it.

        >>> BackendError("server", "oops", status=500).but(text="b: oops")
        BackendError('server: b: oops (HTTP 500)')
        """
        return BackendError(
            self.kind,
            self.text if text is None else text,
            status=self.status,
            retry_after=self.retry_after,
            attempts=self.attempts if attempts is None else attempts,
            retry=self.retry,
            calls=self.calls if calls is None else calls,
        )


class AgentFailed(MotetError):
    """An agent gave no reply. `failure` says who and why."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(str(failure))


class TooFewReplies(MotetError):
    """Fewer usable replies than needed. `failures` says who is missing and why."""

    def __init__(self, need: int, got: int, failures: Sequence[Failure] = (), abstained: Sequence[str] = ()) -> None:
        self.need, self.got = need, got
        self.failures, self.abstained = tuple(failures), tuple(abstained)
        reasons = [str(failure) for failure in self.failures]
        reasons += [f"{name}: abstained" for name in self.abstained]
        super().__init__(f"{got} usable replies, {need} needed" + (" — " + "; ".join(reasons) if reasons else ""))


class BudgetExceeded(MotetError):
    """A purse is spent. `budget` is the one whose `limit` (calls, tokens, usd or seconds) was hit."""

    def __init__(
        self, budget: Budget, limit: str, used: float = 0, wanted: float = 0, allowed: float = 0, text: str = ""
    ) -> None:
        self.budget, self.limit = budget, limit
        self.used, self.wanted, self.allowed = used, wanted, allowed
        more = f"{used:g} used or reserved, {wanted:g} more wanted" if wanted else "the time is up"
        super().__init__(
            text or f"the budget of {allowed:g} {limit} is spent ({more}): raise it, or ask fewer or smaller agents"
        )


class ReplayMiss(MotetError):
    """A replay asked for a call that its record does not hold: the agents or the question have changed."""


class ToolError(MotetError):
    """A tool can't be described to a model, or was called with arguments that do not fit."""
