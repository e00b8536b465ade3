"""Exit codes, and which error means which: scripts go by them.

>>> code_of(UsageError("no question")) is Code.USAGE
True
>>> code_of(BackendError("connect", "refused")) is Code.UNAVAILABLE
True
>>> code_of(BackendError("context_length", "too long")) is Code.FAILED
True
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from motet.errors import (
    DEADLY,
    RETRYABLE,
    AgentFailed,
    BackendError,
    BudgetExceeded,
    ConfigError,
    Failure,
    LicenseRequired,
    ModelFileError,
    ReplayMiss,
    TooFewReplies,
    ToolError,
    UsageError,
)
from motet.outcome import Result


class Code(IntEnum):
    """What a command exits with. 69 and 78 are those of sysexits.h, 130 and 143 the shell's for Ctrl-C and SIGTERM."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DEGRADED = 3  # an answer, but somebody was missing or a limit ended the run
    BUDGET = 4  # no answer, because a limit was reached
    UNAVAILABLE = 69  # no answer, because models failed or are not there
    CONFIG = 78
    INTERRUPTED = 130
    TERMINATED = 143


UNAVAILABLE = (DEADLY | RETRYABLE | {"dead", "too_large"}) - {"cut"}
"""Kinds of failure that say that a model, not the question, is the trouble."""
SPENT = frozenset({"budget", "stopped"})
KINDS: tuple[tuple[type[BaseException], str, Code], ...] = (
    (UsageError, "usage", Code.USAGE),
    (ConfigError, "config", Code.CONFIG),
    (LicenseRequired, "license_required", Code.USAGE),
    (ModelFileError, "model_file", Code.UNAVAILABLE),
    (BudgetExceeded, "budget", Code.BUDGET),
    (TooFewReplies, "too_few_replies", Code.FAILED),
    (BackendError, "backend", Code.FAILED),
    (AgentFailed, "agent_failed", Code.FAILED),
    (ReplayMiss, "replay_miss", Code.FAILED),
    (ToolError, "tool", Code.FAILED),
    (KeyboardInterrupt, "interrupted", Code.INTERRUPTED),
)
"""Each error's word in JSON, and its code; `failed` and 1 for any other."""


def kind_of(error: BaseException) -> str:
    """The word for an error in JSON."""
    return next((word for cls, word, _ in KINDS if isinstance(error, cls)), "failed")


def code_of(error: BaseException) -> Code:
    """The exit code that an error means."""
    if isinstance(error, BackendError):
        return _by_kinds([Failure("", error.kind, error.text, error.status, error.attempts)])
    if isinstance(error, AgentFailed):
        return _by_kinds([error.failure])
    if isinstance(error, TooFewReplies):
        return _by_kinds(error.failures)
    return next((code for cls, _, code in KINDS if isinstance(error, cls)), Code.FAILED)


def code_of_result(result: Result) -> Code:
    """The exit code that a run means."""
    if result.reply is not None:
        return Code.OK if result.outcome.state == "full" else Code.DEGRADED
    code = code_of(result.error) if result.error is not None else Code.FAILED
    # A mixture inside a mixture missed its quorum for the reasons that its own members give.
    return code if code is not Code.FAILED else _by_kinds(result.outcome.missing)


def _by_kinds(failures: Iterable[Failure]) -> Code:
    kinds = {failure.kind for failure in failures}
    # `cut` is a lost connection if it was tried several times, else the length limit of a reply.
    lost = any(failure.kind == "cut" and failure.attempts for failure in failures)
    return Code.BUDGET if kinds & SPENT else Code.UNAVAILABLE if lost or kinds & UNAVAILABLE else Code.FAILED
