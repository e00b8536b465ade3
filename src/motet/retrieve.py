"""Retrieval: the passages of given texts that a query is about, ranked by BM25, and how they are shown to an agent.

    >>> library = Library(["The Seine flows through Paris.", "Lyon lies on the Rhône.", ""])
    >>> [library.passages[place] for place in library.find("Which river flows through Paris?")]
    ['The Seine flows through Paris.']

Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009) with its usual
k1 = 1.5 and b = 0.75. A word's weight is ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative: in Okapi's own
formula a word that stands in more than half of a small library counts against its passages.

Nothing is stemmed, and no word is left out: weights see to it that common ones count little. Where words are not told
apart by spaces (Chinese, Japanese), each character is one. Documents are data of whoever gives them, and may be
anything: those without a word are left out, long ones are cut into passages, so that what is shown fits a prompt, and
what could end a fence or pass for a chat template's mark is disarmed when it is shown.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from motet.errors import UsageError
from motet.prompt import fenced

K1 = 1.5
"""How slowly repetitions of a word stop counting; the usual value."""
B = 0.75
"""How much long passages are held back; the usual value."""
LONGEST = 1_000
"""Characters of a passage at most; motet's choice, some 200 words."""
ASKED = 64
"""Different words of a query that count, the rarest first: a query may be a whole answer."""

_UNSPACED = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Kana and Han characters, of which a whole clause would else be one word that no query has."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s|\s")


def words(text: str) -> list[str]:
    """The words of a text, as they are compared.

    >>> words("Straße, STRASSE; 3.5 km")
    ['strasse', 'strasse', '3', '5', 'km']
    >>> words("巴黎在 Seine 河")
    ['巴', '黎', '在', 'seine', '河']
    """
    return _WORD.findall(text.casefold())


