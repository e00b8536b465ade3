"""From a checked configuration to agents, backends and budgets, and parts of it back to data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from motet import Agreement, Best, Debate, Example, ModelAgent, Plurality, Sampling, Scripted, Synthesize, Vote, perform
from motet.backend import Backend, Price
from motet.backends import session
from motet.backends.cached import Cached, Memory
from motet.backends.fallback import Fallback
from motet.backends.function import Function
from motet.backends.journaled import Journaled
from motet.backends.limited import Limited
from motet.backends.llama import Llama
from motet.backends.openai import Clocks, OpenAI
from motet.backends.retried import Retried
from motet.errors import ConfigError, UsageError
from motet.journal import default_path
from motet.spec import Config, from_document, load
from motet.topology import Ring, Sparse

Document = dict[str, Any]
MODULE = '''
from dataclasses import dataclass
from motet import Reply
from motet.run import Agent
from motet.tool import tool

def shout(question):
    return question.upper()

def area(width: float, height: float) -> float:
    "The area of a rectangle."
    return width * height

def untyped(x):
    return x

named = tool(area, name="rectangle")

@dataclass(frozen=True)
class Echo:
    """Says what its member says."""
    member: Agent
    name: str = "echo"

    async def __call__(self, chat, run):
        return await run.answer(self.member, chat)

class Plain:
    pass
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user's own, beside the configuration; its name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    name = f"own_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    return name


def config(tmp_path: Path | None = None, **sections: object) -> Config:
    """A configuration of scripted models a, b and c, each also an agent."""
    models = {name: Scripted(name, name=name) for name in "abc"}
    folder = {"folder": str(tmp_path)} if tmp_path else {}
    return from_document({**sections, **folder}, models=models)


def mixture(composition: str, **fields: object) -> Document:
    return {"m": {"composition": composition, **fields}}


# ---- agents and mixtures


def test_an_agent_entry_is_a_model_agent() -> None:
    """Every key of an agent arrives where it belongs."""
    entry = {
        "model": "a", "system": "Be brief.", "instruction": "A word.", "style": "completion", "temperature": 1,
        "top_p": 0.5, "max_tokens": 9,
        "stop": "\n", "logprobs": 1, "grammar": 'root ::= "x"', "format": {"type": "json_object"}, "max_steps": 3,
        "fit": "drop", "about": "a test", "examples": [{"question": "q", "answer": "r"}],
    }  # fmt: skip
    made = config(agents={"x": entry}).agent("x")
    assert isinstance(made, ModelAgent)
    sampling = Sampling(1.0, 0.5, 9, ("\n",), 1, '{"type": "json_object"}', 'root ::= "x"')
    assert made == ModelAgent(
        made.backend, "x", "Be brief.", "A word.", (Example("q", "r"),), "completion", sampling, (), 3, "drop", "a test"
    )  # fmt: skip


def test_a_mixture_is_its_composition() -> None:
    """Words, tables with a kind, lists of agents and numbers become the fields of the composition."""
    made = config(
        mixtures=mixture(
            "debate",
            agents=["a", "b", "a"],
            rounds=3,
            topology={"kind": "sparse", "degree": 1},
            aggregate={"kind": "best", "score": {"kind": "agreement", "agents": ["c"]}},
        )
    )
    a, b, c = (made.agent(name) for name in "abc")
    best = Best(Agreement((c,)))
    assert made.agent("m") == Debate((a, b, a), rounds=3, topology=Sparse(1), aggregate=best, name="m")
    plain = config(mixtures=mixture("debate", agents=["a", "b"], topology="ring", aggregate="plurality")).agent("m")
    assert isinstance(plain, Debate)
    assert (plain.topology, plain.aggregate) == (Ring(), Plurality())


def test_one_name_is_one_object() -> None:
    """Mixtures that share an agent, and agents that share a model, share the object."""
    made = config(
        agents={"x": {"model": "a"}, "y": {"model": "a"}},
        mixtures={
            "one": {"composition": "vote", "agents": ["x", "y"]},
            "two": {"composition": "vote", "agents": ["one", "x"]},
        },
    )
    one, two = made.agent("one"), made.agent("two")
    assert isinstance(one, Vote)
    assert isinstance(two, Vote)
    assert two.agents[0] is one
    assert two.agents[1] is one.agents[0]
    assert one.agents[0].backend is one.agents[1].backend  # type: ignore[attr-defined]
    assert made.agent("two") is two


def test_words_may_be_written_with_hyphens() -> None:
    """`self-moa` and `self_moa` are the same composition."""
    fields = {"agent": "a", "draws": 2}
    assert config(mixtures=mixture("self-moa", **fields)).agent("m") == config(
        mixtures=mixture("self_moa", **fields)
    ).agent("m")


def test_extends_merges_tables_and_replaces_the_rest() -> None:
    """Tables are merged deep, lists replaced; a table of another kind replaces what was there; chains work."""
    made = config(
        models={"p": {"backend": "ollama", "model": "x", "price": {"input": 1, "output": 2}}}
        | {"q": {"extends": "p", "price": {"output": 3}}},
        mixtures={
            "one": {
                "composition": "vote",
                "agents": ["a", "b"],
                "aggregate": {"kind": "plurality", "weights": {"a": 2}},
            },
            "two": {"extends": "one", "agents": ["c"], "aggregate": {"weights": {"b": 3}}},
            "three": {"extends": "two", "aggregate": {"kind": "synthesize", "agent": "a"}},
        },
    )
    assert made.document["models"]["q"]["price"] == {"input": 1, "output": 3}  # type: ignore[index]
    c = made.agent("c")
    assert made.agent("two") == Vote((c,), Plurality({"a": 2.0, "b": 3.0}), name="two")
    assert made.agent("three") == Vote((c,), Synthesize(made.agent("a")), name="three")


def test_a_composition_refuses_with_its_line(tmp_path: Path) -> None:
    """What a composition finds wrong when it is made is told with the line of its table."""
    path = tmp_path / "motet.toml"
    path.write_text('\n[mixtures.m]\ncomposition = "debate"\nagents = ["calculator"]\n')
    with pytest.raises(ConfigError, match=r"motet.toml:2: mixtures.m: m needs at least 2 agents, and has 1"):
        load(path).agent("m")


# ---- models


def inner(backend: Backend) -> OpenAI:
    """The endpoint inside the wrappers."""
    assert isinstance(backend, Retried)
    assert isinstance(backend.backend, Limited)
    assert isinstance(backend.backend.backend, OpenAI)
    return backend.backend.backend


def test_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of an endpoint arrives; the key's value is never taken out of the environment."""
    monkeypatch.setenv("LAB_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("HOST", "gpu.lab")
    lab = {
        "base_url": "http://${HOST}:8000/v1", "model": "m", "api_key": "${LAB_KEY}", "context": 4096,
        "price": {"input": 1, "output": 2}, "timeouts": {"idle": 5}, "retries": 1, "max_concurrency": 7,
        "extra": {"reasoning_effort": "low"},
    }  # fmt: skip
    made = config(models={"lab": lab, "short": "http://h/v1#m/x", "ollama": "ollama:qwen3:8b"})
    backend = made.model("lab")
    assert isinstance(backend, Retried)
    assert backend.attempts == 2
    assert isinstance(backend.backend, Limited)
    assert backend.backend.limiter.places == 7
    assert inner(backend) == OpenAI(
        "m", "http://gpu.lab:8000/v1", key_variable="LAB_KEY", price=Price(1.0, 2.0), context=4096,
        clocks=Clocks(idle=5.0), extra={"reasoning_effort": "low"}, name="lab",
    )  # fmt: skip
    short, ollama = inner(made.model("short")), inner(made.model("ollama"))
    assert (short.base_url, short.model, short.name) == ("http://h/v1", "m/x", "short")
    assert (ollama.base_url, ollama.model, ollama.local) == ("http://localhost:11434/v1", "qwen3:8b", True)


def test_gguf_models(tmp_path: Path) -> None:
    """A model of the pool goes by its name, a file of one's own by its path from the configuration's folder."""
    own_file = {"path": "models/mine.gguf", "context": 512, "parallel": 2, "threads": 1, "price": {"second": 0.5}}
    made = config(tmp_path, models={"pool": "llama:smollm2-135m", "own": own_file, "short": "llama:./x.gguf"})
    assert made.model("pool") == Llama("smollm2-135m", "pool")
    file = str(tmp_path / "models" / "mine.gguf")
    assert made.model("own") == Llama(file, "own", 512, 2, 1, price=Price(second=0.5))
    assert made.model("short") == Llama(str(tmp_path / "x.gguf"), "short")


def test_who_can_not_be_held_is_told_of_in_its_file(tmp_path: Path) -> None:
    """A fault of the configuration, with the line where it is: not one of the command."""
    path = tmp_path / "motet.toml"
    path.write_text('[agents.judge]\nmodel = "calculator"\nheld = true\n')
    with pytest.raises(ConfigError, match=r"motet.toml:3: agents.judge.held: .* calculator takes no grammar"):
        load(path).agent("judge")


def test_a_key_file_is_beside_the_configuration(tmp_path: Path) -> None:
    """`api_key_file` is read from the configuration's folder."""
    (tmp_path / "key").write_text("sk-0123456789abcdef\n")
    path = tmp_path / "motet.toml"
    path.write_text('[models.m]\nbackend = "openai"\nmodel = "x"\napi_key_file = "key"')
    key = inner(load(path).model("m")).api_key
    assert key is not None
    assert key.reveal() == "sk-0123456789abcdef"


def test_fallbacks_and_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fallbacks stand behind the model in order, and a cache around all of it."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    made = config(
        models={
            "x": {"backend": "ollama", "model": "q", "fallbacks": ["y", "a", "z"], "cache": "memory"},
            "y": "ollama:r",
            "z": {"backend": "ollama", "model": "q", "cache": "journal"},
        }
    )
    x = made.model("x")
    assert isinstance(x, Cached)
    assert isinstance(x.store, Memory)
    assert isinstance(x.backend, Fallback)
    assert [backend.name for backend in x.backend.backends] == ["x", "y", "a", "z"]
    assert x.backend.backends[1] is made.model("y")
    assert x.name == "x"
    z = made.model("z")
    assert isinstance(z, Journaled)
    assert (z.journal.path, x.backend.backends[3]) == (default_path(), z.backend), "its calls are written down once"
    assert not default_path().exists(), "nothing is opened before it is used"
    document = {"models": {"z": {"backend": "ollama", "model": "q", "cache": "journal"}}}
    assert not isinstance(from_document(document, keyless=True).model("z"), Journaled)


