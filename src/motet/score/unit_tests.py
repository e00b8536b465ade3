"""Unit tests: 1 if the code in the reply passes all tests, else 0. It is run in a sandbox, or not at all.

See `motet.score.sandbox` for what the sandboxes guarantee and what not.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from motet.errors import UsageError
from motet.message import Chat, Reply
from motet.run import Run

Sandbox = Literal["auto", "bubblewrap", "monty"]
"""Where code is run; `auto` is bubblewrap where it works, else monty."""

_BLOCK = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class UnitTests:
    """Whether the reply's code passes every test.

    Args:
        tests: Python statements that raise where the code is wrong: `assert f(2) == 4`.
        seconds: time for the code and all tests.
        megabytes: memory for them.
        sandbox: `bubblewrap`, `monty`, or `auto` for the first of them that is there.
    """

    tests: Sequence[str]
    seconds: float = 5.0
    megabytes: int = 256
    sandbox: Sandbox = "auto"

    def __post_init__(self) -> None:
        if not self.seconds > 0 or self.megabytes < 64:
            raise UsageError(
                f"{self.seconds:g} s and {self.megabytes} MB are too little: give over 0 s, and 64 MB or more"
            )

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        from motet.score.sandbox import run_tests
        from motet.score.worker import threads

        if not reply.usable or not self.tests:
            return 0.0

        def work() -> str:
            return run_tests(
                code_in(reply.text),
                tuple(self.tests),
                seconds=self.seconds,
                megabytes=self.megabytes,
                sandbox=self.sandbox,
            )

        wrong = await asyncio.get_running_loop().run_in_executor(threads(), work)
        if wrong:
            run.note(f"the tests: {wrong}")
        return float(not wrong)


def code_in(text: str) -> str:
    r"""The code of a reply: the last fenced block that defines something, the last block, or all of it.

    >>> code_in("So:\n```python\ndef f():\n    return 1\n```\nTry it:\n```\nf()\n```")
    'def f():\n    return 1\n'
    """
    blocks = [match[2] for match in _BLOCK.finditer(text)]
    defining = [block for block in blocks if re.search(r"^\s*(?:def|class|async def) ", block, re.MULTILINE)]
    return (defining or blocks or [text])[-1]
