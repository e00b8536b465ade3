"""Tasks of lm-evaluation-harness, from their YAML: the common subset, over data that is on this machine.

Read: `task`, `include`, `dataset_path` (`json`, `csv` or `parquet` with `dataset_kwargs.data_files`, or a folder with
one file a split), the splits, `output_type` (`multiple_choice`, `generate_until`), `doc_to_text`, `doc_to_target`,
`doc_to_choice` (columns, or Jinja templates, which are rendered in a sandbox), `description`, `num_fewshot` with
`fewshot_split` or `fewshot_config.samples`, `generation_kwargs.until`, `filter_list` (the first of several), and
`metric_list` (`exact_match` with its settings, `acc`, `acc_norm`). Anything that needs Python (`!function`,
`process_docs`) or a hub is refused with the reason.

A task over a hub's data is read through a file of three lines, beside the data saved as JSON lines:

    include: gsm8k.yaml
    dataset_path: json
    dataset_kwargs: {data_files: {train: train.jsonl, test: test.jsonl}}

Where it differs from the harness, since agents are asked in chat and give text:

* options are shown with letters and the answer is read from the reply; the harness compares likelihoods of the options.
  Where the options are the letters themselves, they stand in the text already and are not shown again;
* examples are the first of their split and turns of the conversation; the harness draws some and makes one text of all.
  Where examples and questions are of one split, the examples are not asked;
* space around an answer does not count in `exact_match`.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from motet.bench.ask import options_of
from motet.bench.filters import Filter
from motet.bench.rows import letter, rows_of
from motet.bench.task import Suite, Task
from motet.errors import UsageError
from motet.prompt import Example, label
from motet.tables.source import decoded

Doc = Mapping[str, object]

_REFUSED: Final = ("process_docs", "process_results", "custom_dataset", "use_prompt", "doc_to_image", "doc_to_audio")
_FILES: Final = ("json", "csv", "parquet")
_ENDINGS: Final = (".jsonl", ".json", ".csv", ".parquet")
_METRICS: Final = {"multiple_choice": ("acc", "acc_norm", "exact_match"), "generate_until": ("exact_match",)}
_LETTER: Final = "Give only the letter of the right option."


def lm_eval_suite(path: Path) -> Suite:
    """Read a task of lm-evaluation-harness.

    Args:
        path: its YAML file; files that it names are looked for beside it.

    Raises:
        UsageError: a library is not installed, the file is no such task, or it needs what is not read here.
    """
    return _Config(path, _document(path)).suite()


def _document(path: Path, depth: int = 0) -> dict[str, object]:
    try:
        import yaml
    except ImportError:
        raise UsageError(f"{path}: YAML needs PyYAML: pip install 'motet[bench]'") from None

    class Loader(yaml.SafeLoader):
        """YAML without Python in it."""

    def function(loader: yaml.SafeLoader, node: yaml.Node) -> object:
        name = getattr(node, "value", "")
        raise UsageError(
            f"{path}:{node.start_mark.line + 1}: the task needs the Python function {name}, and is not read"
        )

    Loader.add_constructor("!function", function)
    try:
        found = yaml.load(path.read_bytes(), Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else f"{path}"
        raise UsageError(f"{where}: no YAML: {getattr(error, 'problem', None) or error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path}: a task is a table of keys such as `doc_to_text` and `doc_to_target`")
    document = {str(key): value for key, value in found.items()}
    beneath = document.pop("include", None)
    if beneath is None:
        return document
    if depth > 8:
        raise UsageError(f"{path}: includes that include each other")
    other = path.parent / str(beneath)
    if not other.is_file():
        raise UsageError(f"{path}: includes {beneath}, and there is no such file beside it")
    return _document(other, depth + 1) | document


class _Config:
    """One task, as its keys say it."""

    def __init__(self, path: Path, document: Mapping[str, object]) -> None:
        self.path, self.document = path, document
        for key in _REFUSED:
            if document.get(key) is not None:
                raise self.wrong(f"`{key}` is not read here")
        name = document.get("task", path.stem)
        if not isinstance(name, str):
            raise self.wrong("this is a group of tasks; give one of them")
        self.name = name
        output = str(document.get("output_type", "generate_until"))
        if output not in _METRICS:
            raise self.wrong(f"the output_type {output!r} is not read: {' and '.join(_METRICS)} are")
        self.chosen = output == "multiple_choice"
        for key in ("doc_to_text", "doc_to_target"):
            if document.get(key) is None:
                raise self.wrong(f"`{key}` is missing")
        if self.chosen and document.get("doc_to_choice") is None:
            raise self.wrong("`doc_to_choice` is missing")
        self._templates: dict[str, Callable[[Doc], str]] = {}

    def wrong(self, text: str) -> UsageError:
        """A problem with this file, as an error."""
        return UsageError(f"{self.path}: {text}")

    def suite(self) -> Suite:
        """The task as a suite."""
        asked, split = self._docs("test_split", "validation_split", "training_split")
        examples, skipped = self._examples(split)
        tasks = tuple(self._tasks(asked[skipped:], skipped))
        if not tasks:
            raise self.wrong("an empty suite: no question is left to ask")
        described = str(self.document.get("description") or "").strip()
        scorer, options = self._scorer()
        return Suite(
            self.name,
            tasks,
            source=str(self.path),
            instructions="\n\n".join(filter(None, [described, _LETTER if self.chosen else ""])),
            scorer=scorer,
            options=options,
            examples=examples,
            filters=self._filters(),
        )

    # ---- data

    def _docs(self, *keys: str) -> tuple[list[Doc], str]:
        split = next((str(self.document[key]) for key in keys if self.document.get(key) is not None), "")
        if not split:
            raise self.wrong(f"none of {', '.join(keys)} is said")
        files = self._files
        if split not in files:
            raise self.wrong(
                f"there are no data for the split {split!r}: there are {', '.join(sorted(files)) or 'none'}"
            )
        return [doc for file in files[split] for doc in _read(file)], split

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """The files of each split."""
        dataset = str(self.document.get("dataset_path", ""))
        kwargs = self.document.get("dataset_kwargs")
        given = kwargs.get("data_files") if isinstance(kwargs, Mapping) else None
        if dataset in _FILES and given is not None:
            splits = given if isinstance(given, Mapping) else {"train": given}
            return {str(split): [self._file(each) for each in _list(files)] for split, files in splits.items()}
        folder = self.path.parent / dataset
        if dataset and folder.is_dir():
            return {file.stem: [file] for file in sorted(folder.iterdir()) if file.suffix in _ENDINGS}
        raise self.wrong(
            f"the data set {dataset!r} is not on this machine: save it as JSON lines, and say `dataset_path: json` and "
            "`dataset_kwargs: {data_files: {test: …}}`"
        )

    def _file(self, name: object) -> Path:
        path = self.path.parent / str(name)
        if not path.is_file():
            raise self.wrong(f"there is no file {name} beside it")
        return path

    # ---- questions

    def _tasks(self, docs: Sequence[Doc], first: int) -> Iterator[Task]:
        for number, doc in enumerate(docs, start=first + 1):
            where = f"document {number}"
            question, choices, target = self._asked(doc, where)
            if not question.strip():
                raise self.wrong(f"{where}: the question is blank")
            if not target or not all(answer.strip() for answer in target):
                raise self.wrong(f"{where}: the target is empty")
            yield Task(f"{self.name}-{number}", question, target, metadata=doc, choices=choices)

    def _asked(self, doc: Doc, where: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """The question, its options and its accepted answers."""
        question = str(self._value("doc_to_text", doc, where))
        target = self._value("doc_to_target", doc, where)
        if not self.chosen:
            return question, (), tuple(map(str, target if isinstance(target, list) else [target]))
        found = self._value("doc_to_choice", doc, where)
        choices = tuple(
            map(str, found.values() if isinstance(found, Mapping) else found if isinstance(found, list) else ())
        )
        if len(choices) < 2:
            raise self.wrong(f"{where}: `doc_to_choice` gives no list of options")
        try:
            letters = tuple(_letter(each, choices) for each in (target if isinstance(target, list) else [target]))
        except ValueError as error:
            raise self.wrong(f"{where}: {error}") from error
        shown = any(text.strip() != label(place) for place, text in enumerate(choices))
        return question, choices if shown else (), letters

    def _value(self, key: str, doc: Doc, where: str) -> object:
        said = self.document[key]
        if not isinstance(said, str):
            return said
        if said in doc:
            found = doc[said]
        else:
            found = self._rendered(said, doc, f"{where}: `{key}`")
            digits = key == "doc_to_target" and self.chosen and found.isdigit()
            if digits or (found.startswith("[") and found.endswith("]") and key != "doc_to_text"):
                # What is no literal is a text in brackets, as the harness takes it.
                with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                    found = ast.literal_eval(found)
        if found is None:
            raise self.wrong(f"{where}: the column {said!r} is empty")
        return found

    def _rendered(self, template: str, doc: Doc, where: str) -> str:
        from jinja2 import TemplateError

        try:
            if template not in self._templates:
                self._templates[template] = _template(template)
            return self._templates[template](doc)
        except ImportError:
            raise self.wrong("templates need Jinja: pip install 'motet[bench]'") from None
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self.wrong(f"{where} can't be rendered: {error}") from error

    def _examples(self, asked: str) -> tuple[tuple[Example, ...], int]:
        """The examples, and how many of the questions they are."""
        count = self.document.get("num_fewshot") or 0
        if not isinstance(count, int) or count < 0:
            raise self.wrong(f"`num_fewshot` is {count!r}, and should be a whole number of at least 0")
        if not count:
            return (), 0
        config = self.document.get("fewshot_config")
        samples = config.get("samples") if isinstance(config, Mapping) else None
        if isinstance(samples, list) and all(isinstance(each, dict) for each in samples):
            docs, split = list[Doc](samples), ""
        elif samples is not None:
            raise self.wrong("`fewshot_config.samples` should be a list of documents")
        else:
            docs, split = self._docs("fewshot_split", "training_split", "validation_split", "test_split")
        if len(docs) < count:
            raise self.wrong(f"{count} examples are wanted, and there are {len(docs)}")
        found = []
        for number, doc in enumerate(docs[:count], start=1):
            question, choices, target = self._asked(doc, f"example {number}")
            found.append(Example("\n\n".join(filter(None, [question, options_of(choices)])), target[0].strip()))
        return tuple(found), count if split == asked else 0

    # ---- grading

    def _scorer(self) -> tuple[str, dict[str, object]]:
        known = _METRICS["multiple_choice" if self.chosen else "generate_until"]
        metrics = self.document.get("metric_list") or [{"metric": known[0]}]
        if not isinstance(metrics, list) or not all(isinstance(each, dict) for each in metrics):
            raise self.wrong("`metric_list` should be a list of tables")
        found = next((each for each in metrics if each.get("metric") in known), None)
        if found is None:
            names = ", ".join(str(each.get("metric")) for each in metrics)
            raise self.wrong(f"the metrics {names} are not read: {', '.join(known)} are")
        if self.chosen:
            return "choice", {}
        options: dict[str, object] = {
            key: True for key in ("ignore_case", "ignore_punctuation", "ignore_numbers") if found.get(key)
        }
        if found.get("regexes_to_ignore"):
            options["ignore"] = tuple(map(str, _list(found["regexes_to_ignore"])))
        return "verbatim", options

    def _filters(self) -> tuple[Filter, ...]:
        kwargs = self.document.get("generation_kwargs")
        stops = kwargs.get("until") if isinstance(kwargs, Mapping) else None
        found = [Filter("until", {"stops": tuple(map(str, _list(stops)))})] if stops and not self.chosen else []
        pipelines = self.document.get("filter_list") or []
        if not isinstance(pipelines, list):
            raise self.wrong("`filter_list` should be a list")
        for step in _list(pipelines[0].get("filter", [])) if pipelines and isinstance(pipelines[0], dict) else []:
            if not isinstance(step, dict) or not isinstance(step.get("function"), str):
                raise self.wrong("a step of `filter_list` has no `function`")
            try:
                found.append(Filter(step["function"], {key: each for key, each in step.items() if key != "function"}))
            except UsageError as error:
                raise self.wrong(str(error)) from error
        return tuple(found)


def _read(path: Path) -> Iterator[Doc]:
    for number, row in rows_of(path):
        try:
            found = decoded(row) if isinstance(row, bytes) else dict(row)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}; fix or remove this line") from error
        if not isinstance(found, dict):
            raise UsageError(f"{path}:{number}: a JSON object is needed; fix or remove this line")
        yield {name: _nested(value) for name, value in found.items()} if not isinstance(row, bytes) else found


def _nested(value: object) -> object:
    """A cell of CSV or Parquet in which a list or an object is written."""
    if isinstance(value, str) and value.startswith(("[", "{")):
        try:
            return decoded(value.encode())
        except ValueError:
            pass  # a text that begins with a bracket
    return value


def _letter(target: object, choices: tuple[str, ...]) -> str:
    """The letter of a target: a place counted from 0, a letter, or the text of an option."""
    text = str(target).strip()
    if text.isdigit() and text not in choices:
        if int(text) >= len(choices):
            raise ValueError(f"the target is option {text}, counted from 0, and there are {len(choices)}")
        return label(int(text))
    if isinstance(target, int):
        return label(target) if 0 <= target < len(choices) else letter(text, choices)
    return letter(text, choices)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _template(text: str) -> Callable[[Doc], str]:
    """A Jinja template, in a sandbox: it sees the document and changes nothing."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=False)
    environment.filters["regex_replace"] = lambda value, pattern, put, count=0: re.sub(pattern, put, value, count=count)
    compiled = environment.from_string(text)
    return lambda doc: str(compiled.render(**doc))
