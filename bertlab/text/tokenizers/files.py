"""Read the files of a tokenizer, which may be untrusted, and build its backend, a `tokenizers.Tokenizer`.

The `tokenizers` library runs whatever tokenizer.json describes. Some normalisers make a text exponentially longer, and
some values make the Rust code panic. Therefore only the components that the supported model families use are accepted,
and the types of their values are checked.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from bertlab.config.errors import BertlabError, CheckpointError, first_line
from bertlab.config.files import read_json_object, read_text
from bertlab.text.tokenizers.encoding import SPECIAL_TOKENS

# The types that are accepted for each part of a tokenizer.json. A "Sequence" is a list of such components.
NORMALIZERS = {
    "BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Sequence",
    "Precompiled", "Replace", "Strip",
}  # fmt: skip
PRE_TOKENIZERS = {
    "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Digits", "Sequence", "ByteLevel", "Metaspace",
}  # fmt: skip
POST_PROCESSORS = {"TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel", "Sequence"}
DECODERS = {"WordPiece", "ByteLevel", "Metaspace"}
# part of a tokenizer.json -> the accepted types of its components
PARTS = {
    "normalizer": NORMALIZERS, "pre_tokenizer": PRE_TOKENIZERS, "post_processor": POST_PROCESSORS, "decoder": DECODERS,
}  # fmt: skip
# part -> the field of its "Sequence" that lists the members
SEQUENCE_FIELDS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors"}
MAX_MEMBERS = 8  # the maximum number of members of a "Sequence"
# A normalisation table of SentencePiece may replace a character with a text of at most this many bytes.
MAX_REPLACEMENT_BYTES = 128
# A tokenizer.json may set the maximum word length to at most this many characters. The time to split a word is
# quadratic in its length.
MAX_WORD_CHARS = 10_000
# Tokenizer files that bertlab does not read; `transformers` can convert them to a tokenizer.json.
UNREAD_FILES = ("sentencepiece.bpe.model", "spiece.model", "spm.model", "vocab.json")


def build_backend(
    vocab: list[str], lowercase: bool, strip_accents: bool | None, split_chinese: bool = True, max_word_chars: int = 100
) -> tokenizers.Tokenizer:
    """Build BERT's tokenizer for a list of tokens.

    Args:
        strip_accents: whether "é" becomes "e"; None for the same as `lowercase`.
        max_word_chars: a longer word becomes [UNK].
    """
    ids = {token: id for id, token in enumerate(vocab)}
    backend = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=max_word_chars))
    backend.normalizer = normalizers.BertNormalizer(True, split_chinese, strip_accents, lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    special_tokens = [token for token in SPECIAL_TOKENS if token in ids]
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special_tokens])
    if {"[CLS]", "[SEP]"} <= ids.keys():
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
        )
    return backend


def open_backend(directory: Path, max_word_chars: int | None = None) -> tokenizers.Tokenizer:
    """Build the backend of a checkpoint's tokenizer; see `Tokenizer.load`."""
    if (directory / "tokenizer.json").is_file():
        return read_backend(directory / "tokenizer.json", max_word_chars)
    if not (directory / "vocab.txt").is_file():
        if unread_file := next((name for name in UNREAD_FILES if (directory / name).is_file()), None):
            raise CheckpointError("tokenizer-file-unread", path=directory, file=unread_file)
        raise CheckpointError("tokenizer-missing", path=directory)
    settings = read_settings(directory / "tokenizer_config.json")
    vocab = read_vocab(directory / "vocab.txt")
    return build_backend(
        vocab,
        lowercase=settings.get("do_lower_case", find_capitalised_token(vocab) is None),
        strip_accents=settings.get("strip_accents"),
        split_chinese=settings.get("tokenize_chinese_chars", True),
        max_word_chars=max_word_chars or 100,
    )


