"""Compare people's guesses for a masked word with the predictions of every snapshot of a training run.

Shape legend: S snapshots, W guessed words, M masks, V vocabulary.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertlab.abilities.timeline.compute import SnapshotResult, load_and_run_snapshot
from bertlab.checkpoints.history import Snapshot, find_snapshots
from bertlab.checkpoints.locate import resolve_run
from bertlab.config.errors import TextError
from bertlab.text.tokenizers.wordpiece import Tokenizer

TOP_K = 5  # how many of the most probable tokens of each snapshot are listed


@dataclass(frozen=True)
class GuessTimeline:
    """The probabilities that each snapshot of a run assigns to the words that people guessed for a masked word."""

    snapshots: tuple[Snapshot, ...]
    """The snapshots in order."""
    words: tuple[str, ...]
    """The guessed words, the most frequent first."""
    shares_W: np.ndarray
    """The share of people that guessed each word; the shares sum to 1."""
    probs_SW: np.ndarray
    """The probability of each word in each snapshot; 0 for a word that is not one token of the vocabulary."""
    best_S: tuple[tuple[tuple[str, float], ...], ...]
    """For each snapshot, its most probable tokens with their probabilities, best first."""
    overlap_S: np.ndarray
    """How much each snapshot agrees with the people: the sum over all words of the smaller of share and probability,
    from 0 (no word in common) to 1 (the same distribution)."""

    @property
    def closest(self) -> int:
        """The index of the snapshot that agrees most with the people."""
        return int(self.overlap_S.argmax())


def compare_guesses(
    run: str | Path,
    text: str,
    counts: Mapping[str, int],
    *,
    run_snapshot: Callable[[Snapshot, int, str, str | None], SnapshotResult] = load_and_run_snapshot,
) -> GuessTimeline:
    """Compare people's guesses for the first [MASK] of a text with every snapshot of a run.

    Args:
        run: the run directory.
        text: the text with a [MASK].
        counts: guessed word -> number of people who guessed it, 1 or more.
        run_snapshot: (snapshot, number of snapshots, text, pair) -> SnapshotResult; it runs a snapshot on the text.

    Raises:
        DataError: there are no snapshots.
        TextError: the text has no [MASK], is too long, or nobody has guessed.
    """
    snapshots = find_snapshots(Path(run).expanduser())
    if not counts:
        raise TextError("guesses-missing")
    results = [run_snapshot(snapshot, len(snapshots), text, None) for snapshot in snapshots]
    if any(result.mask_probs_MV is None for result in results):
        raise TextError("guesses-no-mask")
    tokenizer = Tokenizer.load(resolve_run(snapshots[0].path))
    words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    shares_W = np.array([counts[word] for word in words]) / sum(counts.values())
    # the token id of each word; None for a word of several tokens
    word_ids = [ids[0] if len(ids) == 1 else None for ids in tokenizer.encode_plain(words)]
    probs_SW, best_S = np.zeros((len(snapshots), len(words))), []
    for index, result in enumerate(results):
        probs_V = result.mask_probs_MV[0].astype(np.float32)
        probs_SW[index] = [0.0 if id is None else float(probs_V[id]) for id in word_ids]
        best_ids = np.argsort(-probs_V)[:TOP_K].tolist()
        best_S.append(tuple(zip(tokenizer.tokens(best_ids), probs_V[best_ids].tolist(), strict=True)))
    overlap_S = np.minimum(probs_SW, shares_W).sum(-1)
    return GuessTimeline(tuple(snapshots), words, shares_W, probs_SW, tuple(best_S), overlap_S)
