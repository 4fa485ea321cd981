"""Text to token ids and back, and the pieces of text that tokens add. Knows no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from jinja2 import TemplateError
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from specdemo.errors import InvalidRequestError

_REPLACEMENT = "\ufffd"
_END_OF_TURN = ("<|im_end|>", "<|endoftext|>", "<end_of_turn>", "<|eot_id|>", "<|end_of_text|>")


class Tokenizer:
    """A pair's tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, model_end_token_ids: Sequence[int]):
        self._tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        marks = [vocabulary[mark] for mark in _END_OF_TURN if mark in vocabulary]
        own = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
        # The union: some models end a turn with a token that is not their end of text.
        self.end_token_ids = frozenset([*model_end_token_ids, *own, *marks])

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        model_end_token_ids: Sequence[int] = (),
        *,
        gguf_file: str | None = None,
    ) -> Tokenizer:
        """The tokenizer that lies beside a model's weights, or inside its GGUF file."""
        options = {"gguf_file": gguf_file} if gguf_file else {}
        found = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **options)
        return cls(found, model_end_token_ids)

    @property
    def vocabulary(self) -> dict[str, int]:
        """Every token and its id, special ones included."""
        return dict(self._tokenizer.get_vocab())

    @property
    def has_chat_template(self) -> bool:
        """Whether the model was taught to chat."""
        return self._tokenizer.chat_template is not None

    def encode_chat(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """Token ids of a conversation, up to where the assistant begins to answer."""
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        except TemplateError as error:
            raise InvalidRequestError(
                f"This model's chat template refuses the conversation ({error.message}); leave the "
                "system prompt empty, or choose completion."
            ) from error
        return self.encode_as_is(str(text))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text to be continued."""
        token_ids = list(self._tokenizer.encode(text))
        first = self._tokenizer.bos_token_id
        # A text that brings its own beginning of text gets no second one.
        return token_ids[1:] if token_ids[:2] == [first, first] else token_ids

    def encode_as_is(self, text: str) -> list[int]:
        """Token ids of a text in which a template wrote the special tokens already."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of an answer, without end tokens."""
        return str(
            self._tokenizer.decode(
                list(token_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )

    def decode_all(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included."""
        return str(self._tokenizer.decode(list(token_ids), clean_up_tokenization_spaces=False))

    def token_name(self, token_id: int) -> str:
        """The vocabulary's own name of a token."""
        return str(self._tokenizer.convert_ids_to_tokens(token_id))


class Pieces:
    """What each token adds to a text, by the difference of decoded prefixes.

    A token that only begins a character has an empty piece; the one that completes it has the
    character. Spaces before words survive, which decoding single ids would lose.
    """

    # Enough left context for any character and any space rule.
    _CONTEXT = 16

    def __init__(self, tokenizer: Tokenizer, prompt_token_ids: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._tail = list(prompt_token_ids[-self._CONTEXT :])

    def after(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """The pieces of `token_ids`, were they to follow the text so far."""
        shown = self._tokenizer.decode_all(self._tail).rstrip(_REPLACEMENT)
        pieces = []
        for count in range(1, len(token_ids) + 1):
            text = self._tokenizer.decode_all([*self._tail, *token_ids[:count]])
            whole = text.rstrip(_REPLACEMENT)
            pieces.append(whole[len(shown) :])
            shown = whole if len(whole) > len(shown) else shown
        return tuple(pieces)

    def commit(self, token_ids: Sequence[int]) -> None:
        """Make `token_ids` part of the text."""
        self._tail = [*self._tail, *token_ids][-self._CONTEXT :]


class TokenTexts:
    """The texts of single tokens, each as it would follow a word; kept once worked out.

    A token that is only part of a character has no text of its own: it is shown by its bytes' name.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._anchor = tokenizer.encode("a")[-1:]
        self._before = len(tokenizer.decode_all(self._anchor))
        self._texts: dict[int, str] = {}

    @property
    def by_token_id(self) -> Mapping[int, str]:
        """A view of all texts so far; entries are added, never changed."""
        return MappingProxyType(self._texts)

    def note(self, token_id: int) -> None:
        """Work out the text of a token that is not known yet."""
        if token_id not in self._texts:
            text = self._tokenizer.decode_all([*self._anchor, token_id])[self._before :]
            is_whole = text and _REPLACEMENT not in text
            self._texts[token_id] = text if is_whole else self._tokenizer.token_name(token_id)


def prompt_pieces(tokenizer: Tokenizer, token_ids: Sequence[int]) -> tuple[str, ...]:
    """What each token adds to the text of a prompt."""
    pieces = Pieces(tokenizer, [])
    shown: list[str] = []
    for token_id in token_ids:
        shown.extend(pieces.after([token_id]))
        pieces.commit([token_id])
    return tuple(shown)
