"""Tasks of lm-evaluation-harness are asked and graded as their YAML says; what is not read is refused and says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.bench.ask import chat_of
from motet.bench.grade import grade
from motet.bench.suite import Suite, load_suite
from motet.errors import UsageError
from motet.message import Reply
from motet.prompt import Example

pytest.importorskip("jinja2")
pytest.importorskip("yaml")

SUMS = [
    {"question": "Ann has 2 apples and gets 3. How many?", "answer": "2 + 3 = 5\n#### 5"},
    {"question": "Ben has 1,000 nuts and gets 200. How many?", "answer": "So many.\n#### 1,200"},
    {"question": "Cy has 4. How many?", "answer": "#### 4"},
]
GSM = r"""
task: gsm8k_local
dataset_path: json
dataset_kwargs:
  data_files:
    train: train.jsonl
    test: test.jsonl
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
num_fewshot: 1
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore:
      - ","
      - "\\$"
      - "(?s).*#### "
      - "\\.$"
generation_kwargs:
  until: ["Question:", "</s>"]
  do_sample: false
filter_list:
  - name: strict-match
    filter:
      - function: regex
        regex_pattern: "#### (\\-?[0-9\\.\\,]+)"
      - function: take_first
  - name: flexible-extract
    filter:
      - function: regex
        group_select: -1
        regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"
      - function: take_first
metadata:
  version: 3.0
"""
CHOICES = """
task: choices_local
dataset_path: csv
dataset_kwargs: {data_files: {test: test.csv}}
output_type: multiple_choice
test_split: test
description: "Questions about {cities}."
doc_to_text: question
doc_to_choice: "{{[a, b, c]}}"
doc_to_target: gold
"""


def written(folder: Path, text: str, name: str = "task.yaml", **files: object) -> Path:
    """A task with its data beside it."""
    for stem, rows in files.items():
        if isinstance(rows, str):
            (folder / f"{stem}.csv").write_text(rows)
        else:
            assert isinstance(rows, list)
            (folder / f"{stem}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def gsm(tmp_path: Path) -> Suite:
    return load_suite(written(tmp_path, GSM, train=SUMS[:1], test=SUMS[1:]))


def test_a_generating_task(gsm: Suite) -> None:
    """Templates, few-shot, filters and the metric's settings are those of the file."""
    assert (gsm.name, gsm.scorer, len(gsm.tasks)) == ("gsm8k_local", "verbatim", 2)
    assert gsm.examples == (Example("Question: Ann has 2 apples and gets 3. How many?\nAnswer:", "2 + 3 = 5\n#### 5"),)
    assert gsm.tasks[0].input == "Question: Ben has 1,000 nuts and gets 200. How many?\nAnswer:"
    assert gsm.tasks[0].target == ("So many.\n#### 1,200",)
    assert [each.kind for each in gsm.filters] == ["until", "regex", "take_first"]
    assert gsm.options == {"ignore_case": True, "ignore": (",", "\\$", "(?s).*#### ", "\\.$")}
    roles = [message.role for message in chat_of(gsm.tasks[0], gsm).messages]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("1,000 + 200.\n#### 1200", 1),
        ("#### 1,200.", 1),
        ("#### 1200\nQuestion: and 5?\n#### 5", 1),
        ("The answer is 1200.", 0),
        ("#### 1,300", 0),
    ],
)
async def test_it_is_graded_as_the_harness_does(gsm: Suite, text: str, score: float) -> None:
    """Strict match: cut at the stop, the pattern's group, commas ignored."""
    assert (await grade(gsm, gsm.tasks[0], Reply(text))).score == score


def test_a_choosing_task(tmp_path: Path) -> None:
    """Options of a template become lettered; a target may be a place, a letter or an option's text."""
    data = "question,a,b,c,gold\nPeru?,Cusco,Lima,Quito,1\nChad?,Oslo,Rome,N'Djamena,C\nItaly?,Oslo,Rome,Lima,Rome\n"
    suite = load_suite(written(tmp_path, CHOICES, test=data))
    assert [task.target for task in suite.tasks] == [("B",), ("C",), ("B",)]
    assert suite.tasks[1].choices == ("Oslo", "Rome", "N'Djamena")
    assert (suite.scorer, suite.instructions) == (
        "choice",
        "Questions about {cities}.\n\nGive only the letter of the right option.",
    )


