"""A call as a journal knows it: what was asked of whom, by which version of the code, and which run pays for it."""

from __future__ import annotations

import msgspec

from motet.message import Request


class Call(msgspec.Struct, frozen=True):
    """What is asked of a backend.

    Two calls are the same if the content, the seed and the number of the draw (all in `Request.key`), the backend, the
    model and the version of the code are the same. Who pays makes no difference: what one run had, another has for
    nothing.

    Args:
        request: what is asked; its deadline and its allowance are circumstances, and not kept.
        backend: the backend's name.
        code: what else the reply depends on: the version of the package, a digest of the configuration.
        run: the named run that pays, "" for none.
    """

    request: Request
    backend: str
    code: str = ""
    run: str = ""

    @property
    def step(self) -> tuple[str, str, str]:
        """Backend, model and version of the code."""
        return (self.backend, self.request.model, self.code)
