"""Encode text as WordPiece tokens with their positions in the text, and decode ids (Devlin et al. 2019, section 3).

The `tokenizers` library splits the text. This module adds what BERT needs: the five special tokens, the layout
[CLS] A [SEP] B [SEP], offsets, and the three tokenizer files of a Hugging Face checkpoint. The ids are the same as
those of `transformers.BertTokenizer`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path

import tokenizers

from bertlab.config.errors import CheckpointError, TextError
from bertlab.config.files import write_atomically
from bertlab.config.languages import DEFAULT, detect_language, has_latin_letters, languages
from bertlab.text.tokenizers.encoding import (
    SPECIAL_TOKENS,
    Encoding,
    Segment,
    TokenSegment,
    add_layout,
    find_special_tokens,
)
from bertlab.text.tokenizers.files import (
    build_backend,
    find_capitalised_token,
    open_backend,
    read_vocab,
    translate_failures,
)
from bertlab.text.tokenizers.search import (
    CONTINUATION,
    MergeHistory,
    WordSearch,
    find_merges,
    search_word,
    shows_merge_order,
)
from bertlab.text.tokenizers.training import learn_vocabulary, replace_surrogates

__all__ = ["SPECIAL_TOKENS", "Encoding", "Tokenizer"]

# A vocabulary with at least this many words of a second language counts as multilingual. The shipped vocabularies,
# which are not multilingual, have fewer than 150.
MIN_WORDS = 500


class Tokenizer:
    """A WordPiece vocabulary and the normalisation of texts. It is immutable, so threads can share it.

    >>> import tempfile
    >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "green", "tea", "##pot", "##s"]
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     vocab = Path(directory) / "vocab.txt"
    ...     _ = vocab.write_text("\\n".join(tokens))
    ...     tokenizer = Tokenizer.from_vocab(vocab)
    >>> encoding = tokenizer.encode("Green teapots", "[MASK] tea")
    >>> encoding.tokens
    ('[CLS]', 'green', 'tea', '##pot', '##s', '[SEP]', '[MASK]', 'tea', '[SEP]')
    >>> encoding.offsets[3], "Green teapots"[9:12]
    ((9, 12), 'pot')
    >>> tokenizer.decode(encoding.ids)
    'green teapots tea'
    """

    def __init__(self, backend: tokenizers.Tokenizer):
        """Wrap a WordPiece tokenizer of the `tokenizers` library. Most callers use `load` or `train` instead."""
        vocab = backend.get_vocab(with_added_tokens=True)
        self.special = find_special_tokens(vocab)
        if sorted(vocab.values()) != list(range(len(vocab))):
            raise CheckpointError("vocab-ids-not-consecutive", tokens=len(vocab), last=len(vocab) - 1)
        self._backend = backend
        self._tokens = tuple(sorted(vocab, key=vocab.__getitem__))
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            vocab[token] for token in self.special.names
        )
        added = backend.get_added_tokens_decoder()
        self.special_ids = frozenset(id for id, token in added.items() if token.special) | {
            self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id,
        }  # fmt: skip

    # -- loading, training, saving -------------------------------------------------------------------------------

    @classmethod
    def load(cls, directory: str | Path, max_word_chars: int | None = None) -> "Tokenizer":
        """Open the tokenizer of a checkpoint: tokenizer.json or, without it, vocab.txt and tokenizer_config.json.

        A vocab.txt without settings counts as cased if any of its tokens has a capital letter.

        Args:
            max_word_chars: a longer word becomes [UNK]; None for the value in tokenizer.json, or 100 for a vocab.txt.
        """
        backend = open_backend(Path(directory), max_word_chars)
        return TOKENIZER_CLASSES.get(type(backend.model), Tokenizer)(backend)

    @classmethod
    def from_vocab(
        cls, path: str | Path, lowercase: bool = True, strip_accents: bool | None = None, max_word_chars: int = 100
    ) -> "Tokenizer":
        """Make a tokenizer from a vocab.txt alone, which has one token per line."""
        path = Path(path)
        vocab = read_vocab(path)
        if lowercase and (capitalised := find_capitalised_token(vocab)):
            raise CheckpointError("vocab-cased", path=path, token=repr(capitalised))
        tokenizer = cls(build_backend(vocab, lowercase, strip_accents, max_word_chars=max_word_chars))
        if tokenizer.language != DEFAULT:
            uses_script = languages()[tokenizer.language].uses_script
            split_token = next((t for t in vocab if uses_script(t) and tokenizer._normalise(t) != t), None)
            if split_token is not None:
                raise CheckpointError("vocab-syllables-split", path=path, token=repr(split_token))
        return tokenizer

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        cased: bool = False,
        strip_accents: bool | None = None,
        min_frequency: int = 2,
        coverage: float = 0.9995,
    ) -> "Tokenizer":
        """Learn a WordPiece vocabulary; the same texts in the same order give the same vocabulary.

        Args:
            strip_accents: whether to remove accents; None removes them if `cased` is False. Removing them from Korean
                is an error, because it splits Hangul syllables: use `cased=True` or `strip_accents=False`.
            min_frequency: how often a pair of tokens must occur to be merged into one token.
            coverage: the most frequent characters get a token of their own, until they make up this share of the first
                20 million characters; words with rarer characters become [UNK].
        """
        vocab = learn_vocabulary(texts, vocab_size, cased, strip_accents, min_frequency, coverage)
        return cls(build_backend(vocab, not cased, strip_accents))

    def save(self, directory: str | Path, max_tokens: int = 512) -> None:
        """Write tokenizer.json, vocab.txt and tokenizer_config.json, each atomically.

        Args:
            max_tokens: the maximum input length of the model, which is recorded for other programs.
        """
        description = self.describe()
        normalizer_type = (description["normalizer"] or {}).get("type")
        has_bert_settings = normalizer_type == "BertNormalizer" and self.max_word_chars == 100
        config = {
            "tokenizer_class": "BertTokenizer" if has_bert_settings else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strips_accents,
            "tokenize_chinese_chars": len(self._normalise("中")) > 1,
            "model_max_length": max_tokens,
            **{
                f"{role[1:-1].lower()}_token": token
                for role, token in zip(SPECIAL_TOKENS, self.special.names, strict=True)
            },
        }
        files = {
            "tokenizer.json": self._backend.to_str(pretty=True),
            "vocab.txt": "".join(f"{token}\n" for token in self._tokens),
            "tokenizer_config.json": json.dumps(config, indent=2) + "\n",
        }
        for name, text in files.items():
            write_atomically(Path(directory, name), text)

    def describe(self) -> dict:
        """Return the content of tokenizer.json, which describes every step of the tokenizer and its vocabulary."""
        return json.loads(self._backend.to_str())

    # -- encoding and decoding -----------------------------------------------------------------------------------

    def encode(self, text: str, pair: str | None = None, *, max_tokens: int | None = None) -> Encoding:
        """Encode a text as [CLS] text [SEP], or two texts as [CLS] text [SEP] pair [SEP]."""
        return self.encode_batch([text], None if pair is None else [pair], max_tokens=max_tokens)[0]

    def encode_batch(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_tokens: int | None = None
    ) -> list[Encoding]:
        """Encode many texts at once, in parallel; see `encode`."""
        segments = self.encode_segments(texts if pairs is None else [*texts, *pairs])
        if pairs is None:
            encodings = [self._add_layout(segment) for segment in segments]
        else:
            first, second = segments[: len(texts)], segments[len(texts) :]
            encodings = [self._add_layout(a, b) for a, b in zip(first, second, strict=True)]
        longest = max(map(len, encodings), default=0)
        if max_tokens is not None and longest > max_tokens:
            raise TextError("text-too-long", tokens=longest, limit=max_tokens)
        return encodings

    def encode_segments(self, texts: Sequence[str]) -> list[Segment]:
        """Encode texts without [CLS] and [SEP].

        What follows a [MASK] without a space is encoded as the end of a word, as in training, where the beginning of
        the word is masked after the word was split.
        """
        texts = [_clean_text(text) for text in texts]
        with translate_failures("tokenizer-failed", TextError):
            rows = self._backend.encode_batch(texts, add_special_tokens=False)
            return [
                self._continue_after_masks(text, row) if self.special.mask in text else row
                for text, row in zip(texts, rows, strict=True)
            ]

    def _continue_after_masks(self, text: str, row: tokenizers.Encoding) -> Segment:
        """Encode what follows each [MASK] of a text without a space as the end of a word."""
        all_ids, all_offsets, word_indices = row.ids, row.offsets, row.word_ids
        ids, offsets = [], []
        first = 0
        for _, word in groupby(word_indices):
            end = first + len(list(word))
            word_ids, word_offsets = all_ids[first:end], all_offsets[first:end]
            start, stop = word_offsets[0][0], word_offsets[-1][1]
            after_mask = first > 0 and all_ids[first - 1] == self.mask_id and word_ids[0] not in self.special_ids
            # characters that the normalisation removes may stand between the mask and the word
            if (
                after_mask
                and self._normalise(text[all_offsets[first - 1][0] : start].split(self.special.mask)[-1]) == ""
            ):
                word_end = self._encode_word_end(text[start:stop])
                if word_end is not None:
                    word_ids = word_end.ids
                    word_offsets = [(start + begin, start + end) for begin, end in word_end.offsets]
            ids += word_ids
            offsets += word_offsets
            first = end
        return TokenSegment(ids, self.tokens(ids), offsets)

    def _encode_word_end(self, word: str) -> tokenizers.Encoding | None:
        """Encode the end of a word; None if it cannot continue a word, or its tokens are not in the vocabulary."""
        if not word or word[0].isspace() or not self._continues_letters(word):
            return None
        row = self._word_end_backend.encode(word, add_special_tokens=False)
        return None if self.unk_id in row.ids else row

    def _continues_letters(self, word: str) -> bool:
        """Whether a word forms one word with a letter before it; punctuation marks and ideographs do not."""
        splitter = self._backend.pre_tokenizer
        return not splitter or len(splitter.pre_tokenize_str(self._normalise(f"a{word}"))) == 1

    @cached_property
    def _word_end_backend(self) -> tokenizers.Tokenizer:
        """The backend for texts that are the end of a word."""
        return tokenizers.Tokenizer.from_str(json.dumps(self._describe_word_ends()))

    def _describe_word_ends(self) -> dict:
        """Return the content of a tokenizer.json that gives the end of a word the ids of its "##" tokens."""
        description = self.describe() | {"added_tokens": [], "post_processor": None}
        model = description["model"]
        continuations = {token: id for token, id in model["vocab"].items() if token.startswith(CONTINUATION)}
        model["vocab"] = {self.special.unk: self.unk_id} | continuations
        model["vocab"] |= {token.removeprefix(CONTINUATION): id for token, id in continuations.items()}
        return description

    def search(self, text: str) -> list[WordSearch]:
        """Split every word of a text by the longest-match search, and return the steps; see `search_word`.

        A special token in the text, such as "[MASK]", is a word of its own.
        """
        parts = re.split(f"({'|'.join(map(re.escape, self.special_tokens))})", _clean_text(text))
        searches = []
        for previous, part in pairwise(["", *parts]):
            if part in self.special_tokens:
                searches.append(WordSearch(part, (), (part,)))
                continue
            normalised, splitter = self._normalise(part), self._backend.pre_tokenizer
            words = splitter.pre_tokenize_str(normalised) if splitter else [(normalised, (0, len(normalised)))]
            for word, (start, _) in filter(itemgetter(0), words):
                is_word_end = previous == self.special.mask and start == 0 and self._continues_letters(word)
                searches.append(self._search_word(word, is_word_end))
        return searches

    def _search_word(self, word: str, is_word_end: bool) -> WordSearch:
        """Search for the tokens of a word; if the end of a word cannot be split, search for it as a whole word."""
        found = search_word(word, self.vocab, self.max_word_chars, self._tokens[self.unk_id], is_word_end)
        is_unknown = found.tokens == (self._tokens[self.unk_id],)
        return self._search_word(word, False) if is_word_end and is_unknown else found

    def merges(self, tokens: Iterable[str]) -> list[MergeHistory] | None:
        """Reconstruct the merges that built tokens in training; None if the vocabulary does not show their order."""
        if not self._shows_merge_order:
            return None
        # single characters and special tokens exist before training
        merged = (t for t in self.vocab if t not in self.special_tokens and len(t.removeprefix(CONTINUATION)) > 1)
        first_id = min((self.vocab[token] for token in merged), default=len(self.vocab))
        return [find_merges(token, self.vocab, first_id) for token in tokens if token not in self.special_tokens]

    @cached_property
    def _shows_merge_order(self) -> bool:
        return shows_merge_order(self.vocab, self.special_tokens)

    @cached_property
    def vocab(self) -> Mapping[str, int]:
        return {token: id for id, token in enumerate(self._tokens)}

    @cached_property
    def special_tokens(self) -> frozenset[str]:
        """The tokens that stand for no text, such as "[CLS]"."""
        return frozenset(self._tokens[id] for id in self.special_ids)

    @property
    def kind(self) -> str:
        """WordPiece, BPE or Unigram."""
        return "WordPiece"

    def continues_word(self, id: int) -> bool:
        """Whether a token continues the word of the token before it."""
        return self._tokens[id].startswith(CONTINUATION)

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return only the ids of many texts, without [CLS], [SEP] and offsets; this is the fastest way."""
        rows = _encode_ids(self._backend, texts)
        masked = [index for index, text in enumerate(texts) if self.special.mask in text]
        for index, segment in zip(masked, self.encode_segments([texts[index] for index in masked]), strict=True):
            rows[index] = list(segment.ids)
        return rows

    def encode_plain(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts; "[SEP]" and the like in a text are ordinary characters, as in a corpus."""
        return _encode_ids(self._plain_backend, texts)

    def encode_word(self, word: str) -> list[int]:
        """Return the ids of a word as it stands inside a text; special tokens in it are ordinary characters."""
        return self.encode_plain([word])[0]

    @cached_property
    def _plain_backend(self) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer.from_str(self._backend.to_str())
        backend.encode_special_tokens = True
        return backend

    @cached_property
    def language(self) -> str:
        """The language of the tokens, a code of `bertlab.config.languages`."""
        return detect_language(self._tokens)

    def reads_language(self, code: str) -> bool:
        """Return whether the vocabulary is that of a language or, as in multilingual models, has many words of it."""
        return code == self.language or self._word_counts.get(code, 0) >= MIN_WORDS

    @cached_property
    def _word_counts(self) -> dict[str, int]:
        """Language code -> the number of tokens of at least two letters in the script of that language."""
        words = [token for token in self.tokens(range(self.vocab_size)) if sum(map(str.isalpha, token)) > 1]
        script_tests = {
            code: has_latin_letters if code == DEFAULT else row.uses_script for code, row in languages().items()
        }
        return {code: sum(map(uses_script, words)) for code, uses_script in script_tests.items()}

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the token of every id, including "##"."""
        return [self._tokens[id] for id in ids]

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Return a readable text for ids. Original spaces are lost; with an uncased vocabulary, capitals too."""
        with translate_failures("tokenizer-failed", TextError):
            return self._backend.decode([int(id) for id in ids], skip_special_tokens=skip_special)

    @property
    def vocab_size(self) -> int:
        return len(self._tokens)

    @cached_property
    def digest(self) -> str:
        """A short fingerprint of vocabulary and normalisation; tokenizers with equal digests give equal ids."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()[:16]

    @cached_property
    def lowercase(self) -> bool:
        """Whether texts are converted to lower case."""
        return self._normalise("A") == "a"

    @cached_property
    def strips_accents(self) -> bool:
        """Whether "é" becomes "e"; such a tokenizer also splits Hangul syllables."""
        return self._normalise("é") == "e"

    @property
    def max_word_chars(self) -> int:
        """The maximum number of characters in a word; a longer word becomes [UNK]."""
        return self._backend.model.max_input_chars_per_word

    def _normalise(self, text: str) -> str:
        if not self._backend.normalizer:
            return text
        with translate_failures("tokenizer-failed", TextError):
            return self._backend.normalizer.normalize_str(text)

    def _add_layout(self, a: Segment, b: Segment | None = None) -> Encoding:
        return add_layout(self.special, self.cls_id, self.sep_id, a, b)


# type of a model of the `tokenizers` library -> the class for it, if that is not `Tokenizer`
TOKENIZER_CLASSES: dict[type, type[Tokenizer]] = {}


def _encode_ids(backend: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    texts = [_clean_text(text) for text in texts]
    with translate_failures("tokenizer-failed", TextError):
        return [row.ids for row in backend.encode_batch_fast(texts, add_special_tokens=False)]


def _clean_text(text: str) -> str:
    if not isinstance(text, str):
        raise TextError("text-not-a-string")
    return replace_surrogates(text)
