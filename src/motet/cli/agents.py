"""`motet agents`: the single agents that there are."""

from __future__ import annotations

from motet.cli.options import Config, Json


def agents(config: Config = None, json: Json = False) -> None:
    """List the agents: models that are given a part."""
    from motet.api import configuration
    from motet.cli import output, shapes
    from motet.cli.models import needs
    from motet.spec.entry import AgentEntry
    from motet.spec.fields import fields_of

    known = configuration(config)
    tables = known.document["agents"]
    assert isinstance(tables, dict)
    usual = {field.name: field.default for field in fields_of(AgentEntry)}
    found = []
    for name in known.agents:
        table = {**usual, **tables[name]}
        models = known.subset(name).get("models", {})
        assert isinstance(models, dict)
        found.append(
            shapes.Agent(
                name=name,
                model=str(table["model"]),
                style=str(table["style"]),
                about=str(table["about"]),
                where=known.where(name),
                needs=needs(known, name, models),
            )
        )
    if json:
        output.json(shapes.Agents(found))
        return
    rows = [(each.name, each.model, each.style, each.about or "–", ", ".join(each.needs) or "–") for each in found]
    output.show(output.table(("agent", "model", "style", "about", "needs"), rows, wraps=("about", "needs")))
