"""Views of a trace: a tree of who was asked, and the graph of who heard whom, as text, Mermaid or DOT.

The graph is derived from provenance: an edge leads from a reply to every reply that was made from it, because its
words were in the prompt or because it was chosen or counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from motet.trace import AskEnded, AskFailed, AskStarted, RunEnded, RunStarted, Trace

SHOWN = 60
"""Characters of a reply that a view shows."""


@dataclass(frozen=True)
class Node:
    """One ask: its place, who was asked, how it ended, and the replies it heard or was made from."""

    path: str
    agent: str
    state: str
    text: str
    seconds: float
    id: str
    sources: tuple[str, ...]


def nodes(trace: Trace) -> list[Node]:
    """Every ask of the trace in the order they were started; one that has not ended is `thinking`."""
    found: dict[str, Node] = {}
    began: dict[str, float] = {}
    for event in trace:
        if isinstance(event, AskStarted):
            began[event.path] = event.at
            found[event.path] = Node(event.path, event.agent, "thinking", "", 0.0, "", event.heard)
        elif isinstance(event, AskEnded):
            took = event.at - began.get(event.path, event.at)
            heard = found[event.path].sources if event.path in found else ()
            sources = tuple(dict.fromkeys((*heard, *event.reply.sources)))
            reply = event.reply
            found[event.path] = Node(event.path, event.agent, reply.state, reply.text, took, reply.id, sources)
        elif isinstance(event, AskFailed):
            took = event.at - began.get(event.path, event.at)
            text = f"{event.failure.kind}: {event.failure.text}"
            heard = found[event.path].sources if event.path in found else ()
            found[event.path] = Node(event.path, event.failure.agent, "failed", text, took, "", heard)
    return list(found.values())


def edges(trace: Trace) -> list[tuple[Node, Node]]:
    """Who heard whom: pairs of asks, the source first. A chosen reply and the choice of it are two nodes."""
    asks = nodes(trace)
    by_id: dict[str, Node] = {}
    for node in asks:
        if node.id:
            by_id.setdefault(node.id, node)
    found = []
    for node in asks:
        for source in node.sources:
            other = by_id.get(source)
            if other is not None and other.path != node.path:
                found.append((other, node))
    return found


def tree(trace: Trace) -> str:
    """The asks as an indented tree, with state, seconds and the beginning of each reply.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, Vote, perform
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "5")]
    >>> result = asyncio.run(perform(Vote(agents), "2 + 2?"))
    >>> print(tree(result.trace))  # doctest: +ELLIPSIS
    vote  ok  ...s  4
    ├── agent 4  ok  ...s  4
    └── agent 5  ok  ...s  5
    """
    asks = nodes(trace)
    paths = {node.path for node in asks}

    def parent(node: Node) -> str:
        path = node.path.rpartition("/")[0]
        while path and path not in paths:
            path = path.rpartition("/")[0]
        return path

    children: dict[str, list[Node]] = {}
    for node in asks:
        children.setdefault(parent(node), []).append(node)

    def lines(node: Node, indent: str, branch: str, below: str) -> Iterator[str]:
        said = f"{shortened(node.agent)}  {node.state}  {node.seconds:.2f}s  {shortened(node.text)}"
        yield f"{indent}{branch}{said}".rstrip()
        inner = children.get(node.path, [])
        for place, child in enumerate(inner):
            last = place == len(inner) - 1
            yield from lines(child, indent + below, "└── " if last else "├── ", "    " if last else "│   ")

    return "\n".join(line for node in children.get("", []) for line in lines(node, "", "", ""))


def mermaid(trace: Trace) -> str:
    """The graph of who heard whom as a Mermaid flowchart."""
    asks = nodes(trace)
    ids = {node.path: f"n{place}" for place, node in enumerate(asks)}
    lines = ["flowchart LR"]
    lines += [f'    {ids[node.path]}["{_mermaid(shortened(node.agent))}<br/>{_mermaid(_said(node))}"]' for node in asks]
    lines += [f"    {ids[one.path]} --> {ids[other.path]}" for one, other in edges(trace)]
    return "\n".join(lines) + "\n"


def dot(trace: Trace) -> str:
    """The graph of who heard whom in Graphviz' DOT."""
    asks = nodes(trace)
    ids = {node.path: f"n{place}" for place, node in enumerate(asks)}
    lines = ["digraph motet {", "    rankdir=LR;", "    node [shape=box];"]
    lines += [f'    {ids[node.path]} [label="{_dot(shortened(node.agent))}\\n{_dot(_said(node))}"];' for node in asks]
    lines += [f"    {ids[one.path]} -> {ids[other.path]};" for one, other in edges(trace)]
    return "\n".join([*lines, "}"]) + "\n"


def summary(trace: Trace) -> dict[str, object]:
    """The run in a few values: id, agent, question, date, outcome, calls, USD, answer."""
    found: dict[str, object] = {}
    for event in trace:
        if isinstance(event, RunStarted):
            found |= {"run_id": event.run, "agent": event.agent, "date": event.date, "question": event.chat.question}
        elif isinstance(event, RunEnded):
            found |= {
                "outcome": event.outcome,
                "calls": event.usage.calls,
                "usd": event.usage.usd,
                "seconds": event.at,
                "answer": event.reply.text if event.reply else None,
            }
    return found


def shortened(text: str, limit: int = SHOWN) -> str:
    """The beginning of a text on one line, without characters that would move a cursor or change a colour."""
    line = " ".join(text.split(maxsplit=limit))[: limit + 1]
    line = "".join(character if character.isprintable() else "\ufffd" for character in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _said(node: Node) -> str:
    return shortened(node.text, 40) if node.state in ("ok", "failed") else node.state


def _mermaid(text: str) -> str:
    return "".join(f"#{ord(character)};" if character in '#"<>`[]{}|\\&' else character for character in text)


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
