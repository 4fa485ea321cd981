"""What to run: every field checked once, on creation. Knows no model."""

from __future__ import annotations

from dataclasses import dataclass

from specdemo.engine.sampling import SamplingParams
from specdemo.errors import InvalidRequestError, PromptTooLongError
from specdemo.models.catalog import PAIRS
from specdemo.settings import Limits

DRAFT_SOURCES = ("model", "ngram", "hybrid", "none")
DRAFT_LENGTHS = ("fixed", "heuristic", "confidence", "adaptive")
PRECISION_NAMES = ("auto", "float32", "bfloat16")
DEVICES = ("auto", "cpu", "cuda", "mps")
ORDERS = ("race", "one_after_another")


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One earlier turn of the conversation; `role` is user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """What to run, validated on creation; raises `InvalidRequestError`.

    An empty `system_prompt` leaves the model's own. `top_k` 0 and `top_p` 1 are off,
    temperature 0 is greedy. `num_draft_tokens` is the length of a fixed draft and of the first of a
    heuristic one; the other policies choose up to `Limits.chosen_draft_tokens`.
    """

    prompt: str
    is_chat: bool = True
    system_prompt: str = ""
    history: tuple[ChatTurn, ...] = ()
    pair: str = "smollm2-135m"
    precision: str = "auto"
    device: str = "auto"
    draft_source: str = "hybrid"
    num_draft_tokens: int = 4
    draft_length: str = "adaptive"
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int = 42
    max_new_tokens: int = 128
    order: str = "race"

    def __post_init__(self) -> None:
        limits = Limits()
        if not self.prompt.strip():
            raise InvalidRequestError("The prompt is empty; type something to answer or continue.")
        if len(self.prompt) > limits.prompt_characters:
            raise PromptTooLongError(
                f"The prompt has {len(self.prompt):,} characters, {limits.prompt_characters:,} "
                "are allowed; shorten it."
            )
        _check_choice("model pair", self.pair, tuple(PAIRS))
        _check_choice("precision", self.precision, PRECISION_NAMES)
        _check_choice("device", self.device, DEVICES)
        _check_choice("draft source", self.draft_source, DRAFT_SOURCES)
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
    def is_greedy(self) -> bool:
        """Whether the answer is determined by the prompt."""
        return self.temperature == 0

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
