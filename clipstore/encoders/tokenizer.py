"""Canonical text to token ids: exactly open_clip's ids, each word looked up once."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, final

from open_clip.tokenizer import SimpleTokenizer

from clipstore import keys
from clipstore.encoders import canonical
from clipstore.encoders.bpe import merged
from clipstore.encoders.protocol import Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

_REMEMBERED = 500_000  # words; real captions have far fewer


class Tokenizer(Protocol):
    """Canonical texts to tokens; called from several threads at once.

    ``reference`` is open_clip's own tokenizer behind it.
    """

    cleaning: str
    fields: object
    reference: Any

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text."""
        ...


def wrap(tokenizer: Any, context_length: int) -> Tokenizer:
    """Return the quickest exact form of one of open_clip's tokenizers."""
    if not isinstance(tokenizer, SimpleTokenizer) or tokenizer.reduction_fn is not None:
        return OwnTokenizer(tokenizer, context_length)
    return BpeTokenizer(tokenizer, context_length)


@final
class BpeTokenizer:
    """OpenAI's byte pair encoding, with each word's ids remembered.

    Exact for any text: no token spans white space, so a text's ids are its words' ids one
    after the other. Canonical text is not cleaned again; only lower-cased, for a prefix
    such as ``A photo depicts``.
    """

    def __init__(self, tokenizer: SimpleTokenizer, context_length: int) -> None:
        self.reference: Any = tokenizer
        self._ends, self._context = (tokenizer.sot_token_id, tokenizer.eot_token_id), context_length
        self._words = _Words(tokenizer)
        usual = tokenizer.clean_fn.__name__ == "_clean_lower"
        self.cleaning = canonical.OPENAI_BPE if usual else canonical.IDENTITY
        self._clean = str.lower if usual else tokenizer.clean_fn
        self.fields: object = {"name": "openai-bpe", "size": tokenizer.vocab_size, "clean": tokenizer.clean_fn.__name__}

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Return start, the text's ids and end; too long: cut, the last id overwritten by the end."""
        look_up, clean, context = self._words.__getitem__, self._clean, self._context
        start, end = self._ends
        found: list[Tokens] = []
        for text in texts:
            ids = (start, *chain.from_iterable(map(look_up, clean(text).split())), end)
            if len(ids) > context:
                found.append(Tokens((*ids[: context - 1], end), len(ids) - context))
            else:
                found.append(Tokens(ids))
        return found


class _Words(dict[str, tuple[int, ...]]):
    """Word -> its ids; a word that is asked for first is encoded. Safe in threads: two may learn it twice."""

    def __init__(self, tokenizer: SimpleTokenizer) -> None:
        super().__init__()
        self._tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        known, ids = self._pieces, list[int]()
        for piece in self._tokenizer.pat.findall(word):
            ids += known.get(piece) or self._learn(piece)
        if len(self) < _REMEMBERED:
            self[word] = tuple(ids)
        return tuple(ids)

    def _learn(self, piece: str) -> list[int]:
        """Encode one piece of a word: letters, a digit, an ending such as 's, or other signs."""
        tokenizer = self._tokenizer
        letters = [tokenizer.byte_encoder[byte] for byte in piece.encode()]
        whole = "".join(letters) + "</w>"
        if whole in tokenizer.encoder:  # merging leads to each whole word of the vocabulary: tested on all of them
            parts = [whole]
        elif "<" in piece:  # perhaps a special string, which open_clip takes as it stands
            parts = tokenizer.bpe("".join(letters)).split(" ")
        else:
            parts = merged([*letters[:-1], letters[-1] + "</w>"], tokenizer.bpe_ranks)
        ids = [tokenizer.encoder[part] for part in parts]
        if len(self._pieces) < _REMEMBERED:
            self._pieces[piece] = ids
        return ids


@final
class OwnTokenizer:
    """Any other tokenizer, called as it is: its own cleaning, its own padding.

    Ids are padded to the context as the tokenizer pads. Tokens cut are counted where its
    own tokenizer tells how long the text would have been.
    """

    cleaning = canonical.IDENTITY

    def __init__(self, tokenizer: Any, context_length: int) -> None:
        self.reference: Any = tokenizer
        self._tokenizer, self._context = tokenizer, context_length
        inner: Any = getattr(tokenizer, "tokenizer", None)
        self.fields: object = {
            "name": type(tokenizer).__name__,
            "vocabulary": keys.digest_json(inner.get_vocab()) if hasattr(inner, "get_vocab") else "",
            "reduction": getattr(getattr(tokenizer, "reduction_fn", None), "__name__", ""),
            "mode": getattr(tokenizer, "tokenizer_mode", ""),
            "clean": getattr(getattr(tokenizer, "clean_fn", None), "__name__", ""),
            "strip": bool(getattr(tokenizer, "strip_sep_token", False)),
        }

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the padded ids of each text."""
        if not texts:
            return []
        rows = self._tokenizer(list(texts), context_length=self._context).tolist()
        return [Tokens(tuple(row), self._cut(text)) for row, text in zip(rows, texts, strict=True)]

    def _cut(self, text: str) -> int:
        inner, clean = getattr(self._tokenizer, "tokenizer", None), getattr(self._tokenizer, "clean_fn", None)
        if inner is None or clean is None or len(text) < self._context // 2:
            return 0
        return max(0, len(inner(clean(text)).input_ids) - self._context)
