"""A real browser without a screen: headless Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-port=0"
).split()

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium: apt-get install chromium")


@dataclass
class Tab:
    """One page in the browser."""

    socket: aiohttp.ClientWebSocketResponse
    session: str
    complaints: list[str] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol, and its result."""
        number = next(self.numbers)
        await self.socket.send_json({"id": number, "sessionId": self.session, "method": method, "params": params})
        while True:
            said = await self.socket.receive_json(timeout=30)
            if said.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(str(said["params"]["exceptionDetails"]))
            elif said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] in ("error", "warning"):
                self.complaints.append(said["params"]["entry"]["text"])
            elif said.get("method") == "Runtime.consoleAPICalled" and said["params"]["type"] in ("error", "warning"):
                self.complaints.append(str(said["params"]["args"]))
            if said.get("id") == number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    async def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        said = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def open(self, path: Path, width: int, height: int = 900, *, scheme: str = "light") -> None:
        """Open a file at a width, and wait until it stands still."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.call("Page.navigate", url=path.resolve().as_uri())  # noqa: ASYNC240
        await self.run(
            "new Promise(done => { const check = () => document.readyState === 'complete' ? setTimeout(done, 300)"
            " : setTimeout(check, 20); check(); })"
        )

    async def cut_off(self) -> list[str]:
        """What lies outside the window to the left or right: elements of the page, and texts of its drawings."""
        found: list[str] = await self.run(
            """[...document.querySelectorAll('main *, footer')].filter(node => {
                 const box = node.getBoundingClientRect();
                 const hidden = box.width === 0 || node.closest('[aria-label="tip"]');
                 return !hidden && (box.left < -0.5 || box.right > window.innerWidth + 0.5);
               }).map(node => `${node.tagName} ${node.textContent.slice(0, 40)}`)"""
        )
        return found

    async def picture(self, path: Path) -> None:
        """Keep a picture of the whole page."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        taken = await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(taken["data"]))  # noqa: ASYNC240


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    """Start Chromium with an empty profile, and end it."""
    assert PROGRAM is not None, "no Chromium: apt-get install chromium"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            PROGRAM, *FLAGS, f"--user-data-dir={profile}", "about:blank", stderr=asyncio.subprocess.PIPE
        )
        try:
            assert process.stderr is not None
            while b"DevTools listening on " not in (line := await asyncio.wait_for(process.stderr.readline(), 30)):
                assert line, "Chromium ended before it listened"
            address = line.decode().split("listening on ")[1].strip()
            async with aiohttp.ClientSession() as http, http.ws_connect(address, max_msg_size=0) as socket:
                await socket.send_json({"id": 0, "method": "Target.createTarget", "params": {"url": "about:blank"}})
                target = (await _answer(socket, 0))["targetId"]
                attach = {"targetId": target, "flatten": True}
                await socket.send_json({"id": -1, "method": "Target.attachToTarget", "params": attach})
                tab = Tab(socket, (await _answer(socket, -1))["sessionId"])
                for domain in ("Page", "Runtime", "Log"):
                    await tab.call(f"{domain}.enable")
                yield tab
        finally:
            process.kill()
            await process.wait()


async def _answer(socket: aiohttp.ClientWebSocketResponse, number: int) -> dict[str, Any]:
    while True:
        said = await socket.receive_json(timeout=30)
        if said.get("id") == number:
            result: dict[str, Any] = said["result"]
            return result
