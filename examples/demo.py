"""Five questions to the default mixture: what each of its members says, and what they answer together.

    python examples/demo.py

It runs on the embedded models: `make models` fetches them.
"""

import sys

from rich.console import Console
from rich.table import Table

import motet

QUESTIONS = (
    "What is the capital of France?",
    "What is 17 * 23?",
    "Tom has 5 marbles and buys 7 more. How many marbles does Tom have now?",
    "Who wrote Romeo and Juliet?",
    "What is 15% of 240?",
)
MARKS = {"ok": "", "abstained": "has nothing to say", "failed": "failed", "cut": "cut off", "empty": "said nothing"}


def shown(question: str, result: motet.Result) -> Table:
    """Every member's reply to a question, and the answer they gave together."""
    table = Table(title=question, title_style="bold", title_justify="left", show_footer=True)
    table.add_column("agent", footer=result.agent, footer_style="bold green", width=18)
    table.add_column("says", footer=result.text.strip(), footer_style="bold green", width=48)
    table.add_column("s", footer=f"{result.seconds:.1f}", justify="right", width=5)
    for member in result.replies:
        said = member.text if member.state in ("ok", "failed") else ""
        style = "" if member.state == "ok" else "dim"
        table.add_row(
            member.agent, f"{said.strip()} {MARKS[member.state]}".strip(), f"{member.seconds:.1f}", style=style
        )
    return table


def main() -> None:
    """Ask, show, and sum up."""
    console = Console(highlight=False, markup=False)
    seconds, calls = 0.0, 0
    for question in QUESTIONS:
        with console.status("they think …"):
            result = motet.ask(question)
        console.print(shown(question, result))
        console.print()
        seconds += result.seconds
        calls += result.usage.calls
    console.print(
        "The calculator's vote counts four times, since it is exact; the others are small, and may all be wrong."
    )
    console.print(f"{len(QUESTIONS)} questions, {calls} calls, {seconds:.1f} s, all on this machine. Now yours:")
    console.print("  motet ask 'How many legs does a spider have?' --show replies")


if __name__ == "__main__":
    try:
        main()
    except motet.MotetError as error:
        sys.exit(f"no answer: {error}")
