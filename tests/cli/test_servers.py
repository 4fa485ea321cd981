"""The command line on two servers that replay recorded answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdemo import cli
from specdemo.benchmark.results import read
from tests.remote.stand_in import Behaviour, token_ids_of, told_of, two

PROMPT = ["--prompt", "What is rain?", "--max-new-tokens", "48"]


def run(
    capsys: pytest.CaptureFixture[str],
    speculative: Behaviour,
    command: list[str],
    normal: Behaviour | None = None,
) -> tuple[int, str, str]:
    """A command on two servers."""
    with two(normal or Behaviour(), speculative) as servers:
        urls = ["--normal-url", servers.normal_url, "--speculative-url", servers.speculative_url]
        code = cli.main([command[0], "--engine", "vllm", *urls, *command[1:]])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_has_the_keys_of_a_local_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, Behaviour("draft-chat"), ["run", *PROMPT, "--json"])
    result = json.loads(out)
    assert code == 0
    assert "Asking the speculative server…" in err
    assert set(result) == {"normal", "speculative", "comparison", "environment"}
    assert result["speculative"]["token_ids"] == list(token_ids_of("draft-chat"))
    assert result["comparison"]["same_output"] is True
    told = told_of("draft-chat")
    assert result["speculative"]["vllm"]["per_step_accepted"] == told["per_step_accepted"]
    assert result["speculative"]["server"]["fates"] == "known"
    assert result["environment"]["versions"] == {"vllm": "0.32.0"}


def test_text_marks_refused_drafts_by_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, Behaviour("draft-chat"), ["run", *PROMPT])
    assert code == 0
    assert "Rain[◌×][◌×3] is a[◌×][◌×2] fundamental" in out
    assert "each ◌ stands for one" in out
    assert "moved by the same numbers of drafts" in out
    assert "1073.7 MB reserved for the caches" in out
    assert "By the speculative server's own clock" in out
    assert "overhead –" in out, "what is not observed is no number"
    assert "None" not in out


def test_what_arrived_is_printed_before_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, Behaviour("draft-chat"), ["run", *PROMPT], Behaviour(break_after=20)
    )
    assert code == 2, "the warm-up already meets it"
    assert "broke off its answer" in err
    assert out == ""


def test_a_race_that_breaks_off_is_told_as_far_as_it_came(
    capsys: pytest.CaptureFixture[str],
) -> None:
    breaking = Behaviour("draft-chat", breaks_from_request=2, break_after=20)
    code, out, err = run(capsys, breaking, ["run", *PROMPT])
    assert code == 2
    assert "Rain is a fundamental element" in out
    assert "The speculative server" in err
    assert "broke off its answer after" in err


def test_a_benchmark_of_servers_has_rows_like_any_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prompts = tmp_path / "one.txt"
    prompts.write_text("What is rain?\n")
    output = tmp_path / "bench.json"
    report = tmp_path / "report.html"
    command = ["bench", "--suite", str(prompts), "--repeats", "1", "--output", str(output),
               "--html", str(report), "--csv", str(tmp_path / "rows.csv")]  # fmt: skip
    code, out, _ = run(capsys, Behaviour("draft-chat"), command)
    assert code == 0
    results = read(output)
    assert results.is_complete
    assert [row.run.method.name for row in results.rows] == ["normal", "server"]
    assert results.rows[0].memory is None
    assert "| as served | server |" in out
    assert "not reported" in out
    assert "1/1" in out, "greedy answers of both servers are the same"
    assert "not reported" in report.read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--engine", "vllm"], "give both --normal-url and --speculative-url"),
        (["--engine", "vllm", "--normal-url", "http://x"], "give both"),
        (["--normal-url", "http://x"], "with --engine vllm"),
    ],
)
def test_half_an_address_is_a_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--prompt", "hi", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_variables_stand_for_the_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, drafting = Behaviour(key="k"), Behaviour("draft-chat", key="k")
    with two(plain, drafting) as servers:
        monkeypatch.setenv("SPECDEMO_VLLM_NORMAL_URL", servers.normal_url)
        monkeypatch.setenv("SPECDEMO_VLLM_SPECULATIVE_URL", servers.speculative_url)
        monkeypatch.setenv("SPECDEMO_VLLM_API_KEY", "k")
        assert cli.main(["run", "--engine", "vllm", *PROMPT]) == 0
    assert "same output" in capsys.readouterr().out
