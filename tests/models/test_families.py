"""Every architecture of the catalogue, from files to greedy answers.

A difference between two greedy answers counts unless a float64 pass over everything before it
finds the two likeliest tokens closer than 1e-5.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.events import JudgedToken, RoundVerified
from specdemo.models.catalog import custom_name, find_pair
from specdemo.models.footprint import planned_bytes, skeleton_of
from specdemo.models.loading import LoadedSpec, ModelPair, load_pair
from specdemo.models.quantization import Quantization
from specdemo.models.store import ModelStore
from tests.models.families import FAMILIES, WINDOW, save_model

TIE_GAP = 1e-5
NEW_TOKENS = 20
PROMPT = "the quick brown fox sees 漢 and the dog"
CORE = ["gemma2", "gpt_neox", "mixtral"]


def finish(stages: Generator[str, None, ModelPair]) -> ModelPair:
    while True:
        try:
            next(stages)
        except StopIteration as done:
            return done.value


def load(target: str, draft: str, precision: str = "float32", **changes: Any) -> ModelPair:
    spec = LoadedSpec(find_pair(custom_name(target, draft)), "cpu", precision, **changes)
    return finish(load_pair(spec, Path(), 1))


def judged(
    pair: ModelPair, prompt: list[int], num_draft: int, ends: frozenset[int] = frozenset()
) -> list[JudgedToken]:
    """Everything that a greedy run judged; no draft is normal decoding."""
    sampler = Sampler(SamplingParams(0.0, 0, 1.0, 1.0), 0)
    capacity = len(prompt) + NEW_TOKENS
    assert pair.new_draft_runner
    draft = pair.new_draft_runner(capacity)
    events = generate(
        pair.new_target_runner(capacity),
        ModelDrafter(draft, sampler) if num_draft else NoDrafter(),
        sampler,
        prompt,
        draft_length=FixedLength(num_draft or 1),
        max_new_tokens=NEW_TOKENS,
        end_token_ids=ends,
    )
    return [t for e in events if isinstance(e, RoundVerified) for t in e.round.judged]


def output(tokens: list[JudgedToken]) -> list[int]:
    return [t.token_id for t in tokens if t.outcome.is_output and t.token_id is not None]


class Reference:
    """The target without any cache, in float32 and float64."""

    def __init__(self, folder: str, vocab_size: int) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
        self.model.eval()
        self.vocab_size = vocab_size

    @torch.inference_mode()
    def logits(self, ids: list[int]) -> torch.Tensor:
        row = self.model(torch.tensor([ids]), use_cache=False).logits[0, -1]
        return row[: self.vocab_size]

    def answer(self, prompt: list[int]) -> list[int]:
        ids = list(prompt)
        for _ in range(NEW_TOKENS):
            ids.append(int(self.logits(ids).argmax()))
        return ids[len(prompt) :]

    def assert_same(self, prompt: list[int], expected: list[int], found: list[int]) -> None:
        if expected == found:
            return
        at = next(i for i, (a, b) in enumerate(zip(expected, found)) if a != b)
        self.model.double()
        top = self.logits([*prompt, *expected[:at]]).topk(2).values
        self.model.float()
        assert top[0] - top[1] < TIE_GAP, (at, expected, found)


def assert_exact(folder: Path, family: str, seed: int, counts: list[int]) -> None:
    target = save_model(folder / "target", family, seed=seed)
    draft = save_model(folder / "draft", family, seed=seed + 100, role="draft")
    for pair, is_same in ((load(target, draft), False), (load(target, target), True)):
        prompt = pair.tokenizer.encode(PROMPT)
        assert len(prompt) > WINDOW
        reference = Reference(target, pair.vocab_size)
        normal = output(judged(pair, prompt, 0))
        reference.assert_same(prompt, reference.answer(prompt), normal)
        for count in counts:
            tokens = judged(pair, prompt, count)
            reference.assert_same(prompt, normal, output(tokens))
            drafted = [t for t in tokens if t.outcome.is_draft]
            if is_same:
                assert sum(t.outcome.is_output for t in drafted) >= 0.9 * len(drafted)
        end = normal[NEW_TOKENS // 2]
        cut = normal[: normal.index(end) + 1]
        assert output(judged(pair, prompt, 5, frozenset([end]))) == cut


@pytest.mark.parametrize("family", CORE)
def test_speculative_equals_normal_equals_no_cache_at_all(family: str, tmp_path: Path) -> None:
    assert_exact(tmp_path, family, seed=0, counts=[3])


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "counts"), [(1, [1, 2, 3, 4, 5, 6, 7, 8]), (2, [1, 5])])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_exact_for_every_draft_length(
    family: str, seed: int, counts: list[int], tmp_path: Path
) -> None:
    assert_exact(tmp_path, family, seed=seed, counts=counts)


@pytest.mark.slow
@pytest.mark.parametrize("is_assisted", [False, True], ids=["generate", "assisted"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_ids_are_those_of_transformers_generate(
    family: str, is_assisted: bool, tmp_path: Path
) -> None:
    target = save_model(tmp_path / "target", family, seed=3)
    draft = save_model(tmp_path / "draft", family, seed=103)
    pair = load(target, draft)
    prompt = pair.tokenizer.encode(PROMPT)
    reference = Reference(target, pair.vocab_size)
    assistant = Reference(draft, pair.vocab_size).model if is_assisted else None
    output_ids = reference.model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
        assistant_model=assistant,
        max_new_tokens=NEW_TOKENS,
        do_sample=False,
        eos_token_id=None,
        # Ids behind the tokenizer's are rows of padding.
        suppress_tokens=list(range(pair.vocab_size, reference.model.config.vocab_size)) or None,
    )
    expected = output_ids[0, len(prompt) :].tolist()
    assert len(expected) == NEW_TOKENS
    for num_draft in (0, 4):
        reference.assert_same(prompt, expected, output(judged(pair, prompt, num_draft)))


@pytest.mark.parametrize("family", CORE)
def test_bytes_are_those_of_the_tensors(family: str, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "target", family, seed=0)
    pair = load(folder, save_model(tmp_path / "draft", family, seed=1, role="draft"))
    model = AutoModelForCausalLM.from_pretrained(folder)
    tensors = {t.data_ptr(): t.nbytes for t in (*model.parameters(), *model.buffers())}
    assert pair.target_weights_bytes == sum(tensors.values())


@pytest.mark.parametrize("family", ["gpt_neox", "gemma3"])
def test_logits_are_cut_to_the_tokens_that_both_models_know(family: str, tmp_path: Path) -> None:
    target = save_model(tmp_path / "target", family, seed=0)
    pair = load(target, save_model(tmp_path / "draft", family, seed=1, role="draft"))
    assert pair.vocab_size == len(pair.tokenizer.vocabulary)
    assert pair.new_draft_runner
    for new_runner in (pair.new_target_runner, pair.new_draft_runner):
        assert new_runner(8).forward([3, 4], 1).logits.shape == (1, pair.vocab_size)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("quantize", ["both", "target", "draft"])
@pytest.mark.parametrize("precision", ["8bit", "nf4"])
def test_a_quantized_pair_runs_and_weighs_what_was_planned(
    precision: str, quantize: str, double: bool, tmp_path: Path
) -> None:
    """To within the code tables; in NF4 both lanes' passes may round differently."""
    target = save_model(tmp_path / "target", "mixtral", seed=0)
    draft = save_model(tmp_path / "draft", "mistral", seed=1, role="draft")
    pair = load(target, draft, precision, quantize=quantize, double_quantization=double)
    full = load(target, draft, "bfloat16")
    for role, source in (("target", target), ("draft", draft)):
        held = getattr(pair, f"{role}_weights_bytes")
        is_rounded = quantize in (role, "both")
        assert (held < getattr(full, f"{role}_weights_bytes")) == is_rounded
        skeleton = skeleton_of(AutoConfig.from_pretrained(source))
        rounding = Quantization(precision, double) if is_rounded else None
        tables = 2048 * sum(isinstance(m, torch.nn.Linear) for m in skeleton.modules())
        assert 0 <= held - planned_bytes(skeleton, torch.bfloat16, rounding, "cpu") < tables
    prompt = pair.tokenizer.encode(PROMPT)
    assert len(output(judged(pair, prompt, 2))) == NEW_TOKENS