def read_backend(path: Path, max_word_chars: int | None = None) -> tokenizers.Tokenizer:
    """Build the tokenizer that a tokenizer.json describes."""
    data = read_json_object(path)
    model = data.get("model")
    if not isinstance(model, dict):
        raise CheckpointError("tokenizer-no-model", path=path)
    guessed_type = "WordPiece" if "max_input_chars_per_word" in model else "BPE" if "merges" in model else "unnamed"
    model_type = model.setdefault("type", guessed_type)
    if not isinstance(model_type, str) or model_type not in MODEL_SETTINGS:
        raise CheckpointError("tokenizer-type-unknown", path=path, type=_shorten_value(model_type))
    if max_word_chars and model_type == "WordPiece":
        model["max_input_chars_per_word"] = max_word_chars
    _check_model(path, model)
    _check_added_tokens(path, data.get("added_tokens"))
    for part, accepted_types in PARTS.items():
        if data.get(part) is not None:
            _check_part(path, part, data[part], accepted_types)
    # Checkpoints for sentence vectors store "truncate to 128, pad to 128" here, but callers decide about input lengths.
    data["truncation"] = data["padding"] = None
    with translate_failures("tokenizer-damaged", CheckpointError, path=path):
        return tokenizers.Tokenizer.from_str(json.dumps(data))


def read_vocab(path: Path) -> list[str]:
    """Read the tokens of a vocab.txt, one per line; the id of a token is the index of its line, from 0."""
    text = read_text(path)
    # `splitlines` would also split at U+2028 and similar characters, which are tokens in some vocabularies.
    vocab = text.rstrip("\n").split("\n") if text.strip() else []
    if not vocab:
        raise CheckpointError("vocab-empty", path=path)
    if len(set(vocab)) < len(vocab):
        token, times = Counter(vocab).most_common(1)[0]
        raise CheckpointError("vocab-token-repeated", path=path, token=repr(token), times=times)
    if missing := [token for token in SPECIAL_TOKENS if token not in set(vocab)]:
        raise CheckpointError("vocab-special-tokens-missing", path=path, tokens=missing)
    return vocab


def read_settings(path: Path) -> dict[str, bool | None]:
    """Read the normalisation settings that a tokenizer_config.json contains; {} if the file does not exist."""
    if not path.is_file():
        return {}
    fields = read_json_object(path)
    settings = {name: fields.get(name) for name in ("do_lower_case", "strip_accents", "tokenize_chinese_chars")}
    for name, value in settings.items():
        if value is not None and not isinstance(value, bool):
            raise CheckpointError("tokenizer-setting-invalid", path=path, name=name, value=_shorten_value(value))
    return {name: value for name, value in settings.items() if value is not None}


def find_capitalised_token(vocab: Iterable[str]) -> str | None:
    """Return the first token with a capital letter, not counting special tokens; None if there is no such token."""
    return next((token for token in vocab if not re.fullmatch(r"\[.*\]", token) and token.lower() != token), None)


@contextmanager
def translate_failures(id: str, error_type: type[BertlabError], **params: object) -> Iterator[None]:
    """Convert a failure of the `tokenizers` library in a `with` block into an `error_type` with this id.

    The library raises plain `Exception`s, and `ValueError`, `TypeError` or `OverflowError` for arguments that it cannot
    convert. A panic of its Rust code raises `PanicException`, which is not a subclass of `Exception`.
    """
    try:
        yield
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"
        if not is_panic and type(error) not in (Exception, ValueError, TypeError, OverflowError):
            raise
        raise error_type(id, **params, reason=first_line(error)) from None


# type of a model -> {setting: whether a value is valid together with a vocabulary}
MODEL_SETTINGS = {
    "WordPiece": {
        "unk_token": lambda value, vocab: value == "[UNK]",
        "continuing_subword_prefix": lambda value, vocab: isinstance(value, str),
        "max_input_chars_per_word": lambda value, vocab: type(value) is int and 0 < value <= MAX_WORD_CHARS,
    },
    "BPE": {
        "continuing_subword_prefix": lambda value, vocab: value is None or isinstance(value, str),
        "end_of_word_suffix": lambda value, vocab: value is None or isinstance(value, str),
        "unk_token": lambda value, vocab: value is None or isinstance(value, str),
        "dropout": lambda value, vocab: not value,  # it would leave out merges at random
    },
    "Unigram": {"unk_id": lambda value, vocab: value is None or (type(value) is int and 0 <= value < len(vocab))},
}


