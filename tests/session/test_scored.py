from __future__ import annotations

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from specdemo.errors import BadLogitsError
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.packed import compile_weights
from specdemo.models.runner import HFModelRunner
from specdemo.session import scored
from specdemo.session.request import DecodeRequest
from specdemo.session.scored import judge, score_answer
from tests.fakes import TableRunner, random_table
from tests.models.tiny import tiny_llama
from tests.session.fakes import table_pair

WINDOW = 16


def cross_entropies(model: torch.nn.Module, token_ids: list[int]) -> list[float]:
    """The same by transformers and torch alone."""
    with torch.no_grad():
        logits = model(torch.tensor([token_ids]), use_cache=False).logits[0, :-1]
    losses = torch.nn.functional.cross_entropy(
        logits, torch.tensor(token_ids[1:]), reduction="none"
    )
    return (-losses).tolist()


@pytest.mark.parametrize("rows", [7, 256])
@pytest.mark.parametrize("length", [WINDOW - 1, 3 * WINDOW])
def test_log_likelihood_is_cross_entropy_also_beyond_a_sliding_window(
    monkeypatch: pytest.MonkeyPatch, length: int, rows: int
) -> None:
    monkeypatch.setattr(scored, "_ROWS", rows)
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=WINDOW,
        initializer_range=0.3, attn_implementation="eager",
    )  # fmt: skip
    model = MistralForCausalLM(config).eval()
    token_ids = torch.randint(64, (length,)).tolist()
    judged = [j.log_prob for j in judge(HFModelRunner(model, 64), token_ids)]
    assert judged == pytest.approx(cross_entropies(model, token_ids), abs=2e-5)


def test_the_compiled_pass_scores_as_transformers_does() -> None:
    model = tiny_llama()
    token_ids = torch.randint(160, (60,), generator=torch.Generator().manual_seed(1)).tolist()
    weights = compile_weights(model.state_dict(), model.config, torch.float32)
    runner = CompiledRunner(weights, len(token_ids), Threads(2))
    judged = [j.log_prob for j in judge(runner, token_ids)]
    assert judged == pytest.approx(cross_entropies(model, token_ids), abs=2e-5)


def test_the_targets_first_choice_is_told_with_its_probability() -> None:
    table = random_table(8, 3)
    (judgement,) = judge(TableRunner(table), [2, 5])
    log_probs = torch.log_softmax(table[2], dim=-1)
    assert judgement.best_token_id == int(log_probs.argmax())
    assert judgement.best_log_prob == pytest.approx(log_probs.max().item())
    assert judgement.log_prob == pytest.approx(log_probs[5].item())


def test_numbers_that_are_not_finite_are_an_error() -> None:
    with pytest.raises(BadLogitsError):
        list(judge(TableRunner(torch.full((4, 4), torch.nan)), [0, 1, 2]))


@pytest.mark.parametrize("is_chat", [True, False])
def test_prompt_and_answer_are_told_apart_by_their_characters(is_chat: bool) -> None:
    pair = table_pair()
    request = DecodeRequest("é is ", is_chat=is_chat)
    prompt = (
        pair.tokenizer.encode_chat(request.messages) if is_chat else pair.tokenizer.encode("é is ")
    )
    text = score_answer(pair, request, prompt, pair.tokenizer.encode("ok 漢"))
    answer = [token for token in text.tokens if token.is_answer]
    assert "".join(token.piece for token in answer) == "ok 漢"
    assert text.num_changed_ids == 0
    assert text.tokens[0].log_prob is None
    assert all(token.log_prob is not None for token in text.tokens[1:])


def test_ids_that_do_not_survive_the_text_are_counted() -> None:
    """Half a character decodes to a mark that is tokenized as something else."""
    pair = table_pair()
    half = pair.tokenizer.encode("é")[:1]
    answer = [*pair.tokenizer.encode("a"), *half]
    text = score_answer(pair, DecodeRequest("x", is_chat=False), pair.tokenizer.encode("x"), answer)
    assert text.num_changed_ids == 1


def test_an_end_token_is_not_scored_and_an_empty_answer_has_only_its_prompt() -> None:
    pair = table_pair()
    ends = sorted(pair.tokenizer.end_token_ids)[:1]
    prompt = pair.tokenizer.encode("xyz")
    text = score_answer(pair, DecodeRequest("xyz", is_chat=False), prompt, ends)
    assert [token.is_answer for token in text.tokens] == [False] * 3
    alone = score_answer(pair, DecodeRequest("x", is_chat=False), prompt[:1], [])
    assert [token.log_prob for token in alone.tokens] == [None]