def test_ten_loads_leave_no_tensor_behind(tmp_path: Path) -> None:
    sources = [
        custom_name(
            save_model(tmp_path / f"{family}-target", family, seed=0),
            save_model(tmp_path / f"{family}-draft", family, seed=1, role="draft"),
        )
        for family in ("gemma2", "qwen2")
    ]
    store, held = ModelStore(Path(), 1), []
    for index in range(10):
        finish(store.load(LoadedSpec(find_pair(sources[index % 2]), "cpu", "float32")))
        if index in (1, 9):
            store._free()
            # Of its type: asking a dead weak proxy anything else raises.
            tensors = (o for o in gc.get_objects() if issubclass(type(o), torch.Tensor))
            held.append(sum(t.nbytes for t in tensors if t.device.type == "cpu"))
    assert held[0] == held[1]


def test_a_prompt_begins_with_one_beginning_of_text_and_bytes_stay_text(tmp_path: Path) -> None:
    target = save_model(tmp_path / "target", "llama", seed=0)
    tokenizer = load(target, "").tokenizer
    for text in ("the dog", "<s>the dog"):
        ids = tokenizer.encode(text)
        assert ids.count(1) == 1, ids
    assert tokenizer.decode(tokenizer.encode("漢 é  two spaces")).strip() == "漢 é  two spaces"


def test_a_pair_without_a_draft_has_none(tmp_path: Path) -> None:
    pair = load(save_model(tmp_path / "target", "qwen3", seed=0), "")
    assert pair.new_draft_runner is None
    assert pair.draft_weights_bytes == 0