def _check_model(path: Path, model: dict) -> None:
    """Raise CheckpointError for an invalid vocabulary or setting of a model."""

    def is_pair(row: object, *second_types: type) -> bool:
        return isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and type(row[1]) in second_types

    vocab, merges = model.get("vocab"), model.get("merges")
    if model["type"] == "Unigram":
        is_valid = isinstance(vocab, list) and all(is_pair(row, int, float) for row in vocab)
    else:
        is_valid = isinstance(vocab, dict) and all(type(id) is int and 0 <= id < 2**31 for id in vocab.values())
    if model["type"] == "BPE":
        has_merges = isinstance(merges, list) and all(isinstance(row, str) or is_pair(row, str) for row in merges)
        is_valid = is_valid and has_merges
    if not vocab or not is_valid:
        raise CheckpointError("tokenizer-vocab-invalid", path=path)
    for name, is_valid_setting in MODEL_SETTINGS[model["type"]].items():
        if name in model and not is_valid_setting(model[name], vocab):
            raise CheckpointError("tokenizer-setting-invalid", path=path, name=name, value=_shorten_value(model[name]))


def _check_normalizer(path: Path, fields: dict) -> None:
    """Raise CheckpointError if a normaliser could make texts much longer."""
    type_name = fields["type"]
    if type_name == "Replace":
        content, pattern = fields.get("content"), fields.get("pattern")
        kind, text = next(iter(pattern.items())) if isinstance(pattern, dict) and len(pattern) == 1 else ("", "")
        is_known = (kind == "String" and isinstance(text, str) and text) or (kind, text) == ("Regex", " {2,}")
        if not is_known or not isinstance(content, str) or len(content) > 1:
            raise CheckpointError("tokenizer-setting-invalid", path=path, name=type_name, value=_shorten_value(fields))
    if type_name == "Precompiled":
        try:
            table = base64.b64decode(fields.get("precompiled_charsmap") or "", validate=True)
            size = int.from_bytes(table[:4], "little")
            longest = max(map(len, table[4 + size :].split(b"\0")))
        except (TypeError, ValueError):
            longest = None
        if longest is None or not 0 < size <= len(table) or longest > MAX_REPLACEMENT_BYTES:
            raise CheckpointError("tokenizer-setting-invalid", path=path, name=type_name, value="…")


def _check_added_tokens(path: Path, added: object) -> None:
    """Raise CheckpointError if the tokens that are added to the vocabulary, such as [CLS], have invalid fields."""
    if added is None:
        return
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    for token in added if isinstance(added, list) else [None]:
        is_valid = (
            isinstance(token, dict)
            and type(token.get("id")) is int
            and 0 <= token["id"] < 2**31
            and isinstance(token.get("content"), str)
            and token["content"] != ""
            and all(isinstance(token.get(flag, False), bool) for flag in flags)
        )
        if not is_valid:
            raise CheckpointError("tokenizer-added-tokens-invalid", path=path)


def _check_part(path: Path, part: str, fields: object, accepted_types: set[str], is_member: bool = False) -> None:
    """Raise CheckpointError for a normaliser, pre-tokeniser, post-processor or decoder that is not supported."""
    type_name = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(type_name, str) or type_name not in accepted_types or (is_member and type_name == "Sequence"):
        raise CheckpointError("tokenizer-part-unknown", path=path, part=part, type=_shorten_value(type_name))
    if type_name == "Sequence":
        members = fields.get(SEQUENCE_FIELDS[part])
        if not isinstance(members, list) or len(members) > MAX_MEMBERS:
            raise CheckpointError("tokenizer-part-unknown", path=path, part=part, type=type_name)
        for member in members:
            _check_part(path, part, member, accepted_types, is_member=True)
    elif part == "normalizer" and type_name in ("Replace", "Precompiled"):
        _check_normalizer(path, fields)
    elif type_name == "BertNormalizer":
        for name, value in fields.items():
            if name != "type" and not (isinstance(value, bool) or (name == "strip_accents" and value is None)):
                raise CheckpointError("tokenizer-setting-invalid", path=path, name=name, value=_shorten_value(value))


def _shorten_value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:39]}…"
