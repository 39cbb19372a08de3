"""Text to WordPiece ids and back, with the place of every piece in the text (Devlin et al. 2019, section 3).

The work is done by the `tokenizers` library; this room says what a BERT needs of it: the five special pieces, the
[CLS] A [SEP] B [SEP] layout, offsets, and the three files of the Hugging Face layout. Ids equal those of
`transformers.BertTokenizer`. Knows no tensors, no model, no corpus.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from bertlab.config.errors import CheckpointError, DataError, TextError
from bertlab.config.files import write_atomically

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")


@dataclass(frozen=True)
class Encoding:
    """One input, [CLS] A [SEP] or [CLS] A [SEP] B [SEP]; every field has one entry a token.

    offsets: character start and end, into the text where `token_type_ids` is 0 and into the pair where it is 1; (0, 0)
    for the tokens of the layout. special: True for those, by position: a "[SEP]" or "[MASK]" inside a text is False.
    """

    ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]
    pieces: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    special: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A WordPiece vocabulary and its normalisation. Immutable in use, so any number of threads may share one.

    >>> import tempfile
    >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "green", "tea", "##pot", "##s"]
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     vocab = Path(directory) / "vocab.txt"
    ...     _ = vocab.write_text("\\n".join(pieces))
    ...     tokenizer = Tokenizer.from_vocab(vocab)
    >>> encoding = tokenizer.encode("Green teapots", "[MASK] tea")
    >>> encoding.pieces
    ('[CLS]', 'green', 'tea', '##pot', '##s', '[SEP]', '[MASK]', 'tea', '[SEP]')
    >>> encoding.offsets[3], "Green teapots"[9:12]
    ((9, 12), 'pot')
    >>> tokenizer.decode(encoding.ids)
    'green teapots tea'
    """

    def __init__(self, backend: tokenizers.Tokenizer):
        """Wrap a backend that already is a WordPiece with the five special pieces; users call `load` or `train`."""
        vocab = backend.get_vocab(with_added_tokens=True)
        missing = [piece for piece in SPECIAL_TOKENS if piece not in vocab]
        if missing:
            raise CheckpointError(f"the vocabulary has no {', '.join(missing)}: not a BERT vocabulary")
        if sorted(vocab.values()) != list(range(len(vocab))):
            raise CheckpointError(f"the ids of the vocabulary's {len(vocab)} pieces are not 0 to {len(vocab) - 1}")
        self._backend = backend
        self._pieces = tuple(sorted(vocab, key=vocab.__getitem__))
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (vocab[piece] for piece in SPECIAL_TOKENS)
        added = backend.get_added_tokens_decoder()
        self.special_ids = frozenset(id for id, token in added.items() if token.special) | {
            self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id,
        }  # fmt: skip

    # -- where one comes from ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, directory: str | Path, max_word_chars: int | None = None) -> "Tokenizer":
        """Open a checkpoint's tokenizer: tokenizer.json, else vocab.txt with tokenizer_config.json.

        Where nothing says whether a bare vocab.txt is cased, it is if any piece has a capital letter.

        Args:
            max_word_chars: a longer word becomes [UNK]; None keeps what the checkpoint says, or 100.

        Raises:
            CheckpointError: files missing or damaged, not a WordPiece, or without the five special pieces.
        """
        directory = Path(directory)
        if (directory / "tokenizer.json").is_file():
            return cls._from_json(directory / "tokenizer.json", max_word_chars)
        if not (directory / "vocab.txt").is_file():
            raise CheckpointError(f"{directory} has no tokenizer: neither tokenizer.json nor vocab.txt is there")
        config = {}
        if (directory / "tokenizer_config.json").is_file():
            config = _read_json(directory / "tokenizer_config.json")
        vocab = _read_vocab(directory / "vocab.txt")
        cased = _capital(vocab) is not None
        return cls(
            _backend(
                vocab,
                lowercase=bool(config.get("do_lower_case", not cased)),
                strip_accents=config.get("strip_accents"),
                chinese=bool(config.get("tokenize_chinese_chars", True)),
                max_word_chars=max_word_chars or 100,
            )
        )

    @classmethod
    def from_vocab(
        cls, path: str | Path, lowercase: bool = True, strip_accents: bool | None = None, max_word_chars: int = 100
    ) -> "Tokenizer":
        """A tokenizer from a vocab.txt alone: one piece a line, the line's number is the id.

        Args:
            strip_accents: None strips them if `lowercase`, as the first BERTs did.

        Raises:
            CheckpointError: the file is missing, empty, not UTF-8, repeats a piece or lacks a special one; or it has
                pieces that no text could ever give: capitals where texts are put in small letters, Hangul where accents
                are stripped.
        """
        vocab = _read_vocab(Path(path))
        if lowercase and (capital := _capital(vocab)):
            raise CheckpointError(
                f"{path} has pieces with capitals, {capital!r} for one, and an uncased tokenizer never gives them: "
                "read it as a cased one"
            )
        found = cls(_backend(vocab, lowercase, strip_accents, max_word_chars=max_word_chars))
        if found.language == "ko" and found.strips_accents:
            raise CheckpointError(
                f"{path} has Korean pieces, and an uncased tokenizer strips accents, which takes Hangul syllables "
                "apart: read it as a cased one"
            )
        return found

    @classmethod
    def _from_json(cls, path: Path, max_word_chars: int | None) -> "Tokenizer":
        data = _read_json(path)
        model = data.get("model")
        if not isinstance(model, dict):
            raise CheckpointError(f"{path} is damaged: it holds no model")
        kind = model.get("type", "WordPiece" if "max_input_chars_per_word" in model else "nameless")
        if kind != "WordPiece":
            raise CheckpointError(f"{path} is a {kind} tokenizer; bertlab reads BERT's WordPiece")
        if max_word_chars:
            model["max_input_chars_per_word"] = max_word_chars
        try:
            backend = tokenizers.Tokenizer.from_str(json.dumps(data))
        except Exception as error:  # noqa: BLE001 - the library raises nothing narrower for a malformed file
            raise CheckpointError(f"{path} is damaged: {error}") from None
        # Sentence encoders store "cut at 128, pad to 128" here; how long an input may be is the model's affair.
        backend.no_truncation()
        backend.no_padding()
        return cls(backend)

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
        """Learn a WordPiece vocabulary; the same texts in the same order give the same one.

        Args:
            vocab_size: pieces at most; ids 0 to 4 are [PAD] [UNK] [CLS] [SEP] [MASK].
            strip_accents: None strips them if uncased. Stripping takes Hangul syllables apart, so it is refused for
                Korean; `cased=True` or `strip_accents=False` keep them whole.
            min_frequency: pairs of pieces seen fewer times are not joined.
            coverage: share of the characters (of the first 20 million) that get a piece of their own; words with the
                others become [UNK].

        Raises:
            DataError: no text, Korean with accents stripped, or a vocabulary too small for the alphabet.
        """
        texts = iter(texts)
        sample = list(_first_characters(texts, 20_000_000))
        backend = _backend(list(SPECIAL_TOKENS), not cased, strip_accents)
        seen, hangul = Counter(), 0
        for text in sample:
            hangul += len(_HANGUL.findall(text))
            seen.update(backend.normalizer.normalize_str(_valid(text)))
        for space in [c for c in seen if c.isspace()]:
            del seen[space]
        if not seen:
            raise DataError("there is no text to learn a vocabulary from")
        if hangul > 0.05 * seen.total() and backend.normalizer.normalize_str("한") != "한":
            raise DataError(
                "an uncased vocabulary strips accents, which takes Hangul syllables apart: learn a cased one (--cased)"
            )
        alphabet = _alphabet(seen, coverage)
        # Punctuation and Chinese characters always stand alone, so they need no "##" form.
        split = backend.pre_tokenizer.pre_tokenize_str
        inner = [f"##{c}" for c in alphabet if len(split(backend.normalizer.normalize_str(f"a{c}"))) == 1]
        fewest = len(SPECIAL_TOKENS) + len(alphabet) + len(inner)
        if vocab_size < fewest:
            raise DataError(f"{vocab_size} pieces are too few: the alphabet of this text alone takes {fewest}")
        # Named in advance, in order, or the library numbers the "##x" in the order of a hash table, which differs from
        # run to run and decides between pairs that are equally frequent.
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=[*SPECIAL_TOKENS, *inner],
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        backend.train_from_iterator((_valid(text) for text in chain(sample, texts)), trainer=trainer)
        learnt = backend.get_vocab()
        vocab = sorted(learnt, key=learnt.__getitem__)
        return cls(_backend(vocab, not cased, strip_accents))

    def save(self, directory: str | Path, max_tokens: int = 512) -> None:
        """Write tokenizer.json, vocab.txt and tokenizer_config.json, each whole or not at all.

        Args:
            max_tokens: the longest input of the model this belongs to; only noted for other programs.

        Raises:
            BertlabError: the directory cannot be written.
        """
        own = json.loads(self._backend.to_str())
        usual = (own["normalizer"] or {}).get("type") == "BertNormalizer" and self.max_word_chars == 100
        config = {
            "tokenizer_class": "BertTokenizer" if usual else "PreTrainedTokenizerFast",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strips_accents,
            "tokenize_chinese_chars": len(self._normalised("中")) > 1,
            "model_max_length": max_tokens,
            **{f"{piece[1:-1].lower()}_token": piece for piece in SPECIAL_TOKENS},
        }
        files = {
            "tokenizer.json": self._backend.to_str(pretty=True),
            "vocab.txt": "".join(f"{piece}\n" for piece in self._pieces),
            "tokenizer_config.json": json.dumps(config, indent=2) + "\n",
        }
        for name, text in files.items():
            write_atomically(Path(directory, name), text)

    # -- what it does --------------------------------------------------------------------------------------------

    def encode(self, text: str, pair: str | None = None, *, max_tokens: int | None = None) -> Encoding:
        """[CLS] text [SEP], or [CLS] text [SEP] pair [SEP].

        Raises:
            TextError: more than `max_tokens` tokens, those of the layout counted.
        """
        return self.encode_batch([text], None if pair is None else [pair], max_tokens=max_tokens)[0]

    def encode_batch(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_tokens: int | None = None
    ) -> list[Encoding]:
        """`encode` for many texts at once, on every core."""
        segments = self.encode_segments(texts if pairs is None else [*texts, *pairs])
        if pairs is None:
            encodings = [self._laid_out(segment) for segment in segments]
        else:
            first, second = segments[: len(texts)], segments[len(texts) :]
            encodings = [self._laid_out(a, b) for a, b in zip(first, second, strict=True)]
        longest = max(map(len, encodings), default=0)
        if max_tokens is not None and longest > max_tokens:
            raise TextError("text-too-long", tokens=longest, limit=max_tokens)
        return encodings

    def encode_segments(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        """Bare texts, no layout: the library's own rows, with `.ids`, `.tokens` and `.offsets` (characters)."""
        return self._backend.encode_batch([_valid(text) for text in texts], add_special_tokens=False)

    def encode_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Bare ids of many texts, no layout and no offsets: the fast way."""
        return _ids(self._backend, texts)

    def encode_plain(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode_ids` where nothing in a text is a special piece: "[SEP]" is five letters, as a corpus means it."""
        return _ids(self._plain, texts)

    @cached_property
    def _plain(self) -> tokenizers.Tokenizer:
        backend = tokenizers.Tokenizer.from_str(self._backend.to_str())
        backend.encode_special_tokens = True
        return backend

    @cached_property
    def language(self) -> str:
        """What it is made for, as far as its pieces tell."""
        return language_of(self._pieces)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The piece of every id, "##" kept."""
        return [self._pieces[id] for id in ids]

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Ids back to a readable text; spaces and, if uncased, capitals of the original are not recovered."""
        return self._backend.decode([int(id) for id in ids], skip_special_tokens=skip_special)

    @property
    def vocab_size(self) -> int:
        return len(self._pieces)

    @cached_property
    def digest(self) -> str:
        """A short fingerprint of vocabulary and rules: equal digests give equal ids."""
        return hashlib.sha256(self._backend.to_str().encode()).hexdigest()[:16]

    @cached_property
    def lowercase(self) -> bool:
        return self._normalised("A") == "a"

    @cached_property
    def strips_accents(self) -> bool:
        """Whether "é" is read as "e"; such a tokenizer also takes Hangul syllables apart."""
        return self._normalised("é") == "e"

    @property
    def max_word_chars(self) -> int:
        return self._backend.model.max_input_chars_per_word

    def _normalised(self, text: str) -> str:
        return self._backend.normalizer.normalize_str(text) if self._backend.normalizer else text

    def _laid_out(self, a: tokenizers.Encoding, b: tokenizers.Encoding | None = None) -> Encoding:
        """[CLS] and [SEP] are put in here and not by the library, so a "[SEP]" in a text is never taken for ours."""
        ids, pieces, offsets = [self.cls_id, *a.ids, self.sep_id], ["[CLS]", *a.tokens, "[SEP]"], a.offsets
        offsets = [(0, 0), *offsets, (0, 0)]
        special = [True, *[False] * len(a), True]
        types = [0] * len(ids)
        if b is not None:
            ids += [*b.ids, self.sep_id]
            pieces += [*b.tokens, "[SEP]"]
            offsets += [*b.offsets, (0, 0)]
            special += [*[False] * len(b), True]
            types += [1] * (len(b) + 1)
        return Encoding(tuple(ids), tuple(types), tuple(pieces), tuple(offsets), tuple(special))


def language_of(texts: Sequence[str]) -> str:
    """The language of texts, or of pieces: "ko" where a third of them have Hangul, else "en".

    >>> language_of(["Who built it?", "방앗간은 언제 지었나?"]), language_of(["Who?"])
    ('ko', 'en')
    """
    return "ko" if 3 * sum(_HANGUL.search(text) is not None for text in texts) >= len(texts) else "en"


def _backend(
    vocab: list[str], lowercase: bool, strip_accents: bool | None, chinese: bool = True, max_word_chars: int = 100
) -> tokenizers.Tokenizer:
    """The five stages of BERT's tokenizer over a list of pieces."""
    ids = {piece: id for id, piece in enumerate(vocab)}
    backend = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=max_word_chars))
    backend.normalizer = normalizers.BertNormalizer(True, chinese, strip_accents, lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    present = [piece for piece in SPECIAL_TOKENS if piece in ids]
    backend.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in present])
    if {"[CLS]", "[SEP]"} <= ids.keys():
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
        )
    return backend