def passages(document: str, longest: int = LONGEST) -> Iterator[str]:
    """A document in pieces of at most `longest` characters, cut between paragraphs, sentences or words.

    The cut is the last of the best kind in the second half of a piece; a word that is longer is cut itself.

    >>> list(passages("One two. Three four five.", 16))
    ['One two.', 'Three four five.']
    """
    start = 0
    while len(document) - start > longest:
        breaks = list(_BREAK.finditer(document, start + longest // 2, start + longest))
        # a paragraph's end is more than one character, and a sentence's comes after its mark
        best = max(
            breaks,
            key=lambda cut: (len(cut.group()) > 1, document[cut.start() - 1] in ".!?", cut.end()),
            default=None,
        )
        end = best.end() if best else start + longest
        yield from filter(None, [document[start:end].strip()])
        start = end
    yield from filter(None, [document[start:].strip()])


class Library:
    """Passages that can be searched.

    Args:
        documents: the texts.

    Attributes:
        passages: what they were cut into, in their order; a passage is known by its place here.

    Raises:
        UsageError: the documents are one text, or something among them is none.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        given = texts(documents)
        pieces = (passage for document in given for passage in passages(document))
        self.passages: tuple[str, ...] = tuple(passage for passage in pieces if _WORD.search(passage))
        counts = [Counter(words(passage)) for passage in self.passages]
        self._words = [frozenset(count) for count in counts]
        self._lengths = [count.total() for count in counts]
        self._mean = sum(self._lengths) / max(1, len(counts))
        self._found: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for word, times in count.items():
                self._found.setdefault(word, []).append((place, times))

    def __len__(self) -> int:
        return len(self.passages)

    def weight(self, word: str) -> float:
        """How much a word tells, from its rarity; 0 if no passage has it."""
        having = len(self._found.get(word, ()))
        return math.log(1 + (len(self) - having + 0.5) / (having + 0.5)) if having else 0.0

    def scores(self, query: str) -> dict[int, float]:
        """The BM25 score of each passage that has a word of the query, by its place."""
        asked = sorted(dict.fromkeys(words(query)), key=lambda word: -self.weight(word))[:ASKED]
        scores: dict[int, float] = {}
        for word in asked:
            weight = self.weight(word)
            for place, times in self._found.get(word, ()):
                held = K1 * (1 - B + B * self._lengths[place] / self._mean)
                scores[place] = scores.get(place, 0.0) + weight * times * (K1 + 1) / (times + held)
        return scores

    def find(self, query: str, k: int = 3, *, without: Collection[int] = ()) -> list[int]:
        """The places of the `k` passages that fit best, best first; of equals the first. Fewer if fewer fit at all.

        Args:
            query: any text; its words count once each.
            k: passages at most.
            without: places that are not wanted.
        """
        scores = self.scores(query)
        fit = [place for place in scores if place not in without]
        return sorted(fit, key=lambda place: (-scores[place], place))[:k]

    def novelty(self, place: int, known: Iterable[int]) -> float:
        """The share of a passage's words that the most similar of the known passages lacks; 1 if none is known.

        >>> library = Library(["red wine", "red wine from Lyon", "white bread"])
        >>> library.novelty(1, [0, 2]), library.novelty(0, [1]), library.novelty(0, [])
        (0.5, 0.0, 1.0)
        """
        own = self._words[place]
        return min((len(own - self._words[other]) / len(own) for other in known), default=1.0)

    def shown(self, places: Iterable[int]) -> str:
        """Passages as they stand in a prompt: fenced and disarmed, under the names that `named` gives them."""
        return "\n\n".join(fenced(self.passages[place], named(place)) for place in places)


class Pool:
    """Passages that were found and kept, and those that were turned down and are not looked at again.

    Args:
        library: where they are looked for.

    Attributes:
        places: the places of those that are kept, in the order in which they came.

    >>> pool = Pool(Library(["red wine", "red wine from Lyon", "red wine", "white bread"]))
    >>> pool.keep(pool.found("wine", novelty=0.2))
    >>> pool.found("red bread", novelty=0.2)
    [3]
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.places: list[int] = []
        self._seen: set[int] = set()

    def found(self, query: str, k: int = 3, *, novelty: float = 0.0) -> list[int]:
        """The places of the `k` best passages never found before; those too like the kept or better ones left out."""
        found = self.library.find(query, k, without=self._seen)
        self._seen.update(found)
        novel: list[int] = []
        for place in found:
            if self.library.novelty(place, [*self.places, *novel]) >= novelty:
                novel.append(place)
        return novel

    def keep(self, places: Iterable[int]) -> None:
        """Keep what was found."""
        self.places += places

    def __str__(self) -> str:
        """What is kept, as it stands in a prompt."""
        return self.library.shown(self.places)


def named(place: int) -> str:
    """The name under which a passage is shown.

    >>> named(0)
    'doc1'
    """
    return f"doc{place + 1}"


def texts(documents: Iterable[str]) -> tuple[str, ...]:
    """Documents as they were given.

    Raises:
        UsageError: they are one text or no list at all, or something among them is no text.

    >>> texts("All of it in one")
    Traceback (most recent call last):
    motet.errors.UsageError: documents can't be a str: give a list of texts
    """
    if isinstance(documents, str) or not isinstance(documents, Collection):  # what is read up is empty the next time
        raise UsageError(f"documents can't be a {type(documents).__name__}: give a list of texts")
    given = tuple(documents)
    strange = [
        f"{place} is a {type(each).__name__}" for place, each in enumerate(given, 1) if not isinstance(each, str)
    ]
    if strange:
        raise UsageError(f"document {', '.join(strange[:3])}: give texts")
    return given


def library(documents: Iterable[str]) -> Library:
    """The library of some documents, the same one each time while it is remembered.

    Raises:
        UsageError: as `Library`.
    """
    return _remembered(texts(documents))


@lru_cache(maxsize=8)
def _remembered(documents: tuple[str, ...]) -> Library:
    return Library(documents)
