"""Loading a configuration: where it is found, what applies, and what is said when it is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from motet.errors import ConfigError, UsageError
from motet.run import Agent
from motet.spec import Config, from_document, load
from motet.spec.registry import variants

Write = Callable[..., Path]
SUMS = 'sums = "function:motet.backends.calculator:calculate"'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with no variable that names a configuration or a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("MOTET_CONFIG", "OPENAI_API_KEY", "GROQ_API_KEY", "HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file below the working directory."""

    def writing(text: str | bytes, name: str = "motet.toml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return writing


def wrong(load_it: Callable[[], Config] = load) -> str:
    """The error that loading gives."""
    with pytest.raises(ConfigError) as caught:
        load_it()
    return str(caught.value)


# ---- finding


def test_without_a_file_there_is_the_built_in_one() -> None:
    """The built-in configuration has the models, agents and mixtures that the manual promises, and a default."""
    config = load()
    assert config.path == "built-in"
    assert set(config.models) == {"smollm2-135m", "gemma3-270m", "calculator"}
    assert set(config.agents) >= {"smollm2-chat", "smollm2-few-shot", "gemma3-few-shot", "calculator"}
    assert set(config.agents) >= {"smollm2-chat", "smollm2-few-shot", "gemma3-few-shot", "calculator"}
    methods = {table["composition"] for table in config.document["mixtures"].values()}
    assert methods == set(variants(Agent)) - {"public_agent"}, "one for each method, but what takes tables of one's own"
    assert config.default in config.mixtures
    assert config.where("vote").startswith("built-in:")


def test_lookup_order(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A given path comes first, then MOTET_CONFIG, then the closest folder; toml before yaml before pyproject."""

    def default() -> str:
        return load().default

    write('[tool.motet]\ndefault = "debate"', "pyproject.toml")
    assert default() == "debate"
    write("default: council", "motet.yaml")
    assert default() == "council"
    write('default = "moa"')
    assert default() == "moa"
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert default() == "moa"
    write('[tool.other]\nx = "motet"', "a/pyproject.toml")  # not ours, so it is passed by
    assert default() == "moa"
    write('[tool.motet]\ndefault = "vote"', "a/pyproject.toml")
    assert default() == "vote"
    monkeypatch.setenv("MOTET_CONFIG", str(write('default = "cascade"', "other.toml")))
    assert default() == "cascade"
    assert load(write('default = "self-moa"', "given.toml")).default == "self-moa"


def test_a_file_needs_only_what_it_changes(write: Write) -> None:
    """Own names come first; a built-in entry is replaced, or continued where it extends its own name."""
    write(f"""
        [models]
        {SUMS}
        [agents.smollm2-chat]
        extends = "smollm2-chat"
        temperature = 0
        [mixtures.vote]
        composition = "vote"
        agents = ["sums"]
    """)
    config = load()
    assert config.mixtures[0] == "vote"
    assert "debate" in config.mixtures
    document = config.document
    assert document["mixtures"]["vote"] == {"composition": "vote", "agents": ["sums"]}  # type: ignore[index]
    chat = document["agents"]["smollm2-chat"]  # type: ignore[index]
    assert chat["temperature"] == 0
    assert chat["model"] == "smollm2-135m"


def test_an_own_name_hides_a_built_in_one_of_another_kind(write: Write) -> None:
    """A model that is called as a built-in mixture is that model, also as an agent."""
    write('[models]\nvote = "function:motet.backends.calculator:calculate"')
    config = load()
    assert "vote" not in config.mixtures
    assert type(config.agent("vote")).__name__ == "ModelAgent"


def test_a_bom_and_windows_lines_are_read(write: Write) -> None:
    """A byte order mark and carriage returns do not disturb, nor shift lines."""
    write(b"\xef\xbb\xbf[agents.a]\r\n\r\nmodle = 'x'\r\n")
    assert "motet.toml:3: agents.a.modle" in wrong()


# ---- what is wrong with a file as a file


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("motet.toml", "a = 1\nb = \n", "motet.toml:2: Invalid value"),
        ("motet.toml", "a = 1\n[b\n", "motet.toml:2: Expected ']' at the end of a table declaration"),
        ("motet.toml", "a = [1,\n\n", "motet.toml:2: "),
        ("motet.toml", "[a]\n[b]\n[a]\n", "motet.toml:3: Cannot declare"),
        ("motet.toml", b"a = 1\n# \xff\n", "motet.toml:2: this line is not UTF-8 text"),
        ("motet.toml", "a = " + "[" * 5000, "motet.toml: tables or arrays are nested too deep"),
        ("motet.toml", "[budget]\nusd = inf", "motet.toml:2: budget.usd: inf is no number to work with"),
        ("motet.toml", "[agents.a]\nabout = 2026-01-01", "motet.toml:2: agents.a.about: a date has no place here"),
        ("motet.yaml", "a: [1\nb: 2\n", "motet.yaml:2: "),
        ("motet.yaml", "a: !!python/object:os.system x\n", "motet.yaml:1: could not determine a constructor"),
        ("motet.yaml", "- a\n", "motet.yaml:1: the document is no mapping"),
        ("motet.yaml", "models:\n  1: x\n", "motet.yaml:1: models: the key 1 is no text"),
        ("motet.yaml", "agents:\n  a: {}\n  a: {}\n", "motet.yaml:3: agents.a: the key stands twice, first in line 2"),
        ("pyproject.toml", "[tool.motet]\n[tool.motet\n", "pyproject.toml:2: "),
        ("pyproject.toml", "[tool.motet]\nx = 1\n", "pyproject.toml:2: x: unknown section"),
    ],
)
def test_a_file_that_is_none(write: Write, name: str, text: str | bytes, said: str) -> None:
    """Syntax errors and what JSON can't hold are told with file and line."""
    write(text, name)
    assert said in wrong()


def test_a_file_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing file, a folder, and a MOTET_CONFIG that leads nowhere are told by name."""
    assert "nowhere.toml: can't be read: No such file" in wrong(lambda: load("nowhere.toml"))
    assert "can't be read: Is a directory" in wrong(lambda: load(tmp_path))
    monkeypatch.setenv("MOTET_CONFIG", "gone.toml")
    assert "gone.toml: can't be read (named by MOTET_CONFIG)" in wrong()


def test_a_pyproject_without_our_section(write: Write) -> None:
    """Asked for by name, a pyproject.toml without a [tool.motet] is an error."""
    path = write("[project]\nname = 'x'", "pyproject.toml")
    assert "pyproject.toml: has no [tool.motet]" in wrong(lambda: load(path))


# ---- what is wrong in it


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agent.a]", "motet.toml:1: agent: unknown section: did you mean agents?"),
        ("models = 1", "motet.toml:1: models: should be a table of tables"),
        ("[models]\nm = 1", "motet.toml:2: models.m: should be a table"),
        ('[models]\nm = "gpt-5"', 'motet.toml:2: models.m: should be a table, or text as "openai:gpt-5-mini"'),
        (
            '[models]\nm = "opnai:x"',
            "motet.toml:2: models.m.backend: there is no backend 'opnai': did you mean openai?",
        ),
        ('[models]\nm = "http://h/v1"', 'motet.toml:2: models.m: should end in "#" and the model\'s name'),
        ("[models.m]\ncontext = 1", "motet.toml:1: models.m: should say its backend; there are: llama, function"),
        ('[models.m]\nbackend = "openai"', "motet.toml:1: models.m: model is missing"),
        ('[models.m]\nbackend = "compatible"\nmodel = "x"', "motet.toml:1: models.m: base_url is missing"),
        ('[models]\nm = "compatible:x"', "motet.toml:2: models.m: base_url is missing"),
        ('[models.m]\npath = "a.gguf"\nmodel = "x"', "motet.toml:1: models.m: give either model, a name of the pool"),
        ('[models.m]\npath = "a.gguf"\ncontext = 0', "motet.toml:3: models.m.context: should be at least 1, not 0"),
        ('[models]\nm.path = "a.gguf"\nm.price.input = -1', "models.m: a price can't be negative"),
        ('[models.m]\nbackend = "vllm"\nmodel = "x"\ntimeouts.idle = 0', "motet.toml:4: models.m.timeouts: idle: 0"),
        ('[models.m]\nfunction = "os"', "motet.toml:2: models.m.function: should be package.module:name"),
        (
            '[models.m]\npath = "a.gguf"\nfallbacks = ["n"]',
            "motet.toml:3: models.m.fallbacks[0]: there is no model 'n'",
        ),
        (
            '[models.m]\npath = "a.gguf"\nfallbacks = ["m"]',
            "motet.toml:1: models.m: a model can't fall back on itself: m → m",
        ),
        ("[agents.a]", "motet.toml:1: agents.a: model is missing"),
        (
            '[agents.a]\nmodel = "calculatr"',
            "motet.toml:2: agents.a.model: there is no model 'calculatr': did you mean calc",
        ),
        (
            '[agents.a]\nmodel = "calculator"\nstlye = 1',
            "motet.toml:3: agents.a.stlye: unknown key: did you mean style?",
        ),
        (
            '[agents.a]\nmodel = "calculator"\nmax_tokens = 1.5',
            "agents.a.max_tokens: should be a whole number, not a number",
        ),
        (
            '[agents.a]\nmodel = "calculator"\nlogprobs = true',
            "agents.a.logprobs: should be a whole number, not true or false",
        ),
        ('[agents.a]\nmodel = "calculator"\nstop = 1', "agents.a.stop: should be text or a list, not a whole number"),
        (
            '[agents.a]\nmodel = "calculator"\nfit = "shrten"',
            "should be one of drop, shorten, summarise, tournament: did you mean",
        ),
        (
            '[agents.a]\nmodel = "calculator"\nexamples = [{ question = "q" }]',
            "motet.toml:3: agents.a.examples[0]: answer is",
        ),
        (
            "[mixtures.x]\nagents = []",
            "motet.toml:1: mixtures.x: should say its composition: adaptive_vote, advisers",
        ),
        (
            '[mixtures.x]\ncomposition = "vot"',
            "motet.toml:2: mixtures.x.composition: there is no composition 'vot': did you",
        ),
        ('[mixtures.x]\ncomposition = "vote"', "motet.toml:1: mixtures.x: agents is missing"),
        ('[mixtures.x]\ncomposition = "moa"', "motet.toml:1: mixtures.x: proposers and aggregate are missing"),
        ('[mixtures.x]\ncomposition = "vote"\nname = "y"\nagents = ["calculator"]', "mixtures.x.name: unknown key"),
        ('[mixtures.x]\ncomposition = "vote"\nagents = "calculator"', "mixtures.x.agents: should be a list, not text"),
        (
            '[mixtures.x]\ncomposition = "vote"\nagents = ["x"]',
            "motet.toml:1: mixtures.x: a mixture can't contain itself: x → x",
        ),
        (
            '[mixtures.x]\ncomposition = "vote"\nagents = ["calc"]',
            "mixtures.x.agents[0]: there is no agent, mixture or model 'calc'",
        ),
        ('[mixtures.moa]\nextends = "moa"\naggregate = {}', "there is no"),
        (
            '[mixtures.x]\nextends = "vote"\naggregate = "synthesize"',
            "motet.toml:3: mixtures.x.aggregate: agent is missing",
        ),
        (
            '[mixtures.x]\nextends = "vote"\naggregate.kind = "voting"',
            "mixtures.x.aggregate.kind: there is no aggregator 'voting'",
        ),
        (
            '[mixtures.x]\nextends = "debate"\ntopology = "rings"',
            "mixtures.x.topology: there is no topology 'rings': did you mean ring?",
        ),
        (
            '[mixtures.x]\nextends = "vote"\naggregate.weights.calculator = "4"',
            "weights.calculator: should be a number, not text",
        ),
        (
            '[mixtures.x]\nextends = "vot"',
            "motet.toml:2: mixtures.x.extends: there is no mixture 'vot': did you mean vote?",
        ),
        ("[mixtures.x]\nextends = 1", "motet.toml:2: mixtures.x.extends: should be the name of another mixture"),
        ('[agents]\na.extends = "b"\nb.extends = "a"', "agents.b.extends: nothing can extend itself: a → b → a"),
        (
            '[agents.x]\nmodel = "calculator"\n[mixtures.x]\nextends = "vote"',
            "mixtures.x: an agent has this name already (motet.toml:1)",
        ),
        ('default = "votes"', "motet.toml:1: default: there is no agent, mixture or model 'votes': did you mean vote?"),
        ("default = 1", "motet.toml:1: default: should be a name"),
        ("[budget]\nusd = -1", "motet.toml:2: budget.usd: should be at least 0, not -1"),
        ("[budget]\nmoney = 1", "motet.toml:2: budget.money: unknown key; there are: calls, tokens, usd, seconds"),
        ("budget = 1", "motet.toml:1: budget: should be a table, not a whole number"),
    ],
)
def test_what_is_wrong_is_told(write: Write, text: str, said: str) -> None:
    """Each mistake is told with file, line and key, and what would be right where that can be guessed."""
    if "aggregate = {}" in text:
        text = text.replace("aggregate = {}", 'aggregate = { kind = "no" }')
    write(text)
    assert said in wrong()


def test_all_mistakes_at_once_in_the_order_of_the_file(write: Write) -> None:
    """One reading tells everything, and `where` and `key` are those of the first."""
    write('[agents.a]\nmodel = "x"\ntop_p = 2\n[mixtures.b]\ncomposition = "c"\n[budget]\nusd = "1"')
    with pytest.raises(ConfigError) as caught:
        load()
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "agents.a.model", "agents.a.top_p", "mixtures.b.composition", "budget.usd",
    ]  # fmt: skip
    assert (caught.value.where, caught.value.key) == ("motet.toml:2", "agents.a.model")


def test_an_inherited_mistake_is_told_where_it_stands(write: Write) -> None:
    """A wrong value that came by `extends` is told with the line it was written in."""
    write('[agents.a]\nmodel = "calculator"\ntop_p = 3\n\n[agents.b]\nextends = "a"\n')
    assert "motet.toml:3: agents.b.top_p" in wrong()


def test_yaml_mistakes_have_lines_too(write: Write) -> None:
    """YAML is the same document, with the same errors."""
    write("agents:\n  a:\n    model: calculator\n    style: chatty\n", "motet.yaml")
    assert "motet.yaml:4: agents.a.style: should be one of chat, completion: did you mean chat?" in wrong()


def test_pyproject_keys_have_lines_too(write: Write) -> None:
    """In a pyproject.toml the line is that of the file, the key that of the section."""
    write("[project]\nname = 'x'\n\n[tool.motet.agents.a]\nmodle = 1\n", "pyproject.toml")
    assert "pyproject.toml:5: agents.a.modle: unknown key: did you mean model?" in wrong()


def test_yaml_without_pyyaml_says_what_to_install(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pyyaml is missing, the error says how to get it."""
    write("default: vote", "motet.yaml")
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert "pip install 'motet[yaml]'" in wrong()


# ---- keys and variables


def test_a_key_in_the_file_is_refused_and_not_repeated(write: Write) -> None:
    """A key, or a password in a URL, that is written down is refused without being shown."""
    write("""
        [models]
        a = { backend = "openai", model = "m", api_key = "sk-SECRET" }
        b = { base_url = "https://user:SECRET@host/v1", model = "m" }
        c = "SECRET"
        d = { backend = "openai", model = "m", apikey = "SECRET", api_key = ["SECRET"] }
        e = { backend = "openai", model = "m", api_key = "${KEY:-SECRET}" }
    """)
    said = wrong()
    assert "SECRET" not in said.replace("${NAME}", "")
    assert len(said.splitlines()) >= 6


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ('extra = { token = "SECRET" }', "extra.token"),
        ('extra = { access_token = "x${KEY}SECRET" }', "extra.access_token"),
        ('extra = { a = { b = [{ "X-Api-Key" = "SECRET" }] } }', "extra.a.b[0].X-Api-Key"),
        ('extra = { passwords = ["SECRET"] }', "extra.passwords[0]"),
        ('extra = { headers = { Authorization = "Bearer SECRET" } }', "extra.headers.Authorization"),
        ('extra = { bearer = "SECRET", client_secret = "${KEY}" }', "extra.bearer"),
        ('base_url = "https://h/v1?a=1&key=SECRET"', "base_url"),
    ],
)
def test_a_secret_under_any_name_is_refused(write: Write, written: str, key: str) -> None:
    """What stands under the name of a secret is a variable, wherever it stands in a model."""
    write(f'[models.m]\nbackend = "openai"\nmodel = "m"\n{written}')
    said = wrong()
    assert said.startswith(f"motet.toml:4: models.m.{key}: a secret is not written down here")
    assert "SECRET" not in said


