"""AlpacaEval annotations: a judge's preferences between an agent's outputs and a baseline's; one file an agent.

    [{"instruction": "...", "generator_1": "baseline", "generator_2": "agent", "preference": 1.9, "dataset": "koala"}]

`preference` runs from 1, the first output, to 2, the second; 0 and 1.5 are ties. Correctness here is `preference` - 1:
the share of judgements in which the agent is preferred to the baseline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from motet.errors import UsageError
from motet.tables.draft import Draft
from motet.tables.look import Look, each, holds
from motet.tables.records import NAN, Outcome, Records

PATTERNS: Final = ("annotations*.json", "annotations*.json.gz")
EXCERPT: Final = 60
"""Characters of an instruction in an item's id."""


class _Annotation(msgspec.Struct):
    instruction: str
    generator_2: str
    generator_1: str = ""
    preference: float | None = None
    dataset: str | None = None


def is_alpaca_eval(seen: Look) -> bool:
    """Whether these are annotations, or a folder of them."""
    return holds(seen, PATTERNS, _is_annotations)


def _is_annotations(seen: Look) -> bool:
    return isinstance(seen.document, list) and {"instruction", "generator_2", "preference"} <= set(seen.columns)


def alpaca_eval(looks: Sequence[Look]) -> Draft:
    """Read annotations.

    Raises:
        UsageError: one file is none, a preference is outside 1 to 2, or two files are of the same agent.
    """
    records = Records()
    ids: dict[tuple[str, int], str] = {}
    baselines: Counter[str] = Counter()
    files: dict[str, Path] = {}
    for seen in each(looks, PATTERNS, _is_annotations, "annotations (`instruction`, `generator_2`, `preference`)"):
        try:
            annotations = msgspec.convert(seen.document, list[_Annotation])
        except msgspec.ValidationError as error:
            raise UsageError(f"{seen.path}: {error}; are these annotations of AlpacaEval?") from error
        names = _agents(annotations, seen.path, files)
        times: Counter[tuple[str, str]] = Counter()
        for place, one in enumerate(annotations):
            if one.preference is not None and one.preference != 0 and not 1 <= one.preference <= 2:
                raise UsageError(f"{seen.path}: annotation {place} has the preference {one.preference:g}, not 1 to 2")
            agent = names[one.generator_2]
            # The same instruction twice in a file is two items: the set has a few such pairs.
            key = (one.instruction, times[one.instruction, agent])
            times[one.instruction, agent] += 1
            excerpt = " ".join(one.instruction.split())[:EXCERPT]
            item = ids.setdefault(key, f"{len(ids) + 1}: {excerpt}")
            baselines[one.generator_1] += 1
            records.add(str(seen.path), item, agent, Outcome(_share(one.preference)))
            records.fact("topics", item, one.dataset or "")
    if len(baselines) > 1:
        listed = ", ".join(sorted(baselines))
        raise UsageError(f"{looks[0].path}: preferences against several baselines can't be compared: {listed}")
    records.notes.append(f"preferences against {next(iter(baselines))!r} are read as correctness, 0.5 a tie")
    return records.draft(looks[0].path)


def _share(preference: float | None) -> float:
    if preference is None:
        return NAN
    return 0.5 if preference == 0 else preference - 1


def _agents(annotations: Sequence[_Annotation], path: Path, files: dict[str, Path]) -> dict[str, str]:
    """What to call each generator: by its name, or where another file has that name already, by its folder."""
    found = {}
    for generator in dict.fromkeys(one.generator_2 for one in annotations):
        names = [generator, path.resolve().parent.parent.name, path.resolve().parent.name, path.name]
        name = next((name for name in names if name and name not in files), None)
        if name is None:
            raise UsageError(f"{files[generator]} and {path} are both of {generator!r}; give one of them")
        files[name] = path
        found[generator] = name
    return found
