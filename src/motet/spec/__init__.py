"""Configurations: models, agents and mixtures as data, and back.

`motet.toml` (or a `[tool.motet]` in `pyproject.toml`, or YAML) names models, gives them parts, and wires agents into
mixtures; `load` checks it and builds what is asked for. `describe` writes an agent that was made in Python down as the
same kind of document, and `build` makes an equal one of it.

    >>> config = load()
    >>> "calculator" in config.agents
    True
"""

from motet.spec.config import Config
from motet.spec.describe import describe
from motet.spec.load import build, from_document, load
from motet.spec.schema import json_schema

__all__ = ["Config", "build", "describe", "from_document", "json_schema", "load"]