def test_options_that_stand_in_the_text(tmp_path: Path) -> None:
    """Where the options are the letters themselves, as in MMLU, they are not shown twice."""
    text = """
task: mmlu_local
dataset_path: json
dataset_kwargs: {data_files: {test: test.jsonl, dev: dev.jsonl}}
output_type: multiple_choice
test_split: test
fewshot_split: dev
num_fewshot: 1
fewshot_config: {sampler: first_n}
doc_to_text: "{{question.strip()}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nAnswer:"
doc_to_choice: ["A", "B"]
doc_to_target: answer
metric_list: [{metric: acc}]
"""
    doc = {"question": " 1 + 1? ", "choices": ["2", "3"], "answer": 0}
    suite = load_suite(written(tmp_path, text, test=[doc], dev=[doc | {"answer": 1}]))
    assert chat_of(suite.tasks[0], suite).question == "1 + 1?\nA. 2\nB. 3\nAnswer:"
    assert (suite.tasks[0].target, suite.tasks[0].choices) == (("A",), ())
    assert suite.examples[0].answer == "B"


def test_examples_of_the_same_split_are_not_asked(tmp_path: Path) -> None:
    """Where there is one split only, the first documents are the examples and the rest is asked."""
    text = "include: base.yaml\nnum_fewshot: 1\nfewshot_split: test\n"
    written(tmp_path, CHOICES, "base.yaml", test="question,a,b,c,gold\nP?,x,y,z,0\nQ?,x,y,z,1\n")
    suite = load_suite(written(tmp_path, text))
    assert [task.input for task in suite.tasks] == ["Q?"]
    assert suite.examples == (Example("P?\n\nA) x\nB) y\nC) z", "A"),)


def test_a_hub_task_over_local_data(tmp_path: Path) -> None:
    """A task as the harness has it is included and told where its data are; its templates work on nested columns."""
    hub = """
task: easy
dataset_path: some/hub
dataset_name: null
output_type: multiple_choice
test_split: test
validation_split: null
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_target: "{{choices.label.index(answerKey)}}"
doc_to_choice: "{{choices.text}}"
metric_list: [{metric: acc, aggregation: mean}, {metric: acc_norm}]
"""
    (tmp_path / "hub_yaml").write_text(hub)
    doc = {"question": "Wet?", "choices": {"text": ["it's sand", "water"], "label": ["1", "2"]}, "answerKey": "2"}
    text = "include: hub_yaml\ndataset_path: json\ndataset_kwargs: {data_files: {test: [test.jsonl]}}\n"
    (task,) = load_suite(written(tmp_path, text, test=[doc])).tasks
    assert (task.input, task.choices, task.target) == ("Question: Wet?\nAnswer:", ("it's sand", "water"), ("B",))


async def test_several_targets(tmp_path: Path) -> None:
    """A target that renders as a list is several accepted answers; stops and blanks are cut as the harness does."""
    text = (
        PLAIN + 'doc_to_text: question\ndoc_to_target: "{{answer.aliases}}"\ngeneration_kwargs: {until: ["\\n", "."]}\n'
        "filter_list: [{name: r, filter: [{function: remove_whitespace}, {function: take_first}]}]\n"
        "metric_list: [{metric: exact_match, ignore_case: true, ignore_punctuation: true}]\n"
    )
    doc = {"question": "Who?", "answer": {"aliases": ["Ada Lovelace", "Ada King-Noel"]}}
    suite = load_suite(written(tmp_path, text, test=[doc]))
    assert suite.tasks[0].target == ("Ada Lovelace", "Ada King-Noel")
    for said, score in ((" ada kingnoel. She was", 1), ("It was Ada Lovelace", 0), ("Ada Lovelace\nQ:", 1)):
        assert (await grade(suite, suite.tasks[0], Reply(said))).score == score


