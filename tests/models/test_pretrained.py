"""What goes wrong with models of others, and the one sentence that says the way out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from transformers import MambaConfig, T5Config

from specdemo.errors import (
    ModelLoadError,
    NotEnoughMemoryError,
    PairMismatchError,
    SpecdemoError,
    UnsupportedCacheError,
)
from specdemo.models import checkpoint, footprint
from specdemo.models.checkpoint import chosen_weights, fetch_weights, locate
from specdemo.models.vocabulary import shared_vocab_size
from tests.models.fake_hub import FakeHub, serving
from tests.models.families import byte_tokenizer, save_model
from tests.models.test_families import load


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with serving(monkeypatch, tmp_path / "cache") as served:
        yield served


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_model(tmp_path_factory.mktemp("model"), "qwen3", seed=0)


def sentence(target: str, draft: str = "") -> str:
    """What loading is refused with: one line, no traceback."""
    with pytest.raises(SpecdemoError) as refused:
        load(target, draft)
    text = str(refused.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


def test_a_pair_of_the_hub_loads_and_is_there_without_a_network(hub: FakeHub, model: str) -> None:
    hub.folders["some/model"] = Path(model)
    assert load("some/model", "some/model").vocab_size
    assert all("pickle" not in request for request in hub.requests)
    hub.refusals["some/model"] = (503, "")
    assert load("some/model", "some/model").vocab_size


def test_a_download_tells_how_far_it_is_and_stops_when_nobody_listens(
    hub: FakeHub, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.folders["some/model"] = Path(model)
    monkeypatch.setattr(checkpoint, "_TOLD_EVERY_SECONDS", 0.01)
    source = locate("some/model")
    hub.seconds_to_answer = 0.2
    stages = fetch_weights(source)
    for stage in stages:
        assert "Downloading some/model: " in stage
        break
    stages.close()
    hub.seconds_to_answer = 0.0
    assert load("some/model", "").vocab_size


def test_a_download_whose_connection_breaks_goes_on(hub: FakeHub, model: str) -> None:
    hub.folders["some/model"] = Path(model)
    hub.drops_at = 50_000
    assert load("some/model", "").vocab_size
    assert hub.drops_at is None, "nothing was dropped"


@pytest.mark.slow  # the hub's client tries again for some seconds
def test_a_hub_that_goes_down_in_a_download_is_told_and_leaves_nothing_half_written(
    hub: FakeHub, model: str, tmp_path: Path
) -> None:
    hub.folders["some/model"] = Path(model)
    hub.drops_at, hub.is_gone_after_drop = 50_000, True
    assert "check the network" in sentence("some/model")
    assert hub.is_gone, "nothing was dropped"
    assert not list(tmp_path.glob("cache/**/snapshots/**/*.safetensors"))
    assert "check the network" in sentence("some/model")  # what is half here is never read
    hub.is_gone = False
    assert load("some/model", "").vocab_size


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, "GatedRepo", "is gated: accept its licence at https://huggingface.co/some/model"),
        (403, "GatedRepo", "set HF_TOKEN to a token of that account"),
        (401, "RepoNotFound", "knows no model some/model"),
        (404, "RepoNotFound", "check the spelling"),
        (403, "", "refuses some/model to this account"),
        (500, "", "choose the bundled pair, which needs none"),
    ],
)
def test_a_hub_that_refuses_is_told_with_the_way_out(
    hub: FakeHub, model: str, status: int, code: str, words: str
) -> None:
    hub.folders["some/model"] = Path(model)
    hub.refusals["some/model"] = (status, code)
    assert words in sentence("some/model")


def test_a_hub_that_does_not_answer_in_time_is_told(
    hub: FakeHub, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_TIMEOUT_SECONDS", 0.1)
    hub.folders["some/model"] = Path(model)
    hub.seconds_to_answer = 0.5
    assert "check the network" in sentence("some/model")


def test_no_network_at_all_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert "check the network" in sentence("some/model")


def test_pickles_are_never_read(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "pickles"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n")
    hub.folders["some/pickles"] = folder
    for source in ("some/pickles", str(folder)):
        assert "only as pickles, which can run code" in sentence(source)
    assert not any("resolve" in request for request in hub.requests)


def test_safetensors_are_chosen_and_copies_of_them_left_out() -> None:
    names = ["model-1.safetensors", "consolidated.safetensors", "a/model.safetensors", "x.bin"]
    assert chosen_weights("x", names) == ("model-1.safetensors",)
    assert chosen_weights("x", ["one.gguf", "two.gguf"], "two.gguf") == ("two.gguf",)
    with pytest.raises(ModelLoadError, match=r"several GGUF files; add one: one.gguf, two.gguf"):
        chosen_weights("x", ["one.gguf", "two.gguf"])
    with pytest.raises(ModelLoadError, match="no weights"):
        chosen_weights("x", ["README.md"])


@pytest.mark.parametrize("source", ["/no/such/folder", "./nowhere", "a/b/c/d", "owner/na me"])
def test_what_is_neither_a_folder_nor_an_id_is_told(source: str) -> None:
    assert "check the spelling" in sentence(source)


def test_a_cut_weight_file_is_told(tmp_path: Path) -> None:
    folder = Path(save_model(tmp_path, "qwen3", seed=0))
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert "cut or damaged; delete it and download it again" in sentence(str(folder))


def test_missing_weights_are_never_made_up(tmp_path: Path) -> None:
    """The library would fill them with random numbers."""
    from safetensors.torch import load_file, save_file  # noqa: PLC0415

    folder = Path(save_model(tmp_path, "qwen3", seed=0))
    state = load_file(folder / "model.safetensors")
    state.pop("model.norm.weight")
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    assert "is incomplete: 1 of its weights are missing, model.norm.weight" in sentence(str(folder))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = Path(save_model(tmp_path, "qwen3", seed=0))
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-2.safetensors missing" in sentence(str(folder))


def test_another_tokenizer_is_refused_with_a_suggestion(model: str, tmp_path: Path) -> None:
    other = save_model(tmp_path, "llama", seed=0)
    text = sentence(model, other)
    assert "use different tokenizers" in text
    assert "n-gram lookup" in text


def test_vocabularies_may_differ_in_a_few_special_tokens_at_the_end() -> None:
    tokens = {f"t{i}": i for i in range(200)}
    names = ("target", "draft")
    assert shared_vocab_size({**tokens, "<x>": 200}, tokens, names=names) == 200
    assert shared_vocab_size(tokens, {**tokens, "<x>": 200}, names=names) == 200
    swapped = {**tokens, "t5": 6, "t6": 5}
    with pytest.raises(PairMismatchError, match="part at token 5 of 200"):
        shared_vocab_size(tokens, swapped, names=names)


def test_a_pair_larger_than_memory_is_refused_with_its_numbers(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footprint, "available_bytes", lambda device: 1_000_000)
    text = sentence(model, model)
    assert "1 MB of system memory are free" in text
    assert "needs about 1 MB (target 0 MB, draft 0 MB, caches 0 MB" in text
    assert "choose a lower precision or a smaller pair" in text
    monkeypatch.setattr(footprint, "available_bytes", lambda device: 1000)
    with pytest.raises(NotEnoughMemoryError):
        load(model, "")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (MambaConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2), "cannot be rolled back"),
        (T5Config(), "no model that continues text"),
    ],
)
def test_models_that_cannot_be_raced_are_refused_before_their_weights_are_read(
    config: object, words: str, tmp_path: Path
) -> None:
    config.save_pretrained(tmp_path)  # type: ignore[attr-defined]
    byte_tokenizer().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"never read")
    assert words in sentence(str(tmp_path))
    if isinstance(config, MambaConfig):
        with pytest.raises(UnsupportedCacheError):
            load(str(tmp_path), "")


def test_code_that_comes_with_a_model_is_never_run(model: str, tmp_path: Path) -> None:
    byte_tokenizer().save_pretrained(tmp_path)
    settings = {
        "model_type": "mystery",
        "auto_map": {
            "AutoConfig": "evil.Config",
            "AutoModelForCausalLM": "evil.Model",
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert "code of its own, which is never run here" in sentence(str(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_the_plan_is_what_is_held_after_loading(model: str, tmp_path: Path) -> None:
    pair = load(model, model, precision="bfloat16")
    plan = footprint.planned_bytes(
        footprint.skeleton_of(_config(model)), torch.bfloat16, quantization=None, device="cpu"
    )
    assert 0 <= pair.target_weights_bytes - plan < 1000


def _config(folder: str) -> object:
    from transformers import AutoConfig  # noqa: PLC0415

    return AutoConfig.from_pretrained(folder)
