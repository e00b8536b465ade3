"""What a worker process runs: one line of JSON in, one line out. It stands alone and imports nothing of motet.

Started as `python -I worker_child.py KIND MEGABYTES`; its first line says that it is ready, or what is missing.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable


def main(kind: str, megabytes: int) -> None:
    """Do one kind of work until there is no more."""
    _limit(megabytes)
    out = sys.stdout
    sys.stdout = sys.stderr  # libraries may print
    try:
        work = {"regex": lambda: _regex, "maths": _maths}[kind]()
    except ImportError as error:
        print(json.dumps({"missing": str(error.name)}), file=out, flush=True)
        return
    print(json.dumps({"ready": kind}), file=out, flush=True)
    for line in sys.stdin:
        seconds, (given, accepted) = json.loads(line)
        _end_after(seconds)
        try:
            found = work(given, accepted)
        except MemoryError:
            return  # a new process begins with its memory free
        except Exception:  # whatever a parser does with what a model wrote: it is not equal
            found = False
        print(json.dumps({"found": found}), file=out, flush=True)


def _limit(megabytes: int) -> None:
    try:
        import resource
    except ImportError:
        return  # Windows
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def _end_after(seconds: float) -> None:
    """End with the work, where whoever would end it after so long is killed first."""
    try:
        import resource
    except ImportError:
        return  # Windows
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _regex(given: str, accepted: list[str]) -> bool:
    return any(re.search(pattern, given) for pattern in accepted)


def _maths() -> Callable[[str, list[str]], bool]:
    import logging

    import math_verify

    logging.disable(logging.CRITICAL)
    wrapped = [math_verify.LatexExtractionConfig(), math_verify.ExprExtractionConfig()]

    def parsed(text: str) -> list[object]:
        text = text.strip().strip("$").removesuffix(".")
        plain: list[object] = math_verify.parse(f"${text}$", wrapped, parsing_timeout=None)
        return plain or math_verify.parse(text, wrapped, parsing_timeout=None)

    def same(given: str, accepted: list[str]) -> bool:
        answer = parsed(given)
        return any(math_verify.verify(parsed(text), answer, timeout_seconds=None) for text in accepted)

    return same


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
