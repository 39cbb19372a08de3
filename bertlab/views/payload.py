"""Facts -> bytes that the canvas views draw from: a JSON header and compressed blocks in one envelope.

Layout: b"BLAB", the header's size (uint32, little endian), the header (JSON, ASCII), then the blocks that the header
lists, each a zlib stream. One block is one layer or one head, so that a browser inflates only what it draws.

Knows nothing of models, files, hosts or JavaScript; `static/payload.js` is the reader of this layout.

Shape legend: T tokens, N heads, L layers, S side of a thumbnail.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from bertlab.explore.facts import AttentionMap, NeuronMap, TokenRow
from bertlab.explore.timeline import Timeline
from bertlab.views.pieces import piece_labels, word_numbers

MAGIC = b"BLAB"
WHOLE = 12 * 12 * 128 * 128  # probabilities; a larger map travels layer by layer
BUDGET = 940_000  # bytes that the blocks of a whole map may take
EXACT = BUDGET // 2  # maps of fewer probabilities travel in 16 bits each
POWERS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
SIDE = 64


class AttentionPack:
    """An AttentionMap as codes, a fourth of its size or less, ready to be sent whole or a few heads at a time.

    Packing costs one pass over the probabilities; what is sent then costs only its own compression. Immutable.

    Precision, largest error of a probability p: 0.00001 up to 470,000 probabilities (12 x 12 heads and 57 tokens).
    Above, one byte holds round(255 p^power); the power is the smallest of 0.5 .. 1 whose bytes fit the budget, so
    that small values stay apart: at 0.5 the error is sqrt(p) / 255 (0.0004 at p = 0.01), at 1 it is 0.002 everywhere;
    0.004 is never exceeded.

    Raises ValueError when the tokens and the probabilities do not belong together.
    """

    def __init__(self, attention: AttentionMap):
        probs_LNTT = np.asarray(attention.probs_LNTT, np.float32)
        self.layers, self.heads, size = _shape(attention)
        self.whole = probs_LNTT.size <= WHOLE
        header = {"kind": "attention", **_about(attention.tokens), "layers": self.layers, "heads": self.heads}
        # a sum over keys with fixed irregular weights feels every probability and is far quicker to hash than all
        weights_T = np.sin(np.arange(1, size + 1, dtype=np.float32))
        header["id"] = _digest(json.dumps(header).encode(), np.ascontiguousarray(probs_LNTT @ weights_T).tobytes())
        coder = _Coder(probs_LNTT)
        self._header = header | {"scale": coder.scale, "error": coder.error}
        overview = not self.whole and size > SIDE
        self._thumbs = [({"kind": "thumbs", "side": SIDE}, _squeeze(coder(_thumbs(probs_LNTT))))] if overview else []
        # a map that goes whole is kept compressed, of a longer one the codes: most of its heads nobody asks for
        self._layers = [coder(probs_NTT) for probs_NTT in probs_LNTT]
        if self.whole:
            self._layers = [_squeeze(codes) for codes in self._layers]

    def bytes(self, state: dict | None = None, options: dict | None = None) -> bytes:
        """What the view needs to show `state` (as it reports it; junk in it counts as the default).

        options: {"state": {...}, "lang": "en" | "ko", "labels": {...}, "code": lines} for the view.

        A map of at most 12 x 12 x 128 x 128 probabilities goes whole, in 1 MB or less. Of a longer one go the overview
        (every head shrunk to 64 x 64 by maxima) and the heads of one layer that the state shows in full; when the
        reader turns to others the view reports it, and a call with that state gives what is missing.
        """
        if self.whole:
            return self.complete(options)
        layer, heads = self.wanted(state or {})
        codes = memoryview(self._layers[layer])
        area = len(codes) // self.heads  # a map this long has one byte for each probability
        parts = [(n, codes[n * area : (n + 1) * area]) for n in heads]
        blocks = [({"kind": "head", "layer": layer, "head": n}, _squeeze(part)) for n, part in parts]
        return _envelope(dict(self._header), [*self._thumbs, *blocks], options)

    def complete(self, options: dict | None = None) -> bytes:
        """Every layer in full whatever the length: for a file that has no one to ask."""
        layers = self._layers if self.whole else map(_squeeze, self._layers)
        blocks = [({"kind": "layer", "layer": n}, packed) for n, packed in enumerate(layers)]
        return _envelope(dict(self._header), [*self._thumbs, *blocks], options)

    def wanted(self, state: dict) -> tuple[int, tuple[int, ...]]:
        """The layer, and its heads that a state shows in full: among lines those switched on, else the one opened."""
        layer, head = (_whole(state.get(name), limit) for name, limit in (("layer", self.layers), ("head", self.heads)))
        if self.whole or (state.get("view") != "lines" and (self._thumbs or state.get("view") in ("grid", "matrix"))):
            return layer, (head,)
        shown = state.get("heads")
        shown = [n for n in range(self.heads) if n in shown] if isinstance(shown, list) else []
        return layer, tuple(shown or range(self.heads))


def neuron_bytes(neuron: NeuronMap, *, options: dict | None = None) -> bytes:
    """What the neuron view draws from: one head's q, k, scores and probabilities, exact (float32).

    Raises ValueError when the tokens and the arrays do not belong together.
    """
    size = len(neuron.tokens)
    if neuron.query_TD.shape != neuron.key_TD.shape or neuron.query_TD.shape[0] != size:
        raise ValueError(f"{size} tokens, but q is {neuron.query_TD.shape} and k is {neuron.key_TD.shape}")
    if neuron.scores_TT.shape != (size, size) or neuron.probs_TT.shape != (size, size):
        raise ValueError(f"{size} tokens, but scores are {neuron.scores_TT.shape}, probs {neuron.probs_TT.shape}")
    arrays = {"query": neuron.query_TD, "key": neuron.key_TD, "scores": neuron.scores_TT, "probs": neuron.probs_TT}
    raw = {name: np.ascontiguousarray(array, "<f4").tobytes() for name, array in arrays.items()}
    header = {
        "kind": "neuron",
        **_about(neuron.tokens),
        "layer": neuron.layer,
        "head": neuron.head,
        "dimensions": neuron.query_TD.shape[1],
    }
    header["id"] = _digest(json.dumps(header).encode(), *raw.values())
    return _envelope(header, [({"name": name}, zlib.compress(data, 1)) for name, data in raw.items()], options)


def timeline_bytes(
    timeline: Timeline, *, title: str = "", log: Iterable[Mapping] = (), options: dict | None = None
) -> bytes:
    """What the time machine draws from: for every snapshot all heads' attention (a byte holds round(255 sqrt(p)), so
    the error of p is sqrt(p) / 255 or less), the words behind each mask, the chance that B follows A; and the curve.

    title: the run's name; log: rows of its (thinned) log, of which step, tokens, loss and accuracies are drawn.
    """
    layers, heads = timeline.probs[0].shape[:2]
    curve = [row for row in log if "loss" in row]
    header = {
        "kind": "timeline", **_about(timeline.tokens), "layers": layers, "heads": heads, "title": title,
        "moments": [
            {"step": snapshot.step, "tokens": snapshot.tokens, "validation": dict(snapshot.validation)}
            for snapshot in timeline.snapshots
        ],
        "masks": [
            {"position": track.position, "words": list(track.words), "probs": track.probs_SW.round(5).tolist()}
            for track in timeline.tracks
        ],
        "follows": timeline.follows,
        # numbers that are none (a run that diverged) are null in JSON
        "curve": {name: [_finite(row.get(name)) for row in curve] for name in ("step", "loss", "mlm_loss")},
    }  # fmt: skip
    table = _table(0.5)
    codes = [table[_fine(np.asarray(probs_LNTT, np.float32))].tobytes() for probs_LNTT in timeline.probs]
    header["id"] = _digest(json.dumps(header).encode(), *codes)
    return _envelope(header, [({"moment": at}, _squeeze(raw)) for at, raw in enumerate(codes)], options)


def with_options(payload: bytes, options: dict | None) -> bytes:
    """The same payload with other options in its header; the blocks are not touched, so this costs next to nothing."""
    header, body = _open(payload)
    header["options"] = options or {}
    return _seal(header, body)


def unpack(payload: bytes) -> tuple[dict, list[bytes]]:
    """The header and the inflated blocks. Raises ValueError for anything that is not a payload."""
    header, body = _open(payload)
    blocks, at = [], 0
    for block in header["blocks"]:
        blocks.append(zlib.decompress(body[at : at + block["bytes"]]))
        at += block["bytes"]
    return header, blocks


def _shape(attention: AttentionMap) -> tuple[int, int, int]:
    shape = attention.probs_LNTT.shape
    if len(shape) != 4 or shape[2] != shape[3] or shape[2] != len(attention.tokens):
        raise ValueError(f"{len(attention.tokens)} tokens, but the attention's shape is {shape}")
    return shape[0], shape[1], shape[2]


def _about(tokens: tuple[TokenRow, ...]) -> dict:
    numbers = word_numbers(tokens)
    return {
        "tokens": piece_labels(tokens),
        "segments": [row.segment for row in tokens],
        "hideable": [row.position for row in tokens if row.special and row.start == row.end],
        # only where some word has several pieces
        **({"words": numbers} if numbers and numbers[-1] + 1 < len(numbers) else {}),
    }


def _whole(value, limit: int) -> int:
    return min(max(value, 0), limit - 1) if type(value) is int else 0


class _Coder:
    """Probabilities -> bytes, on the finest scale that fits the budget."""

    def __init__(self, probs_LNTT: np.ndarray):
        if probs_LNTT.size <= EXACT:
            self.scale, self.error = {"bytes": 2, "power": 1.0}, 1e-5
            return
        power = POWERS[0]
        if probs_LNTT.size <= WHOLE:
            # bytes needed, from the entropy of the codes that each power would give
            counts = np.bincount(_fine(probs_LNTT).ravel(), minlength=65536)
            fitting = (p for p in POWERS if _entropy(np.bincount(_table(p), counts, 256)) / 8 <= BUDGET)
            power = next(fitting, POWERS[-1])
        self.scale, self.error, self.table = {"bytes": 1, "power": power}, 0.004, _table(power)

    def __call__(self, probs: np.ndarray) -> bytes:
        if self.scale["bytes"] == 2:
            codes = np.rint(probs.ravel() * 65535).clip(0, 65535).astype(np.uint16)
            return (codes >> 8).astype(np.uint8).tobytes() + (codes & 255).astype(np.uint8).tobytes()
        return self.table[_fine(probs)].tobytes()


def _fine(probs: np.ndarray) -> np.ndarray:
    return (np.sqrt(probs) * 65535 + 0.5).clip(0, 65535).astype(np.uint16)


def _table(power: float) -> np.ndarray:
    return np.rint((np.arange(65536) / 65535) ** (2 * power) * 255).astype(np.uint8)


def _entropy(counts: np.ndarray) -> float:
    """Bits that symbols of these counts need in all."""
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def _thumbs(probs_LNTT: np.ndarray) -> np.ndarray:
    size = probs_LNTT.shape[-1]
    # bin of token i is floor(i * SIDE / size): the same rule as in the reader
    starts = -(-np.arange(SIDE) * size // SIDE)
    return np.maximum.reduceat(np.maximum.reduceat(probs_LNTT, starts, axis=3), starts, axis=2)


def _squeeze(raw: bytes) -> bytes:
    # attention codes repeat in runs, hardly in patterns: run-length matching is as small as a search, and five
    # times quicker
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return packer.compress(raw) + packer.flush()


def _finite(value) -> float | None:
    return round(float(value), 4) if isinstance(value, int | float) and np.isfinite(value) else None


def _digest(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _envelope(header: dict, blocks: list[tuple[dict, bytes]], options: dict | None) -> bytes:
    header["blocks"] = [{**about, "bytes": len(packed)} for about, packed in blocks]
    header["options"] = options or {}
    return _seal(header, b"".join(packed for _, packed in blocks))


def _seal(header: dict, body: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return MAGIC + struct.pack("<I", len(text)) + text + body


def _open(payload: bytes) -> tuple[dict, bytes]:
    if payload[:4] != MAGIC or len(payload) < 8:
        raise ValueError("not a payload of these views")
    size = struct.unpack("<I", payload[4:8])[0]
    return json.loads(payload[8 : 8 + size]), payload[8 + size :]