def test_what_only_looks_like_a_secret_is_taken(write: Write) -> None:
    """Variables, with their scheme; numbers of tokens; file names; words that contain one of the others."""
    write("""
        [models.m]
        base_url = "https://h/v1?key=${KEY}&api-version=1"
        model = "m"
        api_key_file = "key.txt"
        [models.m.extra]
        authorization = "Bearer ${KEY}"
        secret = "${KEY}"
        tokenizer = "bpe"
        stop_tokens = ["a"]
        max_tokens = 3
        keywords = ["a"]
        prompt_cache_key = "a"
        schema = { properties = { key = { type = "string" } } }
    """)
    assert "m" in load().models


@pytest.mark.parametrize("field", ["n", "stream", "messages", "model", "prompt"])
def test_extra_fields_that_are_not_its_own(write: Write, field: str) -> None:
    """What every call sets itself is refused in `extra`; more choices are more draws."""
    write(f'[models.m]\nbackend = "openai"\nmodel = "m"\nextra = {{ {field} = 2 }}')
    assert ("a draw is a call" if field == "n" else f"extra: {field} can't be set here") in wrong()


def test_a_syntax_error_does_not_repeat_the_line(write: Write) -> None:
    """What can't be parsed is not quoted, in TOML as in YAML."""
    write('key = "sk-SECRET\n')
    assert "SECRET" not in wrong()
    assert "SECRET" not in wrong(lambda: load(write("a: 'sk-SECRET\nb: [SECRET\n", "x.yaml")))


