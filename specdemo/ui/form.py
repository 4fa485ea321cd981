"""The page's fields and the request that they describe. Knows no component."""

from __future__ import annotations

from secrets import randbelow
from typing import NamedTuple

from specdemo.models.catalog import PAIRS, custom_name
from specdemo.session import ChatTurn, DecodeRequest
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR

DEFAULTS = DecodeRequest(prompt="?")
_SEED_LIMIT = 2**31

# What can be chosen, with the key of the words for it.
PRECISIONS = {
    "auto": "precision_auto",
    "float32": "precision_float32",
    "bfloat16": "precision_bfloat16",
    "8bit": "precision_8bit",
    "nf4": "precision_nf4",
}
# A pair's title is its own word.
MODELS = {name: pair.title for name, pair in PAIRS.items()}
CUSTOM = "custom"
SERVERS = {SERVER_PAIR: "servers"}
QUANTIZE = {"both": "quantize_both", "target": "quantize_target", "draft": "quantize_draft"}
DRAFT_SOURCES = {
    "hybrid": "draft_hybrid",
    "model": "draft_model",
    "ngram": "draft_ngram",
    "none": "draft_none",
}
DRAFT_LENGTHS = {
    "adaptive": "length_adaptive",
    "fixed": "length_fixed",
    "heuristic": "length_heuristic",
    "confidence": "length_confidence",
}
MODES = {"chat": "mode_chat", "completion": "mode_completion"}
ORDERS = {"race": "order_race", "one_after_another": "order_one_after_another"}


class Form(NamedTuple):
    """The page's fields, in the order in which they are wired."""

    prompt: str | None
    precision: str
    mode: str
    draft_source: str
    draft_length: str
    num_draft_tokens: float | None
    temperature: float | None
    top_k: float | None
    top_p: float | None
    repetition_penalty: float | None
    seed: float | None
    max_new_tokens: float | None
    order: str
    system_prompt: str | None
    quantize: str = DEFAULTS.quantize
    double_quantization: bool = DEFAULTS.double_quantization
    strict: bool = DEFAULTS.strict
    models: str = DEFAULTS.pair
    custom_target: str | None = None
    custom_draft: str | None = None

    @property
    def pair(self) -> str:
        """The chosen pair, or the one that was typed."""
        if self.models != CUSTOM:
            return self.models
        return custom_name(self.custom_target or "", self.custom_draft or "")

    @property
    def has_gaps(self) -> bool:
        """Whether a number was left empty."""
        numbers = (
            self.num_draft_tokens,
            self.temperature,
            self.top_k,
            self.top_p,
            self.repetition_penalty,
            self.seed,
            self.max_new_tokens,
        )
        return None in numbers


def request_from(form: Form, conversation: tuple[ChatTurn, ...] = ()) -> DecodeRequest:
    """The request that a form without gaps describes; raises InvalidRequestError.

    Servers choose their precision and their drafts themselves, whatever the fields say.
    """
    is_chat = form.mode == "chat"
    is_served = form.models == SERVER_PAIR
    return DecodeRequest(
        prompt=form.prompt or "",
        is_chat=is_chat,
        system_prompt=(form.system_prompt or "").strip(),
        history=conversation if is_chat else (),
        pair=form.pair,
        precision=DEFAULTS.precision if is_served else form.precision,
        quantize=form.quantize,
        double_quantization=form.double_quantization,
        strict=form.strict and not is_served,
        draft_source=SERVER_DRAFTS if is_served else form.draft_source,
        draft_length=form.draft_length,
        num_draft_tokens=int(form.num_draft_tokens or 0),
        temperature=float(form.temperature or 0),
        top_k=int(form.top_k or 0),
        top_p=float(form.top_p or 0),
        repetition_penalty=float(form.repetition_penalty or 0),
        seed=int(form.seed or 0),
        max_new_tokens=int(form.max_new_tokens or 0),
        order=form.order,
    )


def new_seed() -> int:
    """A seed that is most likely another one."""
    return randbelow(_SEED_LIMIT)
