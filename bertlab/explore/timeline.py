"""A training run scrubbed through: what every snapshot attends to and says of one text.

Its parts are attention probabilities and the two heads of pre-training (Devlin et al. 2019, sections 3.1 and A.2).
Knows no picture, and nothing of how runs are made.

Shape legend: S snapshots, L layers, N heads, T tokens, V vocabulary, M masks, W words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bertlab.checkpoints.history import Snapshot, find_snapshots
from bertlab.config.config import ModelConfig
from bertlab.config.errors import DataError, TextError
from bertlab.explore.encode import alone, encode, token_rows
from bertlab.explore.facts import TokenRow
from bertlab.explore.predict import device_of
from bertlab.explore.session import Session, load
from bertlab.nn.trace import Trace

MOST = 10_000_000  # probabilities of attention in all moments together
TOP = 6  # words that a moment brings in for each mask


@dataclass(frozen=True)
class Moment:
    """What one snapshot makes of the text: probs_LNTT (float16); words_MV, the probability of every piece of the
    vocabulary behind each mask (float16; None without a masked-word head); follows, the probability that B follows A
    (None without B or without that head). positions: of the masks; best_M: for each, the best pieces by their ids;
    digest: of the vocabulary."""

    snapshot: Snapshot
    digest: str
    tokens: tuple[TokenRow, ...]
    probs_LNTT: np.ndarray
    positions: tuple[int, ...]
    words_MV: np.ndarray | None
    best_M: tuple[dict[int, str], ...]
    follows: float | None


@dataclass(frozen=True)
class Track:
    """The words that were ever among the best behind one mask, and the probability of each at every snapshot:
    probs_SW, in 0..1; sorted by the last snapshot's."""

    position: int
    words: tuple[str, ...]
    probs_SW: np.ndarray


@dataclass(frozen=True)
class Timeline:
    """One text through a run: the same tokens at every snapshot. probs: probs_LNTT of each; tracks: one for each
    [MASK]; follows: the probability that B follows A at each, or None."""

    tokens: tuple[TokenRow, ...]
    snapshots: tuple[Snapshot, ...]
    probs: tuple[np.ndarray, ...]
    tracks: tuple[Track, ...]
    follows: tuple[float, ...] | None


def timeline(
    run: str | Path,
    text: str,
    pair: str | None = None,
    *,
    ask: Callable[[Snapshot, int, str, str | None], Moment] | None = None,
    done: Callable[[int, int], None] = lambda done, of: None,
) -> Timeline:
    """What every snapshot of a run makes of one text.

    Args:
        text, pair: sentence A, with or without [MASK], and B.
        ask: (snapshot, how many there are, text, pair) -> Moment; `moment` unless given; the window's is cached.
        done: told after each snapshot how many of how many are done.

    Raises:
        DataError: no snapshots, or snapshots that are not of one run: other vocabularies or sizes.
        TextError: a text that is empty, or too long for the model or for so many snapshots.
        CheckpointError: a damaged snapshot.
    """
    ask = ask or moment
    found = find_snapshots(Path(run).expanduser())
    moments: list[Moment] = []
    for number, snapshot in enumerate(found, 1):
        moments.append(ask(snapshot, len(found), text, pair))
        _must_agree(moments[0], moments[-1])
        done(number, len(found))
    return gather(moments)


def moment(snapshot: Snapshot, count: int, text: str, pair: str | None = None) -> Moment:
    """What this snapshot, one of `count`, makes of a text. Raises as `timeline`."""
    return look(load(snapshot.path), snapshot, count, text, pair)


@torch.inference_mode()
def look(session: Session, snapshot: Snapshot, count: int, text: str, pair: str | None = None) -> Moment:
    """As `moment`, of a snapshot that is open: one forward pass. Raises as `timeline`."""
    encoding = encode(session.tokenizer, text, pair, session.config.max_positions)
    rows = token_rows(encoding)
    must_fit(session.config, len(rows), count)
    model, trace = session.model, Trace.of("probs")
    encoded = model(alone(encoding, device_of(model)), trace=trace)
    masks = tuple(row.position for row in rows if row.id == session.tokenizer.mask_id)
    words_MV, best_M = None, ()
    if masks and "mlm" in session.heads:
        logits_MV = model.mlm(encoded.hidden_BTH[0, list(masks)])[:, : session.tokenizer.vocab_size]
        words_MV = logits_MV.softmax(-1).half().cpu().numpy()
        best = logits_MV.topk(min(TOP, session.tokenizer.vocab_size)).indices.tolist()
        best_M = tuple(dict(zip(ids, session.tokenizer.pieces(ids), strict=True)) for ids in best)
    follows = None
    if pair is not None and "nsp" in session.heads:
        follows = float(model.nsp(encoded.pooled_BH)[0].softmax(-1)[0])
    probs_LNTT = torch.cat(trace["probs"]).half().cpu().numpy()
    return Moment(snapshot, session.tokenizer.digest, rows, probs_LNTT, masks, words_MV, best_M, follows)


def must_fit(config: ModelConfig, tokens: int, count: int) -> None:
    """Raise TextError if the attention of so many tokens at so many snapshots is more than can be shown smoothly."""
    heads = config.num_layers * config.num_heads
    if count * heads * tokens**2 > MOST:
        most = int((MOST / count / heads) ** 0.5)
        raise TextError(
            f"the text has {tokens} pieces: with {count} snapshots of {heads} heads the time machine takes "
            f"{most} at most"
        )


def gather(moments: Sequence[Moment]) -> Timeline:
    """The moments of one text as a timeline. Raises DataError if they are not of one run."""
    first = moments[0]
    for other in moments[1:]:
        _must_agree(first, other)
    tracks = []
    if all(moment.words_MV is not None for moment in moments):
        for mask, position in enumerate(first.positions):
            probs_SV = np.stack([moment.words_MV[mask] for moment in moments]).astype(np.float32)
            ever = {id: piece for moment in moments for id, piece in moment.best_M[mask].items()}
            ids = sorted(ever, key=lambda id: -probs_SV[-1, id])
            tracks.append(Track(position, tuple(ever[id] for id in ids), probs_SV[:, ids]))
    follows = tuple(moment.follows for moment in moments)
    return Timeline(
        tokens=first.tokens,
        snapshots=tuple(moment.snapshot for moment in moments),
        probs=tuple(moment.probs_LNTT for moment in moments),
        tracks=tuple(tracks),
        follows=None if None in follows else follows,
    )


def _must_agree(first: Moment, other: Moment) -> None:
    names = f"{first.snapshot.path.name} and {other.snapshot.path.name}"
    if first.digest != other.digest:
        raise DataError(f"{names} have different vocabularies, so they are not of one run and cannot share a slider")
    if first.probs_LNTT.shape != other.probs_LNTT.shape:
        sizes = (f"{m.probs_LNTT.shape[0]} layers x {m.probs_LNTT.shape[1]} heads" for m in (first, other))
        raise DataError(f"{names} are of different sizes ({' and '.join(sizes)}), so they cannot share a slider")
