"""Imports flow one way, and importing motet stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import motet

ROOT = Path(motet.__file__).parent

# From what everything stands on to what stands on everything. A module may import from its own layer and from those
# above it in this list. A name with a slash is a package.
LAYERS = (
    "errors printable",
    "measure/ page/",
    "numbers normalise paths ballot form embed",
    "answer",
    "tables/",
    "diagnosis/",
    "message",
    "budget trace",
    "backend outcome record journal/",
    "run",
    "prompt fit retrieve tool topology perform view",
    "agent",
    "score/",
    "aggregate/",
    "route/",
    "compose/",
    "pool prices backends/",
    "replay clock runs",
    "estimate batch",
    "testing",
    "spec/",
    "bench/",
    "api",
    "cli/",
    "__init__",
)
PLACE = {name.rstrip("/"): place for place, names in enumerate(LAYERS) for name in names.split()}


def layer(module: str) -> str:
    """`motet.backends.llama` is in `backends`, `motet.run` in `run`, `motet` in `__init__`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path: Path) -> Iterator[str]:
    """The motet modules that a file imports when it is imported; not those under TYPE_CHECKING or in functions."""
    pending: list[ast.stmt] = list(ast.parse(path.read_text()).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "motet":
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] == "motet")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            pending += node.body + node.orelse
        elif isinstance(node, ast.Try):
            pending += node.body


def test_every_module_has_a_layer() -> None:
    """A new file at the root has to be given its place in the order of imports."""
    names = {path.stem for path in ROOT.glob("*.py") if path.stem != "__main__"}
    names |= {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert names - set(PLACE) == set()


def test_imports_flow_one_way() -> None:
    """No module imports from a layer that stands on it."""
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        own = layer(".".join(("motet", *path.relative_to(ROOT).with_suffix("").parts)))
        if own == "__main__":
            continue
        for module in imports(path):
            if PLACE[layer(module)] > PLACE[own]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_no_import_cycle() -> None:
    """The modules can be put in an order in which each comes after those it imports."""
    graph: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        graph[name] = set(imports(path)) - {name}
    packages = {name for name in graph if any(other.startswith(name + ".") for other in graph)}
    while graph:
        free = {name for name, needs in graph.items() if not needs & (graph.keys() - packages)}
        assert free, f"a cycle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


def test_import_is_light() -> None:
    """`import motet` brings in no heavy library and opens no socket."""
    code = (
        "import sys, socket\n"
        "socket.socket.connect = None\n"
        "import motet\n"
        "heavy = {'numpy', 'pydantic', 'aiohttp', 'torch', 'scipy', 'rich', 'typer', 'xllamacpp', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
