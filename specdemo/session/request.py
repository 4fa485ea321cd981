"""What to run: every field checked once, on creation. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass

from specdemo.engine.sampling import SamplingParams
from specdemo.errors import InvalidRequestError, PromptTooLongError
from specdemo.models.catalog import PAIRS, is_custom
from specdemo.settings import Limits
from specdemo.trace import SERVER_DRAFTS, ChatTurn, RunSettings

DRAFT_SOURCES = ("model", "ngram", "hybrid", "none")
DRAFT_LENGTHS = ("fixed", "heuristic", "confidence", "adaptive")
PRECISION_NAMES = ("auto", "float32", "bfloat16", "8bit", "nf4")
QUANTIZE_CHOICES = ("both", "target", "draft")
DEVICES = ("auto", "cpu", "cuda", "mps")
ORDERS = ("race", "one_after_another")


@dataclass(frozen=True, slots=True)
class DecodeRequest(RunSettings):
    """What to run, validated on creation; raises `InvalidRequestError`.

    Draft-length policies other than fixed choose up to `Limits.chosen_draft_tokens`. `pair` is a
    name of the catalogue, `SERVER_PAIR`, or `TARGET` or `TARGET,DRAFT` as hub ids or local folders.
    """

    def __post_init__(self) -> None:
        limits = Limits()
        if not self.prompt.strip():
            raise InvalidRequestError("The prompt is empty; type something to answer or continue.")
        if len(self.prompt) > limits.prompt_characters:
            raise PromptTooLongError(
                f"The prompt has {len(self.prompt):,} characters, {limits.prompt_characters:,} "
                "are allowed; shorten it."
            )
        if not (self.is_served or is_custom(self.pair)):
            _check_choice("model pair", self.pair, tuple(PAIRS))
        _check_choice("precision", self.precision, PRECISION_NAMES)
        _check_choice("part to quantize", self.quantize, QUANTIZE_CHOICES)
        _check_choice("device", self.device, DEVICES)
        sources = (SERVER_DRAFTS, "none") if self.is_served else DRAFT_SOURCES
        _check_choice("draft source", self.draft_source, sources)
        _check_choice("draft length", self.draft_length, DRAFT_LENGTHS)
        _check_choice("order", self.order, ORDERS)
        _check_number("draft tokens", self.num_draft_tokens, 1, limits.num_draft_tokens)
        _check_number("temperature", self.temperature, 0.0, 5.0)
        _check_number("top-k", self.top_k, 0, 1_000_000)
        _check_number("top-p", self.top_p, 0.01, 1.0)
        _check_number("repetition penalty", self.repetition_penalty, 0.5, 3.0)
        _check_number("seed", self.seed, 0, 2**63 - 1)
        _check_number("max new tokens", self.max_new_tokens, 1, limits.new_tokens)

    @property
    def sampling_params(self) -> SamplingParams:
        """The numbers that shape the distributions of both lanes."""
        return SamplingParams(self.temperature, self.top_k, self.top_p, self.repetition_penalty)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation as chat templates take it."""
        system = [ChatTurn("system", self.system_prompt)] if self.system_prompt.strip() else []
        turns = [*system, *self.history, ChatTurn("user", self.prompt)]
        return [{"role": turn.role, "content": turn.text} for turn in turns]


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidRequestError(f"The {name} {value!r} is unknown; choose {', '.join(choices)}.")


def _check_number(name: str, value: float, low: float, high: float) -> None:
    # Written so that NaN fails too.
    if not low <= value <= high:
        raise InvalidRequestError(f"The {name} must lie between {low} and {high}; it is {value}.")
