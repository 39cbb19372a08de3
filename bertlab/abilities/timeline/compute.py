"""Run every snapshot of a training run on one text: attention, predictions for masks and for a sentence pair.

Shape legend: B batch, S snapshots, L layers, N heads, T tokens, H hidden, V vocabulary, M masks, W tokens of a track.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bertlab.abilities.encode import encode, make_batch_of_one, make_token_rows
from bertlab.abilities.results import TokenRow
from bertlab.checkpoints import checkpoint
from bertlab.checkpoints.checkpoint import Checkpoint
from bertlab.checkpoints.history import Snapshot, find_snapshots
from bertlab.config.config import ModelConfig
from bertlab.config.errors import DataError, TextError
from bertlab.nn.trace import Trace
from bertlab.tasks.inference import find_device
from bertlab.tasks.registry import TASK_TYPES

MAX_PROBS = 10_000_000  # maximum number of attention probabilities of all snapshots together
TOP_K = 6  # number of most probable tokens that are stored for each mask in each snapshot


@dataclass(frozen=True)
class SnapshotResult:
    """Attention and predictions of one snapshot for a text."""

    snapshot: Snapshot
    """The snapshot."""
    digest: str
    """The digest of the tokenizer's vocabulary."""
    tokens: tuple[TokenRow, ...]
    """The tokens of the text."""
    probs_LNTT: np.ndarray
    """Attention probabilities, float16."""
    positions: tuple[int, ...]
    """Positions of the masks."""
    mask_probs_MV: np.ndarray | None
    """The probability of every token at each mask, float16; None if there is no MLM output layer or no mask."""
    best_M: tuple[dict[int, str], ...]
    """The most probable tokens for each mask, id -> text."""
    follows: float | None
    """The probability that B follows A; None if there is no B or no NSP output layer."""


@dataclass(frozen=True)
class Track:
    """Predictions for one mask in all snapshots."""

    position: int
    """The position of the mask."""
    words: tuple[str, ...]
    """The tokens that are among the most probable in any snapshot, those with the largest probability in the
    last snapshot first."""
    probs_SW: np.ndarray
    """The probability of these tokens in each snapshot, 0..1."""


@dataclass(frozen=True)
class Timeline:
    """Attention and predictions for one text in all snapshots of a run."""

    tokens: tuple[TokenRow, ...]
    """The tokens of the text, the same in every snapshot."""
    snapshots: tuple[Snapshot, ...]
    """The snapshots in order."""
    probs: tuple[np.ndarray, ...]
    """Attention probabilities of each snapshot, probs_LNTT."""
    tracks: tuple[Track, ...]
    """The predictions for each [MASK]."""
    follows: tuple[float, ...] | None
    """The probability that B follows A in each snapshot; None if a snapshot does not predict it."""


def timeline(
    run: str | Path,
    text: str,
    pair: str | None = None,
    *,
    run_snapshot: Callable[[Snapshot, int, str, str | None], SnapshotResult] | None = None,
    on_progress: Callable[[int, int], None] = lambda finished, total: None,
) -> Timeline:
    """Compute the outputs of every snapshot of a training run for one text.

    Args:
        run: the run directory.
        text: sentence A, with or without [MASK].
        pair: sentence B.
        run_snapshot: (snapshot, number of snapshots, text, pair) -> SnapshotResult. The default is
            `load_and_run_snapshot`; the app passes a function with a cache.
        on_progress: called after each snapshot with the number of finished snapshots and the total number.

    Raises:
        DataError: there are no snapshots, or they differ in vocabulary or size, so they are not of one run.
        TextError: the text is empty, or too long for the model or for this number of snapshots.
        CheckpointError: a snapshot is damaged.
    """
    run_snapshot = run_snapshot or load_and_run_snapshot
    snapshots = find_snapshots(Path(run).expanduser())
    results: list[SnapshotResult] = []
    for num_finished, snapshot in enumerate(snapshots, 1):
        results.append(run_snapshot(snapshot, len(snapshots), text, pair))
        _check_same_run(results[0], results[-1])
        on_progress(num_finished, len(snapshots))
    return join_results(results)


def load_and_run_snapshot(snapshot: Snapshot, count: int, text: str, pair: str | None = None) -> SnapshotResult:
    """Load a snapshot and run it on a text; see `run_open_snapshot`."""
    return run_open_snapshot(checkpoint.load(snapshot.path), snapshot, count, text, pair)