def test_a_missing_variable_is_told_only_when_its_model_is_used(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one key of two, what needs only that one works; the other says file, line, key and variable."""
    write(f"""[models]
{SUMS}
gpt = "openai:gpt-5-mini"
[models.lab]
base_url = "http://${{HOST}}:8000/v1"
model = "m"
api_key = "${{LAB_KEY}}"
[mixtures.both]
composition = "vote"
agents = ["gpt", "lab", "sums"]
[mixtures.one]
composition = "vote"
agents = ["gpt", "sums"]
""")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET-1234567890")
    config = load()
    assert config.missing_variables("one") == ()
    assert config.missing_variables("both") == ("HOST", "LAB_KEY")
    assert config.agent("one").name == "one"
    with pytest.raises(ConfigError) as caught:
        config.agent("both")
    assert [line.rpartition(" is not set: ")[0] for line in str(caught.value).splitlines()] == [
        "motet.toml:5: models.lab.base_url: the environment variable HOST",
        "motet.toml:7: models.lab.api_key: the environment variable LAB_KEY",
    ]
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(
        ConfigError, match=r"motet.toml:3: models.gpt: the environment variable OPENAI_API_KEY is not set"
    ):
        load().agent("one")


def test_secrets_stay_out_of_sight(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key is in the document, the subset, or the repr of anything that was built with one."""
    monkeypatch.setenv("LAB_KEY", "SECRET-0123456789")
    write("SECRET-from-a-file\n", "key.txt")
    write("""
        [models]
        a = { backend = "openai", model = "m", api_key = "${LAB_KEY}", fallbacks = ["b"], cache = "memory" }
        b = { backend = "groq", model = "m", api_key_file = "key.txt" }
    """)
    config = load()
    agent = config.agent("a")
    seen = [
        repr(agent),
        repr(config.model("b")),
        json.dumps(config.document),
        json.dumps(config.subset("a")),
        repr(config),
    ]
    assert "SECRET" not in "".join(seen)
    assert config.subset("a")["models"]["a"]["api_key"] == "${LAB_KEY}"  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "can't be read: No such file"), ("", "is empty"), (b"\xff\xfe", "it is no text")],
)
def test_a_key_file_that_is_none(write: Write, content: str | bytes | None, said: str) -> None:
    """A key file that is missing, empty or binary is told with the model's line."""
    if content is not None:
        write(content, "key")
    write('[models.m]\nbackend = "openai"\nmodel = "x"\napi_key_file = "key"')
    with pytest.raises(ConfigError, match=said) as caught:
        load().agent("m")
    assert caught.value.where == "motet.toml:1"


