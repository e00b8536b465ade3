"""`motet mixtures`: the mixtures that there are, and their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.cli.options import Config, Json

if TYPE_CHECKING:
    from motet.cli.shapes import Mixture
    from motet.estimate import Estimate
    from motet.spec import Config as Configuration

SHORT = "What is the capital of France?"
"""What a shape is told for."""


def mixtures(config: Config = None, json: Json = False) -> None:
    """List the mixtures and what a question takes.

    Calls, and how many of them in series, are the most that a short question can take.
    """
    from motet.api import configuration
    from motet.cli import output, shapes

    known = configuration(config)
    found = [_described(known, name) for name in known.mixtures]
    if json:
        output.json(shapes.Mixtures(found))
        return
    rows = [
        (
            f"{each.name} *" if each.default else each.name,
            each.composition,
            "?" if each.calls is None else str(each.calls),
            "?" if each.depth is None else str(each.depth),
            ", ".join(each.needs) or "–",
            each.about,
        )
        for each in found
    ]
    columns = ("mixture", "composition", "calls", "in series", "needs", "what it does")
    output.show(output.table(columns, rows, wraps=("needs", "what it does")))
    if any(each.default for each in found):
        output.data("\n* is asked when nobody is named\n")


def estimated(config: Configuration, name: str, question: str) -> Estimate:
    """The most that a question can take, without keys, models or calls.

    Raises:
        MotetError: the mixture can't be performed at all; says why.
    """
    from motet.estimate import estimate
    from motet.spec import from_document

    return estimate(from_document(config.subset(name), keyless=True).agent(), question)


def _described(config: Configuration, name: str) -> Mixture:
    from motet.cli import shapes
    from motet.cli.models import needs
    from motet.errors import MotetError
    from motet.run import Agent
    from motet.spec.fields import summary
    from motet.spec.registry import variant

    parts = config.subset(name)
    tables, models = parts["mixtures"], parts.get("models", {})
    assert isinstance(tables, dict)
    assert isinstance(models, dict)
    word = str(tables[name]["composition"])
    cls = variant(Agent, word)
    try:
        shape: Estimate | None = estimated(config, name, SHORT)
    except MotetError:  # a function of one's own that is not there, say: `motet doctor` is for that
        shape = None
    return shapes.Mixture(
        name=name,
        default=name == config.default,
        composition=word,
        also_known_as=list(getattr(cls, "also_known_as", ())),
        about=summary(cls) if cls is not None else "",
        members=[*dict.fromkeys((*_names(parts.get("agents")), *_names(tables)))],
        calls=shape.calls if shape else None,
        depth=shape.depth if shape else None,
        usd=shapes.dollars(shape.usd) if shape else None,
        needs=needs(config, name, models),
        where=config.where(name),
    )


def _names(tables: object) -> list[str]:
    return list(tables) if isinstance(tables, dict) else []
