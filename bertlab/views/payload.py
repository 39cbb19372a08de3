"""Payloads of the canvas views: a JSON header and compressed blocks of numbers in one byte string.

Layout: b"BLAB", the size of the header (uint32, little endian), the header (JSON, ASCII), then the blocks that the
header lists, each a zlib stream. One block is one layer or one head, so that a browser inflates only what it draws.
`static/payload.js` reads this layout.

Shape legend: T tokens, N heads, L layers, S side of a thumbnail.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from bertlab.config.errors import BertlabError
from bertlab.explore.facts import AttentionMap, NeuronMap, TokenRow
from bertlab.explore.timeline import Timeline
from bertlab.views.token_labels import token_labels, word_numbers

MAGIC = b"BLAB"
WHOLE = 12 * 12 * 128 * 128  # maps of at most this many probabilities are sent at once, larger ones in parts
BUDGET = 940_000  # most bytes for the blocks of a map that is sent at once
EXACT = BUDGET // 2  # maps of at most this many probabilities are sent with 16 bits each
POWERS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
SIDE = 64  # rows and columns of a thumbnail


class AttentionPack:
    """An attention map in a quarter of its size or less, to be sent at once or a few heads at a time. Immutable.

    Packing takes one pass over the probabilities; sending a part then costs only the compression of that part.

    Up to 470,000 probabilities (12 x 12 heads and 57 tokens), the largest error of a probability p is 0.00001. Above,
    one byte holds round(255 p^power) with the smallest power in 0.5 .. 1 that fits the budget, since small powers
    resolve small probabilities: at 0.5 the error is sqrt(p) / 255 (0.0004 at p = 0.01), at 1 it is 0.002 everywhere.
    It never exceeds 0.004.

    Args:
        attention: from `Session.attention`.

    Raises:
        BertlabError: the numbers of tokens and of probabilities differ.
    """

    def __init__(self, attention: AttentionMap):
        probs_LNTT = np.asarray(attention.probs_LNTT, np.float32)
        self.layers, self.heads, size = _shape(attention)
        self.whole = probs_LNTT.size <= WHOLE
        header = {"kind": "attention", **_about(attention.tokens), "layers": self.layers, "heads": self.heads}
        # a weighted sum over the keys depends on every probability and is much faster to hash than all of them
        weights_T = np.sin(np.arange(1, size + 1, dtype=np.float32))
        header["id"] = _digest(json.dumps(header).encode(), np.ascontiguousarray(probs_LNTT @ weights_T).tobytes())
        coder = _Coder(probs_LNTT)
        self._header = header | {"scale": coder.scale, "error": coder.error}
        overview = not self.whole and size > SIDE
        self._thumbs = [({"kind": "thumbs", "side": SIDE}, _squeeze(coder(_thumbs(probs_LNTT))))] if overview else []
        # a map that is sent at once is stored compressed; a longer one is not, since few of its heads are ever sent
        self._layers = [coder(probs_NTT) for probs_NTT in probs_LNTT]
        if self.whole:
            self._layers = [_squeeze(codes) for codes in self._layers]

    def bytes(self, state: dict | None = None, options: dict | None = None) -> bytes:
        """The payload that the view needs to show `state`.

        A map of at most 12 x 12 x 128 x 128 probabilities is sent at once, in 1 MB or less. For a longer one, the
        payload has the overview (every head reduced to 64 x 64 by maxima) and the heads of one layer that the state
        shows in full; when the user opens others, the view reports its new state, to be passed to another call.

        Args:
            state: the state that the view reports; invalid values count as the default.
            options: {"state": {...}, "lang": "en" | "ko", "labels": {...}, "code": lines} for the view.
        """
        if self.whole:
            return self.complete_bytes(options)
        layer, heads = self.visible_heads(state or {})
        codes = memoryview(self._layers[layer])
        area = len(codes) // self.heads  # a map this long has one byte for each probability
        parts = [(n, codes[n * area : (n + 1) * area]) for n in heads]
        blocks = [({"kind": "head", "layer": layer, "head": n}, _squeeze(part)) for n, part in parts]
        return _envelope(dict(self._header), [*self._thumbs, *blocks], options)

    def complete_bytes(self, options: dict | None = None) -> bytes:
        """A payload with every layer, whatever its length, for a file that cannot load more later."""
        layers = self._layers if self.whole else map(_squeeze, self._layers)
        blocks = [({"kind": "layer", "layer": n}, packed) for n, packed in enumerate(layers)]
        return _envelope(dict(self._header), [*self._thumbs, *blocks], options)

    def visible_heads(self, state: dict) -> tuple[int, tuple[int, ...]]:
        """The layer and its heads that a state shows in full: the selected ones as lines, else the opened one."""
        layer, head = (_whole(state.get(name), limit) for name, limit in (("layer", self.layers), ("head", self.heads)))
        if self.whole or (state.get("view") != "lines" and (self._thumbs or state.get("view") in ("grid", "matrix"))):
            return layer, (head,)
        shown = state.get("heads")
        shown = [n for n in range(self.heads) if n in shown] if isinstance(shown, list) else []
        return layer, tuple(shown or range(self.heads))


def neuron_bytes(neuron: NeuronMap, *, options: dict | None = None) -> bytes:
    """The payload of the neuron view: queries, keys, scores and probabilities of one head in float32.

    Raises:
        BertlabError: the numbers of tokens and of rows in the arrays differ.
    """
    size = len(neuron.tokens)
    for vectors_TD in (neuron.query_TD, neuron.key_TD):
        if vectors_TD.shape != (size, neuron.query_TD.shape[1]):
            raise BertlabError("view-shape-mismatch", tokens=size, shape=str(vectors_TD.shape))
    for values_TT in (neuron.scores_TT, neuron.probs_TT):
        if values_TT.shape != (size, size):
            raise BertlabError("view-shape-mismatch", tokens=size, shape=str(values_TT.shape))
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
    """The payload of the time machine: for every snapshot the attention of all heads, the candidates for each mask and
    the probability that B follows A; and the training curve.

    A byte holds round(255 sqrt(p)), so that the error of a probability p is at most sqrt(p) / 255.

    Args:
        timeline: from `explore.timeline`.
        title: the name of the run.
        log: rows of its log, thinned; their steps and losses are drawn.
        options: as for `AttentionPack.bytes`.
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
        # JSON has no NaN, which a diverged run logs: it becomes null
        "curve": {name: [_finite(row.get(name)) for row in curve] for name in ("step", "loss", "mlm_loss")},
    }  # fmt: skip
    table = _table(0.5)
    codes = [table[_fine(np.asarray(probs_LNTT, np.float32))].tobytes() for probs_LNTT in timeline.probs]
    header["id"] = _digest(json.dumps(header).encode(), *codes)
    return _envelope(header, [({"moment": at}, _squeeze(raw)) for at, raw in enumerate(codes)], options)


