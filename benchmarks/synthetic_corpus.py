"""A prepared corpus of random words, for benchmarks that are run without `--corpus`."""

from pathlib import Path

import numpy as np

from bertlab.training.pretraining.prepare import PrepareConfig
from bertlab.training.pretraining.prepare import run as prepare

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def prepare_synthetic_corpus(directory: Path, vocab_size: int, num_documents: int = 1500) -> Path:
    """Write documents of random words whose frequencies follow Zipf's law, and prepare them for pre-training.

    Args:
        directory: where to write the corpus; the text is written to `synthetic.txt` next to it.
        vocab_size: maximum size of the vocabulary.
        num_documents: the number of documents. Each has 400 words.

    Returns:
        The directory of the corpus.
    """
    rng = np.random.default_rng(0)
    # 20,000 words of one to four syllables; a syllable is a consonant and a vowel
    syllables = rng.integers(0, [len(CONSONANTS), len(VOWELS)], (20_000, 4, 2))
    words = np.array(
        ["".join(CONSONANTS[c] + VOWELS[v] for c, v in word[: 1 + i % 4]) for i, word in enumerate(syllables)]
    )
    text = directory.with_name("synthetic.txt")
    with text.open("w", encoding="utf-8") as file:
        for _ in range(num_documents):
            for _ in range(25):  # 25 sentences of 16 words each
                ranks = np.minimum(rng.zipf(1.2, 16), len(words)) - 1
                file.write(f"{' '.join(words[ranks]).capitalize()}.\n")
            file.write("\n")
    prepare(PrepareConfig((str(text),), directory, vocab_size=vocab_size, workers=1))
    return directory
