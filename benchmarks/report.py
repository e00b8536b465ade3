"""How a benchmark ends: its figures with when, where and by what they were measured, printed and written as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from pathlib import Path


def write(figures: Mapping[str, object], out: Path | None, began: float | None = None) -> None:
    """Print the figures, and write them.

    Args:
        figures: what was measured, with n and seed.
        out: the file, if any.
        began: `time.perf_counter()` at the beginning, where it matters how long all took.
    """
    made = {
        **({} if began is None else {"seconds": round(time.perf_counter() - began, 1)}),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", *sys.argv]),
    }
    text = json.dumps({**figures, **made}, indent=1)
    print(text)
    if out:
        out.write_text(text + "\n", "utf-8")