def test_the_old_word_for_a_cache_in_a_file() -> None:
    """What is to be written instead is said."""
    with pytest.raises(ConfigError, match=r"models\.z\.cache: should be one of off, memory, journal"):
        config(models={"z": {"backend": "ollama", "model": "q", "cache": "sqlite"}})


def test_a_model_is_known_by_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What decides who answers makes it another model, also through a variable or a fallback; the rest does not."""

    def told(**more: object) -> str:
        (found,) = {config(models={"z": {**base, **more}, "y": y}).identities(["z"])["z"] for _ in range(2)}
        return found

    base: dict[str, object] = {"base_url": "${HOST}/v1", "model": "q", "fallbacks": ["y"]}
    y = "ollama:r"
    monkeypatch.setenv("HOST", "http://one")
    first = told()
    assert told(retries=7, price={"input": 1}, cache="journal", context=9) == first
    assert len({first, told(model="p"), told(extra={"top_k": 1}), told(fallbacks=[]), told(backend="ollama")}) == 5
    y = "ollama:s"
    assert told() != first
    y = "ollama:r"
    monkeypatch.setenv("HOST", "http://other")
    assert told() != first
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "motet.toml").write_text(
            'models.mine = "llama:./my.gguf"\nmodels.pool = "llama:smollm2-135m"'
        )
    one, other = [load(tmp_path / name / "motet.toml").identities(["mine", "pool"]) for name in "ab"]
    assert (one["mine"] == other["mine"], one["pool"] == other["pool"]) == (False, True)


async def test_the_journal_as_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model is asked once, also by another configuration; another one of the same name is asked anew."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    async with Counting() as server:

        async def calls(model: str) -> int:
            table = {"base_url": server.url, "model": model, "cache": "journal"}
            return (await perform(config(models={"z": table}).agent("z"), "2 + 2?")).usage.calls

        assert [await calls(model) for model in ("q", "q", "r", "q")] == [1, 0, 1, 0]
        assert server.calls == 2


async def test_a_journal_that_cant_be_used_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged one is left as it is, told of in a warning, and the model is called."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    default_path().write_text("in the way")
    async with Counting() as server:
        made = config(models={"z": {"base_url": server.url, "model": "q", "cache": "journal"}}).agent("z")
        with pytest.warns(RuntimeWarning, match="a reply is not cached: .* is no journal of motet's"):
            assert (await perform(made, "2 + 2?")).text == "4"


class Counting:
    """An endpoint that says 4, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    async def __aenter__(self) -> Counting:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await session.aclose()
        await self._runner.cleanup()

    async def _answer(self, _: web.Request) -> web.Response:
        self.calls += 1
        said = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}
        return web.json_response({"choices": [said], "usage": {"prompt_tokens": 5, "completion_tokens": 1}})