def test_without_keys_where_nothing_is_called() -> None:
    """For a replay, agents are built though every variable is missing."""
    document = {
        "default": "a",
        "models": {"a": {"base_url": "${BASE}", "model": "${MODEL}", "api_key": "${KEY}", "backend": "compatible"}},
    }
    with pytest.raises(ConfigError, match="BASE"):
        from_document(document).agent()
    assert from_document(document, keyless=True).agent().name == "a"


# ---- weight


def test_the_default_is_ready_at_once() -> None:
    """In a fresh process, loading the built-in file and building its vote takes under 0.3 s and loads no model."""
    code = (
        "import sys, time, motet\n"
        "began = time.process_time()\n"
        "from motet.spec import load\n"
        "load().agent('vote')\n"
        "took = time.process_time() - began\n"
        "heavy = {'pydantic', 'aiohttp', 'xllamacpp', 'yaml', 'genai_prices', 'sqlite3'} & set(sys.modules)\n"
        "print(took < 0.3 or took, sorted(heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split(maxsplit=1) == ["True", "[]\n"]


def test_only_methods_that_are_used_are_imported(tmp_path: Path) -> None:
    """Neither the built-in file nor one's own brings the built-in mixtures' methods, until one of them is asked."""
    file = tmp_path / "mine.toml"
    file.write_text('[mixtures.mine]\ncomposition = "vote"\nagents = ["relay", "calculator"]\n')
    code = (
        "import sys\n"
        "from motet.spec import load\n"
        "def there(): return [name for name in ('nsed', 'relay') if f'motet.compose.{name}' in sys.modules]\n"
        "load().agent('vote'); print(there())\n"
        "config = load(sys.argv[1]); print(there())\n"
        "config.agent('nsed'); print(there())\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines() == ["[]", "['relay']", "['nsed', 'relay']"]


def test_circles_through_what_is_built_in(tmp_path: Path) -> None:
    """A mixture that takes a built-in agent's name, and that what is built in contains, is refused where it is met."""
    file = tmp_path / "motet.toml"
    file.write_text('[mixtures.smollm2-chat]\ncomposition = "vote"\nagents = ["relay", "calculator"]\n')
    with pytest.raises(ConfigError, match="can't contain itself"):
        load(file)
    file.write_text('[mixtures.smollm2-chat]\ncomposition = "refine"\nagent = "gemma3-few-shot"\n')
    with pytest.raises(ConfigError, match="identifier"):
        load(file)
    file.write_text('[mixtures.calculator]\ncomposition = "vote"\nagents = ["gemma3-few-shot"]\n')
    config = load(file)
    assert config.agent("vote").agents[0].name == "calculator"  # type: ignore[attr-defined]


def test_names_that_are_not_there() -> None:
    """An unknown name is a mistake of who asks, with a guess at what was meant."""
    config = load()
    with pytest.raises(UsageError, match="did you mean debate"):
        config.agent("debates")
    with pytest.raises(UsageError, match="there is no model"):
        config.model("nope")
    with pytest.raises(UsageError, match="no agent is named, and there is no default"):
        from_document({"models": {"m": "ollama:x"}}).agent()