def _capital(vocab: Iterable[str]) -> str | None:
    """A piece with a capital letter, if a vocabulary has one beside its special pieces."""
    return next((p for p in vocab if not re.fullmatch(r"\[.*\]", p) and p.lower() != p), None)


def _read_vocab(path: Path) -> list[str]:
    text = _read_text(path)
    # Not `splitlines`: some vocabularies hold U+2028 and its like as pieces.
    vocab = text.rstrip("\n").split("\n") if text.strip() else []
    if not vocab:
        raise CheckpointError(f"{path} is empty: expected one piece a line")
    if len(set(vocab)) < len(vocab):
        piece, times = Counter(vocab).most_common(1)[0]
        raise CheckpointError(f"{path} is damaged: {piece!r} is there {times} times")
    missing = [piece for piece in SPECIAL_TOKENS if piece not in set(vocab)]
    if missing:
        raise CheckpointError(f"{path} has no {', '.join(missing)}: not a BERT vocabulary")
    return vocab


def _read_json(path: Path) -> dict:
    try:
        data = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path} is damaged: line {error.lineno} is not JSON") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} is damaged: expected a JSON object")
    return data


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CheckpointError(f"{path} is damaged: not UTF-8 text") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None


def _ids(backend: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    rows = backend.encode_batch_fast([_valid(text) for text in texts], add_special_tokens=False)
    return [row.ids for row in rows]


def _valid(text: str) -> str:
    """Lone surrogates, which no UTF-8 can hold, become U+FFFD: dropped as the normaliser does, offsets unmoved."""
    if not isinstance(text, str):
        raise TextError("a text is a string: give one text at a time")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _first_characters(texts: Iterator[str], limit: int) -> Iterator[str]:
    for text in texts:
        yield text
        limit -= len(text)
        if limit <= 0:
            return


def _alphabet(seen: Counter, coverage: float) -> list[str]:
    """The most frequent characters that make up `coverage` of a text, in code point order.

    >>> _alphabet(Counter("aaaabbbc"), 0.8)
    ['a', 'b']
    """
    kept, missing = [], coverage * seen.total()
    for char, count in sorted(seen.items(), key=lambda item: (-item[1], item[0])):
        if missing <= 0:
            break
        kept.append(char)
        missing -= count
    return sorted(kept)
