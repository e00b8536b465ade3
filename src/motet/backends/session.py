"""The one pooled HTTP session of each event loop, shared by every HTTP backend; it is closed with its loop.

Making a session costs a TLS context (about 20 ms), so there is one, and connections are kept for the next call. Their
number is not limited here: `Limited` does that per endpoint.
"""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from motet.backends.perloop import PerLoop

if TYPE_CHECKING:
    from aiohttp import ClientSession

KEEP_ALIVE = 4.0
"""Seconds an idle connection is kept. Many servers (uvicorn, Node, llama.cpp) close theirs after 5, and a request that
is sent in that moment is lost: so ours go before theirs."""


class _Pool:
    """A session, and the generator that closes it when the loop shuts down its generators, as `asyncio.run` does."""

    __slots__ = ("keeper", "session")

    def __init__(self) -> None:
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        self.session = ClientSession(
            connector=TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=DummyCookieJar(),
            timeout=ClientTimeout(total=None),
            # Answers are small and come word by word: compressing them costs more than it saves, and what is not
            # unpacked can't blow up.
            headers={"User-Agent": "motet", "Accept-Encoding": "identity"},
        )
        self.keeper = _keep(self.session)
        with contextlib.suppress(StopIteration):  # runs to its yield: from here on the loop knows it
            self.keeper.__anext__().send(None)


async def _keep(session: ClientSession) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        _pools.take()
        await session.close()


def _drop(pool: _Pool) -> None:
    """Close what a loop left behind that ended without closing: no loop runs any more, so go as far as one step."""
    closing = pool.session.close()
    with contextlib.suppress(Exception):
        closing.send(None)
    closing.close()


_pools: PerLoop[_Pool] = PerLoop(_Pool, _drop)
atexit.register(_pools.sweep, every=True)


def session() -> ClientSession:
    """The running loop's session; opened the first time it is asked for."""
    return _pools.get().session


async def aclose() -> None:
    """Close the running loop's session and every connection in it. The next call opens a new one."""
    pool = _pools.take()
    if pool is not None:
        await pool.keeper.aclose()
