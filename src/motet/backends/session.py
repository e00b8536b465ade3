"""The one pooled HTTP session of each event loop, shared by every HTTP backend; it is closed with its loop.

Making a session costs a TLS context (about 20 ms), so there is one, and connections are kept for the next call. Their
number is not limited here: `Limited` does that per endpoint.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import TYPE_CHECKING

from motet.backends.perloop import PerLoop

if TYPE_CHECKING:
    from aiohttp import ClientSession, TCPConnector, TraceConnectionReuseconnParams

KEEP_ALIVE = 4.0
"""Seconds an idle connection is kept. Many servers (uvicorn, Node, llama.cpp) close theirs after 5, and a request that
is sent in that moment is lost: so ours go before theirs. Where they don't, `fresh_session` is for the second time."""


class Sent:
    """What becomes of one request; given to the session as `trace_request_ctx`.

    Attributes:
        reused: whether it went out on a connection that an earlier one had left.
    """

    __slots__ = ("reused",)

    def __init__(self) -> None:
        self.reused = False


class _Pool:
    """The sessions, and the generator that closes them when the loop shuts down its generators, as `asyncio.run` does.

    `fresh`, made when it is needed, never uses a connection twice.
    """

    __slots__ = ("fresh", "keeper", "session")

    def __init__(self) -> None:
        from aiohttp import TCPConnector

        self.session = _open(TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=KEEP_ALIVE))
        self.fresh: ClientSession | None = None
        self.keeper = _keep(self)
        with contextlib.suppress(StopIteration):  # runs to its yield: from here on the loop knows it
            self.keeper.__anext__().send(None)

    @property
    def open(self) -> list[ClientSession]:
        """The sessions that are open."""
        return [self.session, *([self.fresh] if self.fresh is not None else [])]


def _open(connector: TCPConnector) -> ClientSession:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TraceConfig

    trace = TraceConfig()
    trace.on_connection_reuseconn.append(_reused)
    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        timeout=ClientTimeout(total=None),
        trace_configs=[trace],
        # Answers are small and come word by word: compressing them costs more than it saves, and what is not
        # unpacked can't blow up.
        headers={"User-Agent": "motet", "Accept-Encoding": "identity"},
    )


async def _reused(session: ClientSession, context: SimpleNamespace, _: TraceConnectionReuseconnParams) -> None:
    if isinstance(context.trace_request_ctx, Sent):
        context.trace_request_ctx.reused = True


async def _keep(pool: _Pool) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        _pools.take()
        for each in pool.open:
            await each.close()


def _drop(pool: _Pool) -> None:
    """Close what a loop left behind that ended without closing: no loop runs any more, so go as far as one step."""
    for each in pool.open:
        closing = each.close()
        with contextlib.suppress(Exception):
            closing.send(None)
        closing.close()


_pools: PerLoop[_Pool] = PerLoop(_Pool, _drop)
atexit.register(_pools.sweep, every=True)


def session() -> ClientSession:
    """The running loop's session; opened the first time it is asked for."""
    return _pools.get().session


def fresh_session() -> ClientSession:
    """The running loop's session whose connections are all new, for what was lost on one that was not."""
    from aiohttp import TCPConnector

    pool = _pools.get()
    if pool.fresh is None:
        pool.fresh = _open(TCPConnector(limit=0, ttl_dns_cache=300, force_close=True))
    return pool.fresh


async def aclose() -> None:
    """Close the running loop's sessions and every connection in them. The next call opens a new one."""
    pool = _pools.take()
    if pool is not None:
        await pool.keeper.aclose()