def with_options(payload: bytes, options: dict | None) -> bytes:
    """Replace the options in the header of a payload; fast, since the blocks are not decompressed."""
    header, body = _open(payload)
    header["options"] = options or {}
    return _seal(header, body)


def unpack(payload: bytes) -> tuple[dict, list[bytes]]:
    """The header and the decompressed blocks of a payload.

    Raises:
        BertlabError: it is not a payload.
    """
    header, body = _open(payload)
    blocks, at = [], 0
    for block in header["blocks"]:
        blocks.append(zlib.decompress(body[at : at + block["bytes"]]))
        at += block["bytes"]
    return header, blocks


def _shape(attention: AttentionMap) -> tuple[int, int, int]:
    shape = attention.probs_LNTT.shape
    if len(shape) != 4 or shape[2] != shape[3] or shape[2] != len(attention.tokens):
        raise BertlabError("view-shape-mismatch", tokens=len(attention.tokens), shape=str(shape))
    return shape[0], shape[1], shape[2]


def _about(tokens: tuple[TokenRow, ...]) -> dict:
    numbers = word_numbers(tokens)
    return {
        "tokens": token_labels(tokens),
        "segments": [row.segment for row in tokens],
        "hideable": [row.position for row in tokens if row.special and row.start == row.end],
        # only if some word has several tokens
        **({"words": numbers} if numbers and numbers[-1] + 1 < len(numbers) else {}),
    }


def _whole(value, limit: int) -> int:
    return min(max(value, 0), limit - 1) if type(value) is int else 0


class _Coder:
    """Encodes probabilities as bytes on the finest scale that fits the budget."""

    def __init__(self, probs_LNTT: np.ndarray):
        if probs_LNTT.size <= EXACT:
            self.scale, self.error = {"bytes": 2, "power": 1.0}, 1e-5
            return
        power = POWERS[0]
        if probs_LNTT.size <= WHOLE:
            # the compressed size is estimated by the entropy of the codes that each power gives
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
    """The entropy of symbols with these counts, times their number: the bits that they need together."""
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def _thumbs(probs_LNTT: np.ndarray) -> np.ndarray:
    size = probs_LNTT.shape[-1]
    # token i is in bin floor(i * SIDE / size), the same rule as in static/data.js
    starts = -(-np.arange(SIDE) * size // SIDE)
    return np.maximum.reduceat(np.maximum.reduceat(probs_LNTT, starts, axis=3), starts, axis=2)


def _squeeze(raw: bytes) -> bytes:
    # attention codes repeat in runs rather than patterns: run-length matching compresses as well as a full search and
    # is five times faster
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
        raise BertlabError("view-payload-invalid")
    size = struct.unpack("<I", payload[4:8])[0]
    return json.loads(payload[8 : 8 + size]), payload[8 + size :]
