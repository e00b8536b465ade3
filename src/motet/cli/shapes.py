"""The JSON that `--json` prints, one type a verb: `docs/reference/json.md` describes them, and a test compares.

Keys are only ever added. Seconds have three decimals, dollars eight; what there is none of is null or empty, never
left out.
"""

from __future__ import annotations

import msgspec

from motet.cli.codes import code_of, code_of_result, kind_of
from motet.errors import ConfigError, Failure
from motet.estimate import Estimate
from motet.message import Usage
from motet.outcome import Outcome, Result


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer, or nothing else that was asked for. `where` and `key` are those of a ConfigError."""

    kind: str
    message: str
    exit_code: int
    where: str = ""
    key: str = ""

    @classmethod
    def of(cls, error: BaseException, exit_code: int | None = None) -> Problem:
        """What a user is told of an error."""
        where, key = (error.where, error.key) if isinstance(error, ConfigError) else ("", "")
        code = code_of(error) if exit_code is None else exit_code
        return cls(kind=kind_of(error), message=str(error), exit_code=code, where=where, key=key)


class Failed(msgspec.Struct, frozen=True):
    """What any verb prints when it fails, but for `ask` once the run had begun."""

    error: Problem


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What was used; see `motet.Usage`."""

    calls: int
    input: int
    cached: int
    output: int
    reasoning: int
    tokens: int
    usd: float
    seconds: float
    saved_calls: int
    saved_usd: float

    @classmethod
    def of(cls, usage: Usage) -> Spent:
        """The same, rounded."""
        return cls(
            calls=usage.calls,
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            reasoning=usage.reasoning,
            tokens=usage.tokens,
            usd=dollars(usage.usd),
            seconds=seconds(usage.seconds),
            saved_calls=usage.saved_calls,
            saved_usd=dollars(usage.saved_usd),
        )


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One member's reply to one ask. `state`: ok, abstained, cut, empty or failed, and then `text` says why."""

    agent: str
    state: str
    text: str
    seconds: float
    path: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`motet ask --json` and `motet replay --json`. `answer` is null if there is none, and then `error` says why."""

    answer: str | None
    outcome: Outcome
    mixture: str
    replies: list[Member]
    usage: Spent
    by_agent: dict[str, Spent]
    seconds: float
    stopped: str
    run_id: str
    warnings: list[str]
    error: Problem | None

    @classmethod
    def of(cls, result: Result) -> Answer:
        """What a run gave."""
        return cls(
            answer=result.reply.text if result.reply is not None else None,
            outcome=result.outcome,
            mixture=result.agent,
            replies=[
                Member(
                    agent=each.agent,
                    state=each.state,
                    text=each.text,
                    seconds=seconds(each.seconds),
                    path=each.path,
                )
                for each in result.replies
            ],
            usage=Spent.of(result.usage),
            by_agent={name: Spent.of(usage) for name, usage in result.by_agent.items()},
            seconds=seconds(result.seconds),
            stopped=result.stopped,
            run_id=result.run_id,
            warnings=result.warnings,
            error=Problem.of(result.error, code_of_result(result)) if result.error is not None else None,
        )


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """`motet ask --estimate --json`: the most that the question can take."""

    mixture: str
    calls: int
    depth: int
    input: int
    output: int
    usd: float
    unpriced: tuple[str, ...]
    cap_usd: float | None

    @classmethod
    def of(cls, mixture: str, estimate: Estimate, cap_usd: float | None) -> Price:
        """An estimate, beside the cap that applies."""
        return cls(
            mixture=mixture,
            calls=estimate.calls,
            depth=estimate.depth,
            input=estimate.input,
            output=estimate.output,
            usd=dollars(estimate.usd),
            unpriced=estimate.unpriced,
            cap_usd=cap_usd,
        )


class PoolModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the embedded pool, as it stands on this machine. Sizes are bytes; times are ISO 8601 or null."""

    name: str
    title: str
    license: str
    license_url: str
    must_accept: bool
    accepted: str | None
    size: int
    download_size: int
    unfinished: int
    path: str | None
    verified: str | None


class ConfiguredModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the configuration. `needs` are environment variables that are not set, and models to fetch."""

    name: str
    backend: str
    model: str
    where: str
    needs: list[str]


class Models(msgspec.Struct, frozen=True):
    """`motet models list --json`."""

    pool: list[PoolModel]
    configured: list[ConfiguredModel]


class Fetched(msgspec.Struct, frozen=True):
    """`motet models fetch --json` and `motet models verify --json`: where each model lies."""

    models: dict[str, str]


class Removed(msgspec.Struct, frozen=True):
    """`motet models remove --json`: bytes that each model freed."""

    freed: dict[str, int]


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """A single agent of the configuration."""

    name: str
    model: str
    style: str
    about: str
    where: str
    needs: list[str]


class Agents(msgspec.Struct, frozen=True):
    """`motet agents --json`."""

    agents: list[Agent]


class Mixture(msgspec.Struct, frozen=True, kw_only=True):
    """A mixture: its composition, what that is also called, its members, and the most a short question takes."""

    name: str
    default: bool
    composition: str
    also_known_as: list[str]
    about: str
    members: list[str]
    calls: int | None
    depth: int | None
    usd: float | None
    needs: list[str]
    where: str


class Mixtures(msgspec.Struct, frozen=True):
    """`motet mixtures --json`."""

    mixtures: list[Mixture]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A model that `doctor` tried. `state`: ok, failed, or unused (it failed, and nothing of yours needs it)."""

    name: str
    state: str
    kind: str
    text: str
    todo: str
    seconds: float


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """`motet doctor --json`. Bytes are free on the disk of the cache."""

    ok: bool
    motet: str
    python: str
    platform: str
    packages: dict[str, str | None]
    config: str
    cache: str
    runs: str
    free_bytes: int
    models: list[Checked]


class Written(msgspec.Struct, frozen=True):
    """`motet init --json`."""

    path: str


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """`motet config explain --json`. `value` is null where a key is not set; `where` is `file:line`."""

    key: str
    value: object
    where: str
    about: str


class Sections(msgspec.Struct, frozen=True):
    """`motet config explain --json` without a key: what each section of the configuration is."""

    sections: dict[str, str]


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A kept run. What an interrupted one does not know is null."""

    run_id: str
    date: str
    mixture: str
    question: str
    outcome: str | None
    answer: str | None
    calls: int | None
    usd: float | None
    seconds: float | None


class Runs(msgspec.Struct, frozen=True):
    """`motet trace list --json`, newest first."""

    runs: list[Kept]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One ask of a run; `heard` are the paths of those whose words it was given or was made from."""

    path: str
    agent: str
    state: str
    text: str
    seconds: float
    heard: list[str]


class Run(msgspec.Struct, frozen=True):
    """`motet trace show --json`."""

    run: Kept
    asks: list[Ask]


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """`motet trace export --json`: `text` is what is printed without `--json`."""

    run_id: str
    format: str
    text: str


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """`motet journal stats --json`. `states` says how calls ended; times are ISO 8601 or null."""

    path: str
    bytes: int
    schema: int
    runs: int
    records: int
    calls: int
    states: dict[str, int]
    unfinished: int
    usage: Spent
    first: str | None
    last: str | None


class Vacuumed(msgspec.Struct, frozen=True, kw_only=True):
    """`motet journal vacuum --json`: bytes before and after."""

    path: str
    before: int
    after: int


class Dumped(msgspec.Struct, frozen=True, kw_only=True):
    """`motet journal export FILE --json`."""

    path: str
    lines: int


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """A run of bench: how many answers are there of how many, and what was paid."""

    run: str
    date: str
    suite: str
    tasks: int
    arms: list[str]
    answered: int
    expected: int
    usd: float


class Benches(msgspec.Struct, frozen=True):
    """`motet bench list --json`, in the order in which they were made."""

    runs: list[Bench]


class BenchRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """`motet bench rm --json`: how many answers and tasks were removed."""

    run: str
    records: int


class BenchExported(msgspec.Struct, frozen=True, kw_only=True):
    """`motet bench export --json`: the files that were written, and how many answers they hold."""

    run: str
    files: list[str]
    answers: int


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """`motet journal prune --json`: how many runs, results of theirs, and calls were deleted."""

    path: str
    runs: int
    records: int
    calls: int


def seconds(value: float) -> float:
    """Rounded to milliseconds."""
    return round(value, 3)


def dollars(value: float) -> float:
    """Rounded to what a single token of the cheapest model costs."""
    return round(value, 8)


Missing = Failure
"""An entry of `outcome.missing`."""
