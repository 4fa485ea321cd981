from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdemo.benchmark.suites import suite
from specdemo.errors import InvalidSuiteError


def test_the_named_suites_are_the_tutorials_and_spec_benchs() -> None:
    tutorial, spec_bench = suite("tutorial"), suite("spec-bench")
    assert (len(tutorial.cases), tutorial.max_new_tokens) == (5, 200)
    assert not any(case.is_chat for case in tutorial.cases)
    assert len(spec_bench.cases) == 60
    assert len({case.task for case in spec_bench.cases}) == 6


def test_a_text_file_has_one_prompt_a_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeffWhat is rain?\r\nPerché?\u2028Sì.\n".encode())
    assert [case.prompt for case in suite(str(path)).cases] == ["What is rain?", "Perché?\u2028Sì."]


def test_a_jsonl_file_may_name_tasks_and_completions(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"prompt": "a"}\n{"prompt": "b", "task": "qa", "completion": true}\n')
    assert [(c.prompt, c.task, c.is_chat) for c in suite(str(path)).cases] == [
        ("a", "own", True),
        ("b", "qa", False),
    ]


GOOD = json.dumps({"prompt": "good"})


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("s.jsonl", f"{GOOD}\n" * 16 + "{broken\n", "Line 17 of s.jsonl is not JSON"),
        ("s.jsonl", f'{GOOD}\n{{"prompt": "  "}}\n', "Line 2 of s.jsonl holds an empty prompt"),
        ("s.jsonl", f"{GOOD}\n[]\n", "Line 2 of s.jsonl has no text named prompt"),
        ("s.jsonl", '{"prompt": 3}\n', "Line 1 of s.jsonl has no text named prompt"),
        ("s.jsonl", '{"prompt": "a", "task": 3}\n', "Line 1 of s.jsonl needs a text as task"),
        ("s.txt", "good\n\ngood\n", "Line 2 of s.txt holds an empty prompt"),
        ("s.txt", "good\n" + "x" * 10_000_000 + "\n", "Line 2 of s.txt holds a prompt of 10,000,"),
        ("s.txt", "good\n" * 1001, "line 1,001 is the first one too many"),
        ("s.txt", "", "s.txt holds no prompt"),
        ("s.txt", b"good\nbad \xff\n", "Line 2 of s.txt is not UTF-8"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidSuiteError, match=sentence):
        suite(str(path))


def test_a_missing_file_names_the_suites_that_exist() -> None:
    with pytest.raises(InvalidSuiteError, match=r"nowhere\.txt.*tutorial, spec-bench"):
        suite("nowhere.txt")