@torch.inference_mode()
def run_open_snapshot(
    loaded: Checkpoint, snapshot: Snapshot, count: int, text: str, pair: str | None = None
) -> SnapshotResult:
    """Compute the outputs of a snapshot for a text.

    Args:
        loaded: the open checkpoint of the snapshot.
        snapshot: the snapshot.
        count: the number of snapshots of the run; it limits the number of tokens, see `check_fits`.
        text: sentence A, with or without [MASK].
        pair: sentence B.

    Raises:
        TextError: the text is empty, or too long for the model or for this number of snapshots.
    """
    encoding = encode(loaded.tokenizer, text, pair, loaded.config)
    rows = make_token_rows(encoding)
    check_fits(loaded.config, len(rows), count)
    model, trace = loaded.model, Trace.of("probs")
    encoded = model(make_batch_of_one(encoding, find_device(model)), trace=trace)
    masks = tuple(row.position for row in rows if row.id == loaded.tokenizer.mask_id)
    mask_probs_MV, best_M = None, ()
    if masks and TASK_TYPES["masked_lm"].head in loaded.heads:
        logits_MV = model.mlm(encoded.hidden_BTH[0, list(masks)])[:, : loaded.tokenizer.vocab_size]
        mask_probs_MV = logits_MV.softmax(-1).half().cpu().numpy()
        best = logits_MV.topk(min(TOP_K, loaded.tokenizer.vocab_size)).indices.tolist()
        best_M = tuple(dict(zip(ids, loaded.tokenizer.tokens(ids), strict=True)) for ids in best)
    follows = None
    if pair is not None and TASK_TYPES["sentence_pair"].head in loaded.heads:
        follows = float(model.nsp(encoded.pooled_BH)[0].softmax(-1)[0])
    probs_LNTT = torch.cat(trace["probs"]).half().cpu().numpy()
    return SnapshotResult(snapshot, loaded.tokenizer.digest, rows, probs_LNTT, masks, mask_probs_MV, best_M, follows)


def check_fits(config: ModelConfig, tokens: int, count: int) -> None:
    """Check that the attention of `tokens` tokens in `count` snapshots is small enough to be shown smoothly.

    Raises:
        TextError: there are more than `MAX_PROBS` attention probabilities.
    """
    total_heads = config.num_layers * config.num_heads
    if count * total_heads * tokens**2 > MAX_PROBS:
        limit = int((MAX_PROBS / count / total_heads) ** 0.5)
        raise TextError("timeline-text-too-long", tokens=tokens, snapshots=count, heads=total_heads, limit=limit)


def join_results(results: Sequence[SnapshotResult]) -> Timeline:
    """Join the results of all snapshots for one text into a timeline.

    Raises:
        DataError: the snapshots are not of one run.
    """
    first = results[0]
    for other in results[1:]:
        _check_same_run(first, other)
    tracks = []
    if all(result.mask_probs_MV is not None for result in results):
        for mask, position in enumerate(first.positions):
            probs_SV = np.stack([result.mask_probs_MV[mask] for result in results]).astype(np.float32)
            best = {id: token for result in results for id, token in result.best_M[mask].items()}
            ids = sorted(best, key=lambda id: -probs_SV[-1, id])
            tracks.append(Track(position, tuple(best[id] for id in ids), probs_SV[:, ids]))
    follows = tuple(result.follows for result in results)
    return Timeline(
        tokens=first.tokens,
        snapshots=tuple(result.snapshot for result in results),
        probs=tuple(result.probs_LNTT for result in results),
        tracks=tuple(tracks),
        follows=None if None in follows else follows,
    )


def _check_same_run(first: SnapshotResult, other: SnapshotResult) -> None:
    """Raise DataError if two snapshots differ in vocabulary or size."""
    names = {"first": first.snapshot.path.name, "second": other.snapshot.path.name}
    if first.digest != other.digest:
        raise DataError("snapshots-vocabularies-differ", **names)
    if first.probs_LNTT.shape != other.probs_LNTT.shape:
        sizes = [f"{result.probs_LNTT.shape[0]} x {result.probs_LNTT.shape[1]}" for result in (first, other)]
        raise DataError("snapshots-sizes-differ", **names, first_size=sizes[0], second_size=sizes[1])
