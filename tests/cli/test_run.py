from __future__ import annotations

import json
from pathlib import Path

import pytest

from specdemo import cli
from specdemo.cli.run import styled
from specdemo.events import JudgedToken, TokenOutcome

RUN_KEYS = {
    "text", "token_ids", "seconds", "time_to_first_token_seconds", "tokens_per_second",
    "acceptance_rate", "draft_acceptance_rate", "mean_acceptance_length", "num_draft_tokens",
    "num_accepted_tokens", "overhead_rate",
}  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["run", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_json_is_one_object_with_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "--prompt", "What is rain?", "--max-new-tokens", "16", "--json", "--seed", "1"
    )
    result = json.loads(out)
    assert code == 0
    assert set(result) == {"normal", "speculative", "comparison", "environment"}
    assert set(result["normal"]) >= RUN_KEYS
    assert set(result["speculative"]) >= RUN_KEYS
    assert result["comparison"]["same_output"] is True
    assert result["comparison"]["speedup"] > 0
    assert result["comparison"]["speedup_over_best_normal"] is None
    assert result["normal"]["token_ids"] == result["speculative"]["token_ids"]
    assert len(result["normal"]["token_ids"]) == 16
    assert "Loading" in err, "progress belongs to stderr"


def test_sampling_from_the_command_line_claims_no_equal_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(
        capsys, "--prompt", "Once", "--completion", "--max-new-tokens", "8", "--json",
        "--temperature", "0.7", "--top-p", "0.9", "--top-k", "50", "--repetition-penalty", "1.1",
        "--draft-source", "ngram", "--num-draft-tokens", "3",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["comparison"]["same_output"] is None


def test_another_precision_than_the_best_is_compared_with_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(
        capsys, "--prompt", "What is rain?", "--max-new-tokens", "8", "--precision", "float32"
    )
    assert code == 0
    assert "best normal decoding here: bfloat16" in out
    assert "speedup" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prompt", "  "], "The prompt is empty"),
        (["--prompt", "hi", "--num-draft-tokens", "99"], "must lie between 1 and 16"),
        (["--prompt", "hi", "--pair", "nobody"], "choose smollm2-135m"),
        (["--prompt", "x " * 9000, "--max-new-tokens", "9"], "more than the context window"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_a_cache_folder_without_write_access_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECDEMO_CACHE", str(tmp_path / "file" / "cache"))
    code, _, err = run(capsys, "--prompt", "hi")
    assert code == 2
    assert "SPECDEMO_CACHE" in err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run", "--help"])
    assert stopped.value.code == 0
    assert "python -m specdemo run --prompt" in capsys.readouterr().out


def test_fates_are_coloured_in_a_terminal_and_marked_elsewhere() -> None:
    refused = JudgedToken(1, TokenOutcome.REJECTED)
    assert styled(refused, " a\n", is_terminal=False) == "[ a⏎×]"
    assert styled(refused, " a", is_terminal=True) == "\033[31;9m a\033[0m"
    kept = JudgedToken(1, TokenOutcome.ACCEPTED)
    assert styled(kept, " a\n", is_terminal=False) == " a\n"
    assert styled(JudgedToken(1, TokenOutcome.NORMAL), "b", is_terminal=True) == "b"
