"""A question to a table: what it asks is made exact, a query is written, motet computes it, a report says it.

    python examples/public_agent.py

The script stands in for a model. Its first query names a column that is not there, and it is told which there are.
"""

import re

import motet
from motet import ModelAgent, Request, Scripted
from motet.compose.public_agent import PublicAgent
from motet.trace import CallStarted

TABLES = {
    "flats": "city,rent,rooms\nLyon,700,2\nLyon,900,3\nNice,800,2\nNice,?,1\n",
    "weather": "city,month,rain\nLyon,May,90\nNice,May,49\n",
}


def model(call: Request) -> str:
    """Does what each stage asks for."""
    asked = call.messages[-1].text
    if "Say in one sentence" in asked:
        return "The mean monthly rent of the flats in Lyon."
    if "Which of these tables" in asked:
        return "Choice: B"  # the flats: what was meant is heard as A
    if "Write the one query" in asked:
        return "Query: mean(rent) where city = Lyon" if "no column" in asked else "Query: mean(price) where city = Lyon"
    return "A flat in Lyon is let for 800 a month on average."


if __name__ == "__main__":
    clerk = ModelAgent(Scripted(model, name="script"), "clerk")
    result = motet.ask("What does a flat in Lyon cost?", PublicAgent(clerk, TABLES))
    print(result.text)
    told = [event.request.text for event in result.trace if isinstance(event, CallStarted)]
    print(len(told), "calls;", *re.findall("was computed: (.*)", told[-1]))
