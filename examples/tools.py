"""An agent that calls a Python function. The script stands in for a model that can call tools.

python examples/tools.py
"""

import json

import motet
from motet import ModelAgent, Reply, Request, Scripted, tool
from motet.message import ToolCall


def weather(city: str, unit: str = "celsius") -> str:
    """What the weather is in a city."""
    return f"18 degrees {unit} in {city}"


def model(request: Request) -> Reply:
    """Calls the tool once, then says what it was told."""
    last = request.messages[-1]
    if last.role == "tool":
        return Reply(f"It is {last.text}.")
    return Reply("", finish="tool_calls", tool_calls=(ToolCall("1", "weather", json.dumps({"city": "Oslo"})),))


if __name__ == "__main__":
    agent = ModelAgent(Scripted(model), "forecaster", tools=[tool(weather)])
    print(motet.ask("How warm is it in Oslo?", agent).text)
