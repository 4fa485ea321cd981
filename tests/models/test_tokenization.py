from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as BackendTokenizer
from tokenizers import decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from specdemo.models.tokenization import Pieces, Tokenizer, TokenTexts, prompt_pieces


def byte_tokenizer() -> Tokenizer:
    """Every byte is a token, so that every character beyond ASCII is several."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {symbol: index for index, symbol in enumerate(alphabet)}
    backend = BackendTokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>")
    fast.chat_template = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}a:"
    return Tokenizer(fast, [7])


TOKENIZER = byte_tokenizer()


@given(st.text(min_size=1, max_size=30).filter(lambda text: "\ufffd" not in text))
def test_pieces_add_up_to_the_text_whatever_its_script(text: str) -> None:
    ids = TOKENIZER.encode(text)
    assert "".join(Pieces(TOKENIZER, TOKENIZER.encode("x")).after(ids)) == text


@given(st.text(alphabet="aé漢🎉 \n", min_size=1, max_size=12), st.integers(1, 5))
def test_pieces_do_not_depend_on_how_the_text_is_cut_into_rounds(text: str, size: int) -> None:
    ids = TOKENIZER.encode(text)
    pieces = Pieces(TOKENIZER, TOKENIZER.encode("x"))
    cut: list[str] = []
    for first in range(0, len(ids), size):
        cut.extend(pieces.after(ids[first : first + size]))
        pieces.commit(ids[first : first + size])
    assert tuple(cut) == Pieces(TOKENIZER, TOKENIZER.encode("x")).after(ids)


def test_a_character_appears_with_the_token_that_completes_it() -> None:
    pieces = Pieces(TOKENIZER, TOKENIZER.encode("x")).after(TOKENIZER.encode("🎉!"))
    assert pieces == ("", "", "", "🎉", "!")


def test_leading_spaces_survive() -> None:
    assert Pieces(TOKENIZER, TOKENIZER.encode("x")).after(TOKENIZER.encode(" a")) == (" ", "a")


def test_looking_at_a_draft_does_not_change_the_text() -> None:
    pieces = Pieces(TOKENIZER, TOKENIZER.encode("x"))
    pieces.after(TOKENIZER.encode("refused"))
    assert pieces.after(TOKENIZER.encode("k")) == ("k",)


def test_end_tokens_are_the_union_of_model_and_tokenizer() -> None:
    eos = TOKENIZER._tokenizer.eos_token_id
    assert TOKENIZER.end_token_ids == {7, eos}


def test_a_chat_is_rendered_by_the_models_template() -> None:
    ids = TOKENIZER.encode_chat([{"role": "user", "content": "hi"}])
    assert TOKENIZER.decode(ids) == "user:hi;a:"
    assert TOKENIZER.has_chat_template


@pytest.mark.parametrize("text", ["a  b", " lead", "tail \n"])
def test_decoding_gives_back_the_text(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_the_texts_of_single_tokens_keep_their_space_and_name_their_bytes() -> None:
    texts = TokenTexts(TOKENIZER)
    space, letter, first_byte = (TOKENIZER.encode(text)[0] for text in (" ", "b", "é"))
    for token_id in (space, letter, first_byte):
        texts.note(token_id)
    shown = texts.by_token_id
    assert (shown[space], shown[letter]) == (" ", "b")
    assert shown[first_byte] == TOKENIZER.token_name(first_byte) == "Ã"


@given(st.text(alphabet="aé漢🎉 \n", min_size=1, max_size=12))
def test_the_pieces_of_a_prompt_add_up_to_it(text: str) -> None:
    ids = TOKENIZER.encode(text)
    pieces = prompt_pieces(TOKENIZER, ids)
    assert "".join(pieces) == text
    assert len(pieces) == len(ids)
