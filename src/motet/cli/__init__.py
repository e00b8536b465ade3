"""The command line: `motet ask`, and what is needed around it. A file a verb; `app` puts them together."""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main() -> None:
    """The `motet` command: runs a verb and exits with its code."""
    try:
        from motet.cli.app import run

        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: a Ctrl-C on the way out changes nothing any more
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        # A model in this process can be in the middle of a reply that nobody waits for any more, and its threads
        # would be waited for. What was to be kept is on the disk already.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
