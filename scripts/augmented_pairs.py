"""Make the rows of the last training step of *sentences_ko*: rated pairs of KLUE-STS, and new pairs that a model rates.

Run `python scripts/augmented_pairs.py OUT STS ENCODER RATER`. STS is a directory with train.parquet and
validation.parquet (`sentence1`, `sentence2`, `label` from 0 to 5), ENCODER a checkpoint for sentence vectors, and RATER
one that predicts the similarity of a pair, such as *klue_sts*. OUT becomes a directory with the same two files. A new
pair consists of a training sentence and one of its nearest neighbours; no sentence of the validation pairs is used.

Source: Thakur et al. 2021 (arXiv 2010.08240), augmented SBERT.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import bertlab

SENTENCES = 10_000  # training sentences among which neighbours are searched
NEW_PAIRS = 4_900  # before pairs that exist already are dropped
RATED_PAIRS = 10_046  # as many as for the first version of *sentences_ko*
NEIGHBOURS = 8
HIGHEST = 5  # the largest similarity of KLUE-STS
SEED = 6


def pair_neighbours(train: pd.DataFrame, encoder: str) -> list[tuple[str, str]]:
    """Pair training sentences with one of their nearest neighbours, without pairs of the training data."""
    rng = np.random.default_rng(SEED)
    sentences = pd.unique(pd.concat([train.sentence1, train.sentence2]))
    sentences = sentences[rng.permutation(len(sentences))[:SENTENCES]]
    vectors_SP = np.asarray(bertlab.load(encoder).embed(list(sentences)))
    known = {frozenset(pair) for pair in zip(train.sentence1, train.sentence2, strict=True)}
    pairs = []
    for index in rng.permutation(len(sentences))[:NEW_PAIRS]:
        nearest = np.argsort(-(vectors_SP @ vectors_SP[index]))[1 : NEIGHBOURS + 1]  # the first is the sentence itself
        pair = sentences[index], sentences[rng.choice(nearest)]
        if frozenset(pair) not in known:
            known.add(frozenset(pair))
            pairs.append(pair)
    return pairs


def main(out: str, sts: str, encoder: str, rater: str) -> None:
    """Write the rows."""
    train, validation = (pd.read_parquet(Path(sts, f"{name}.parquet")) for name in ("train", "validation"))
    held_out = {*validation.sentence1, *validation.sentence2}
    train = train[~(train.sentence1.isin(held_out) | train.sentence2.isin(held_out))]
    pairs = pair_neighbours(train, encoder)
    session = bertlab.load(rater)
    values = [min(max(session.classify(*pair).value, 0.0), HIGHEST) for pair in pairs]
    new = pd.DataFrame(pairs, columns=["sentence1", "sentence2"]).assign(label=values)
    rows = pd.concat([train.sample(RATED_PAIRS, random_state=SEED), new], ignore_index=True)
    Path(out).mkdir(parents=True, exist_ok=True)
    rows.to_parquet(Path(out, "train.parquet"))
    validation.to_parquet(Path(out, "validation.parquet"))
    print(f"{len(rows):,} rows, {len(new):,} of them new")


if __name__ == "__main__":
    main(*sys.argv[1:])