def test_data_in_a_folder(tmp_path: Path) -> None:
    """A data set may be a folder with one file a split."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "validation.jsonl").write_text(json.dumps(SUMS[2]))
    text = "task: t\ndataset_path: data\nvalidation_split: validation\ndoc_to_text: question\ndoc_to_target: answer\n"
    assert load_suite(written(tmp_path, text)).tasks[0].target == ("#### 4",)


PLAIN = "task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: test.jsonl}}\ntest_split: test\n"
TEXTS = "doc_to_text: question\ndoc_to_target: answer\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            PLAIN + TEXTS + "process_docs: !function utils.process_docs\n",
            "task.yaml:7: the task needs the Python function",
        ),
        (PLAIN + TEXTS + "process_docs: x\n", "`process_docs` is not read"),
        (PLAIN + TEXTS + "output_type: loglikelihood\n", "the output_type 'loglikelihood' is not read"),
        ("task: [a, b]\n", "a group of tasks"),
        ("- a\n", "a task is a table of keys"),
        ("task: [a\n", "task.yaml:2: no YAML"),
        ("include: gone.yaml\n", "includes gone.yaml, and there is no such file"),
        ("include: task.yaml\n", "includes that include each other"),
        (PLAIN + "doc_to_target: answer\n", "`doc_to_text` is missing"),
        (PLAIN + TEXTS + "output_type: multiple_choice\n", "`doc_to_choice` is missing"),
        (TEXTS + "task: t\ndataset_path: gsm8k\ntest_split: test\n", "the data set 'gsm8k' is not on this machine"),
        (PLAIN.replace("test_split: test", "test_split: dev") + TEXTS, "no data for the split 'dev': there are test"),
        (PLAIN.replace("test.jsonl", "gone.jsonl") + TEXTS, "there is no file gone.jsonl beside it"),
        (
            PLAIN.replace("test_split: test\n", "") + TEXTS,
            "none of test_split, validation_split, training_split is said",
        ),
        (PLAIN + "doc_to_text: '{{nothing}}'\ndoc_to_target: answer\n", "document 1: `doc_to_text` can't be rendered"),
        (PLAIN + "doc_to_text: '{{'\ndoc_to_target: answer\n", "document 1: `doc_to_text` can't be rendered"),
        (PLAIN + "doc_to_text: question\ndoc_to_target: '{{\"\"}}'\n", "document 1: the target is empty"),
        (PLAIN + TEXTS + "metric_list: [{metric: bleu}]\n", "the metrics bleu are not read: exact_match are"),
        (PLAIN + TEXTS + "num_fewshot: 9\n", "9 examples are wanted, and there are 3"),
        (PLAIN + TEXTS + "num_fewshot: 3\n", "an empty suite"),
        (PLAIN + TEXTS + "num_fewshot: many\n", "`num_fewshot` is 'many'"),
        (PLAIN + TEXTS + "filter_list: [{filter: [{function: majority_vote}]}]\n", "no filter 'majority_vote'"),
        (PLAIN + TEXTS + "filter_list: [{filter: [{}]}]\n", "has no `function`"),
        (
            PLAIN + TEXTS + "output_type: multiple_choice\ndoc_to_choice: ['x', 'y']\n",
            "document 1: the target '2 + 3 = 5\\n#### 5' is neither a letter from A to B",
        ),
    ],
)
def test_what_is_not_read_is_told(tmp_path: Path, text: str, says: str) -> None:
    """Each thing that can't be read is one line that names the file and what is wrong."""
    with pytest.raises(UsageError) as caught:
        load_suite(written(tmp_path, text, test=SUMS))
    assert says in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ question.__init__.__globals__ }}",
        "{% set x = cycler.__init__.__globals__.os.popen('true').read() %}{{ x }}",
        "{{ many.append(1) }}",
    ],
)
def test_templates_do_nothing(tmp_path: Path, template: str) -> None:
    """A template can't reach Python, nor change its document."""
    text = PLAIN + f"doc_to_text: {json.dumps(template)}\ndoc_to_target: answer\n"
    with pytest.raises(UsageError, match="can't be rendered"):
        load_suite(written(tmp_path, text, test=[SUMS[0] | {"many": [1]}]))