async def test_the_calculator_answers() -> None:
    """The built-in calculator, built from the built-in file, answers."""
    result = await perform(load().agent("calculator"), "What is 17 * 23?")
    assert result.text == "391"


# ---- one's own code


async def test_own_modules_beside_the_file(tmp_path: Path, own: str) -> None:
    """Functions, tools and compositions of one's own are found in the folder of the configuration."""
    path = tmp_path / "motet.toml"
    path.write_text(f"""
        models.loud = "function:{own}:shout"
        [agents.geometer]
        model = "loud"
        tools = ["{own}:area", "{own}:named"]
        [mixtures.echo]
        composition = "{own}:Echo"
        member = "loud"
    """)
    made = load(path)
    assert isinstance(made.model("loud"), Function)
    assert (await perform(made.agent("echo"), "hello")).text == "HELLO"
    geometer = made.agent("geometer")
    assert isinstance(geometer, ModelAgent)
    assert [tool.name for tool in geometer.tools] == ["area", "rectangle"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('models.f = "function:no_such_module:f"', "models.f: importing no_such_module failed: ModuleNotFoundError"),
        ('models.f = "function:{own}:nothing"', "has no nothing"),
        ('models.f = "function:{own}:__name__"', "is no function"),
        (
            'agents.f = {{ model = "calculator", tools = ["{own}:untyped"] }}',
            r"agents.f.tools\[0\]: untyped: parameter 'x' has no",
        ),
        ('agents.f = {{ model = "calculator", tools = ["{own}:gone"] }}', r"agents.f.tools\[0\]: own_\d+ has no gone"),
        ('mixtures.f = {{ composition = "{own}:Plain" }}', "mixtures.f.composition: .*Plain is no dataclass"),
        ('mixtures.f = {{ composition = "{own}:Echo" }}', "mixtures.f: member is missing"),
    ],
)
def test_own_code_that_fails(tmp_path: Path, own: str, text: str, said: str) -> None:
    """What can't be imported or used is told with file, line and key."""
    path = tmp_path / "motet.toml"
    path.write_text(text.format(own=own))
    with pytest.raises(ConfigError, match=said) as caught:
        load(path).agent("f")
    assert caught.value.where.endswith("motet.toml:1")


