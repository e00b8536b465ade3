"""What a mixture would cost, and what it does when the money runs out. No model is needed.

python examples/budget.py
"""

import motet
from motet import Budget, MixtureOfAgents, ModelAgent, Scripted, Synthesize

if __name__ == "__main__":
    agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Oslo", "Bergen", "Oslo!")]
    mixture = MixtureOfAgents(agents, Synthesize(agents[0]))

    cost = motet.estimate(mixture, "What is the capital of Norway?")
    print(f"at most {cost.calls} calls, {cost.depth} in series, {cost.input + cost.output} tokens")

    result = motet.ask("What is the capital of Norway?", mixture, budget=Budget(calls=4))
    print(f"{result.text!r} after {result.usage.calls} calls; stopped by: {result.stopped}; {result.outcome.state}")
