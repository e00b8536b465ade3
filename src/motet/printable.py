"""Text without what a terminal or a browser would obey: control characters, and those that turn the direction round."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    r"""`text` with `�` for what is not to be printed; line ends, tabs and the joiners of scripts and emoji stay.

    >>> printable("4\x1b[2J")
    '4�[2J'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "�" if unicodedata.category(each) in ("Cc", "Cf", "Cs") and each not in "\n\t\u200d\u200c" else each
        for each in text.replace("\r\n", "\n")
    )