# ---- budgets


def test_the_budget_is_a_fresh_purse() -> None:
    """`[budget]` gives the limits; where it does not say how many dollars, it is one."""
    made = config(budget={"calls": 5, "usd": 2.5})
    first, second = made.budget(), made.budget()
    assert (first.calls, first.tokens, first.usd, first.seconds) == (5, None, 2.5, None)
    assert first is not second
    assert config().budget().usd == 1.0


# ---- parts of it


def test_a_subset_is_all_that_one_name_needs(tmp_path: Path) -> None:
    """The subset holds what the name reaches and nothing else, is JSON, and builds the same agent."""
    path = tmp_path / "motet.toml"
    path.write_text("""
        [models]
        sums = "function:motet.backends.calculator:calculate"
        spare = { backend = "ollama", model = "s" }
        main = { backend = "ollama", model = "m", fallbacks = ["spare"] }
        other = "ollama:o"
        [agents.base]
        model = "sums"
        temperature = 0
        [agents.x]
        extends = "base"
        model = "main"
        [mixtures.inner]
        composition = "vote"
        agents = ["x", "sums"]
        [mixtures.outer]
        composition = "moa"
        proposers = ["inner", "x"]
        aggregate = { kind = "synthesize", agent = "x" }
    """)
    made = load(path)
    subset = json.loads(json.dumps(made.subset("outer")))
    assert subset["default"] == "outer"
    assert {kind: set(subset[kind]) for kind in ("models", "agents", "mixtures")} == {
        "models": {"sums", "spare", "main"},
        "agents": {"x"},
        "mixtures": {"inner", "outer"},
    }
    path.write_text("")
    again = from_document(subset)
    assert again.agent() == made.agent("outer")
    assert again.subset() == subset


def test_a_committee_takes_over_the_parts_of_the_members() -> None:
    """Members are replaced; a former one that had another part leaves it to the new; who was no member stays."""
    made = config(
        agents={name: {"model": "a"} for name in ("p", "q", "r", "judge")},
        mixtures={
            "moa": {
                "composition": "moa",
                "proposers": ["p", "q"],
                "aggregate": {"kind": "synthesize", "agent": "p"},
                "layers": 1,
            },
            "judged": {
                "composition": "vote",
                "agents": ["p", "q"],
                "aggregate": {"kind": "best", "score": {"kind": "judge", "agent": "judge"}},
            },
            "cascade": {
                "composition": "cascade",
                "agents": ["p", "q"],
                "score": {"kind": "agreement", "agents": ["p", "q"]},
            },
        },
        default="judged",
    )

    def table(mixture: str, *agents: str) -> Document:
        changed = made.committee(agents, mixture)
        assert changed.agent().name == changed.default
        tables: Document = changed.subset()["mixtures"][changed.default]  # type: ignore[index]
        return tables

    moa = table("moa", "r", "q")
    assert (moa["proposers"], moa["aggregate"]["agent"], moa["layers"]) == (["r", "q"], "r", 1)
    judged = table("", "r", "r")
    assert (judged["agents"], judged["aggregate"]["score"]["agent"]) == (["r", "r"], "judge")
    assert table("cascade", "r", "judge")["score"]["agents"] == ["r", "judge"]
    assert table("vote", "p", "moa") == {"composition": "vote", "agents": ["p", "moa"]}
    assert table("self-moa", "q")["agent"] == "q"
    assert made.subset("moa")["mixtures"]["moa"]["proposers"] == ["p", "q"]  # type: ignore[index]


def test_committees_that_make_no_sense() -> None:
    """Unknown names, too many members and a committee inside itself are told."""
    made = config(mixtures=mixture("vote", agents=["a"]))
    with pytest.raises(UsageError, match="there is no agent, mixture or model 'd'"):
        made.committee(["a", "d"], "m")
    with pytest.raises(UsageError, match="there is no mixture 'vot': did you mean vote"):
        made.committee(["a"], "vot")
    with pytest.raises(UsageError, match="self_moa is made of one agent, so 2 can't take part"):
        made.committee(["a", "b"], "self_moa")
    with pytest.raises(UsageError, match="name at least one"):
        made.committee([], "m")
    with pytest.raises(ConfigError, match="a mixture can't contain itself: m → m"):
        made.committee(["a", "m"], "m")
    with pytest.raises(ConfigError, match="aggregate is missing"):
        made.committee(["a", "b"], "moa")
