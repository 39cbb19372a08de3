"""Make the payloads of the canvas views; each is a byte string with a JSON header and compressed blocks of numbers.

Layout: b"BLAB", the size of the header (uint32, little endian), the header (JSON, ASCII), then the blocks that the
header lists, each a zlib stream. One block is one layer or one head, so that a browser decompresses only what it draws.
`static/payload.js` reads this layout.

Shape legend: T tokens, N heads, L layers, D head size, S snapshots, W candidate tokens of a mask.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bertlab.config.errors import BertlabError
from bertlab.views.token_labels import token_labels, word_indices

if TYPE_CHECKING:
    from bertlab.abilities.results import AttentionMap, NeuronMap, TokenRow
    from bertlab.abilities.timeline.compute import Timeline

MAGIC = b"BLAB"  # the first bytes of every payload
MAX_UNSPLIT_PROBABILITIES = 12 * 12 * 128 * 128  # larger maps are sent a few heads at a time
MAX_UNSPLIT_BYTES = 940_000  # maximum total size of the compressed blocks of a map that is sent as a whole
MAX_16_BIT_PROBABILITIES = MAX_UNSPLIT_BYTES // 2  # larger maps have one byte per probability
POWERS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)  # see `AttentionPack`
THUMBNAIL_SIDE = 64  # how many rows, and how many columns, a thumbnail has


class AttentionPack:
    """A compressed attention map, sent as a whole or a few heads at a time. Immutable.

    Packing takes one pass over the probabilities; after that, only the part to send is compressed.

    In maps of up to 470,000 probabilities (12 layers of 12 heads, and 57 tokens), a probability has 16 bits and an
    error of at most 0.00001. In longer maps, one byte holds round(255 p^power). The power is 0.5 if the map is sent in
    parts; otherwise it is the smallest of `POWERS` whose codes fit into `MAX_UNSPLIT_BYTES`, because small powers
    distinguish small probabilities better: at 0.5 the error is at most sqrt(p) / 255, at 1 it is at most 0.002
    everywhere.
    """

    def __init__(self, attention: AttentionMap):
        probs_LNTT = np.asarray(attention.probs_LNTT, np.float32)
        shape, num_tokens = probs_LNTT.shape, len(attention.tokens)
        if len(shape) != 4 or shape[2:] != (num_tokens, num_tokens):
            raise BertlabError("view-shape-mismatch", tokens=num_tokens, shape=str(shape))
        self.num_layers, self.num_heads = shape[:2]
        self.is_sent_in_parts = probs_LNTT.size > MAX_UNSPLIT_PROBABILITIES
        sizes = {"layers": self.num_layers, "heads": self.num_heads}
        header = {"kind": "attention", **_token_fields(attention.tokens), **sizes}
        # a weighted sum over the keys depends on every probability and is much faster to hash than all of them
        weights_T = np.sin(np.arange(1, num_tokens + 1, dtype=np.float32))
        header["id"] = _hash(json.dumps(header).encode(), np.ascontiguousarray(probs_LNTT @ weights_T).tobytes())
        coder = _Coder(probs_LNTT)
        self._header = header | {"scale": coder.scale, "error": coder.error}
        self._thumbnails = []
        if self.is_sent_in_parts and num_tokens > THUMBNAIL_SIDE:
            thumbnails = _compress(coder(_make_thumbnails(probs_LNTT)))
            self._thumbnails = [({"kind": "thumbs", "side": THUMBNAIL_SIDE}, thumbnails)]
        # A map that is sent as a whole is compressed now. A longer one is not, because few of its heads will be sent.
        self._layer_blocks = [coder(probs_NTT) for probs_NTT in probs_LNTT]
        if not self.is_sent_in_parts:
            self._layer_blocks = [_compress(codes) for codes in self._layer_blocks]

    @property
    def has_overview(self) -> bool:
        """Whether the payloads have an overview of all heads, with which the view of a long input opens."""
        return bool(self._thumbnails)

    def bytes(self, state: dict | None = None, options: dict | None = None) -> bytes:
        """Return the payload that the view needs to show `state`, the state that it reports.

        A map of at most 12 x 12 x 128 x 128 probabilities is sent as a whole, in 1 MB or less. For a longer one, the
        payload has the overview (every head reduced to 64 x 64 by maxima) and the heads of one layer that the state
        shows in full; for other heads, the host calls this again.

        Args:
            options: {"state": {...}, "lang": "en" | "ko", "labels": {...}, "code": lines}.
        """
        if not self.is_sent_in_parts:
            return self.complete_bytes(options)
        layer, heads = self.visible_heads(state or {})
        codes = memoryview(self._layer_blocks[layer])
        area = len(codes) // self.num_heads  # a map of this length has one byte per probability
        parts = [(n, codes[n * area : (n + 1) * area]) for n in heads]
        blocks = [({"kind": "head", "layer": layer, "head": n}, _compress(part)) for n, part in parts]
        return _assemble(dict(self._header), [*self._thumbnails, *blocks], options)

    def complete_bytes(self, options: dict | None = None) -> bytes:
        """Return a payload with every layer, however long the input is, for a file that cannot load more later."""
        layers = map(_compress, self._layer_blocks) if self.is_sent_in_parts else self._layer_blocks
        blocks = [({"kind": "layer", "layer": n}, packed) for n, packed in enumerate(layers)]
        return _assemble(dict(self._header), [*self._thumbnails, *blocks], options)

    def visible_heads(self, state: dict) -> tuple[int, tuple[int, ...]]:
        """Return the layer and the heads that a state shows in full: the selected ones in the view of lines, or one."""
        layer, head = _clamp_index(state.get("layer"), self.num_layers), _clamp_index(state.get("head"), self.num_heads)
        shows_one = state.get("view") in ("grid", "matrix") or (self._thumbnails and state.get("view") != "lines")
        if not self.is_sent_in_parts or shows_one:
            return layer, (head,)
        selected = state.get("heads")
        selected = [n for n in range(self.num_heads) if n in selected] if isinstance(selected, list) else []
        return layer, tuple(selected or range(self.num_heads))


def neuron_bytes(neuron: NeuronMap, *, options: dict | None = None) -> bytes:
    """Return the payload of the neuron view: queries, keys, scores and probabilities of one head in float32."""
    T, D = len(neuron.tokens), neuron.query_TD.shape[1]
    arrays = {"query": neuron.query_TD, "key": neuron.key_TD, "scores": neuron.scores_TT, "probs": neuron.probs_TT}
    for array, columns in zip(arrays.values(), (D, D, T, T), strict=True):
        if array.shape != (T, columns):
            raise BertlabError("view-shape-mismatch", tokens=T, shape=str(array.shape))
    raw = {name: np.ascontiguousarray(array, "<f4").tobytes() for name, array in arrays.items()}
    place = {"layer": neuron.layer, "head": neuron.head, "dimensions": D}
    header = {"kind": "neuron", **_token_fields(neuron.tokens), **place}
    header["id"] = _hash(json.dumps(header).encode(), *raw.values())
    return _assemble(header, [({"name": name}, zlib.compress(data, 1)) for name, data in raw.items()], options)


def timeline_bytes(
    timeline: Timeline, *, title: str = "", log: Iterable[Mapping] = (), options: dict | None = None
) -> bytes:
    """Return the payload of the view *Time machine*, which shows a text in every snapshot of a training run.

    A byte holds round(255 sqrt(p)), so that the error of a probability p is at most sqrt(p) / 255. The training curve
    shows the steps of `log`, rows of the run's log.
    """
    layers, heads = timeline.probs[0].shape[:2]
    curve = [row for row in log if "loss" in row]
    header = {
        "kind": "timeline", **_token_fields(timeline.tokens), "layers": layers, "heads": heads, "title": title,
        "moments": [
            {"step": snapshot.step, "tokens": snapshot.tokens, "validation": dict(snapshot.validation)}
            for snapshot in timeline.snapshots
        ],
        "masks": [
            {"position": track.position, "words": list(track.words), "probs": track.probs_SW.round(5).tolist()}
            for track in timeline.tracks
        ],
        "follows": timeline.follows,
        # NaN, which a diverged run logs, becomes null, because JSON has no NaN
        "curve": {name: [_round_finite(row.get(name)) for row in curve] for name in ("step", "loss", "mlm_loss")},
    }  # fmt: skip
    table = _make_code_table(0.5)
    codes = [table[_quantise(np.asarray(probs_LNTT, np.float32))].tobytes() for probs_LNTT in timeline.probs]
    header["id"] = _hash(json.dumps(header).encode(), *codes)
    return _assemble(header, [({"moment": index}, _compress(raw)) for index, raw in enumerate(codes)], options)


def with_options(payload: bytes, options: dict | None) -> bytes:
    """Replace the options in the header of a payload; fast, because the blocks are not decompressed."""
    header, body = _split_header(payload)
    header["options"] = options or {}
    return _join(header, body)


def unpack(payload: bytes) -> tuple[dict, list[bytes]]:
    """Return the header and the decompressed blocks of a payload."""
    header, body = _split_header(payload)
    blocks, offset = [], 0
    for block in header["blocks"]:
        blocks.append(zlib.decompress(body[offset : offset + block["bytes"]]))
        offset += block["bytes"]
    return header, blocks


def _token_fields(tokens: tuple[TokenRow, ...]) -> dict:
    words = word_indices(tokens)
    return {
        "tokens": token_labels(tokens),
        "segments": [row.segment for row in tokens],
        "hideable": [row.position for row in tokens if row.special and row.start == row.end],
        # the header contains word indices only if some word has several tokens
        **({"words": words} if words and words[-1] + 1 < len(words) else {}),
    }


def _clamp_index(value, limit: int) -> int:
    """Return the index in 0..limit - 1 that is closest to `value`; 0 if the value is not an integer."""
    return min(max(value, 0), limit - 1) if type(value) is int else 0


class _Coder:
    """Encodes probabilities as bytes on the finest scale that fits `MAX_UNSPLIT_BYTES`; see `AttentionPack`."""

    def __init__(self, probs_LNTT: np.ndarray):
        if probs_LNTT.size <= MAX_16_BIT_PROBABILITIES:
            self.scale, self.error = {"bytes": 2, "power": 1.0}, 1e-5
            return
        power = POWERS[0]
        if probs_LNTT.size <= MAX_UNSPLIT_PROBABILITIES:
            # the compressed size is estimated by the entropy of the codes that each power gives
            counts = np.bincount(_quantise(probs_LNTT).ravel(), minlength=65536)
            bits = ((p, _total_entropy(np.bincount(_make_code_table(p), counts, 256))) for p in POWERS)
            power = next((p for p, total in bits if total <= 8 * MAX_UNSPLIT_BYTES), POWERS[-1])
        self.scale, self.error, self.table = {"bytes": 1, "power": power}, 0.004, _make_code_table(power)

    def __call__(self, probs: np.ndarray) -> bytes:
        if self.scale["bytes"] == 2:
            codes = np.rint(probs.ravel() * 65535).clip(0, 65535).astype(np.uint16)
            return (codes >> 8).astype(np.uint8).tobytes() + (codes & 255).astype(np.uint8).tobytes()
        return self.table[_quantise(probs)].tobytes()


def _quantise(probs: np.ndarray) -> np.ndarray:
    """Convert probabilities p to round(65535 sqrt(p)), the index into a table of `_make_code_table`."""
    return (np.sqrt(probs) * 65535 + 0.5).clip(0, 65535).astype(np.uint16)


def _make_code_table(power: float) -> np.ndarray:
    """Make a table of round(255 p^power) for every value of `_quantise`."""
    return np.rint((np.arange(65536) / 65535) ** (2 * power) * 255).astype(np.uint8)


def _total_entropy(counts: np.ndarray) -> float:
    """Return the entropy of a symbol times their number, in bits."""
    counts = counts[counts > 0]
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def _make_thumbnails(probs_LNTT: np.ndarray) -> np.ndarray:
    size = probs_LNTT.shape[-1]
    # token i is in bin floor(i * THUMBNAIL_SIDE / size), the same rule as in static/data.js
    starts = -(-np.arange(THUMBNAIL_SIDE) * size // THUMBNAIL_SIDE)
    return np.maximum.reduceat(np.maximum.reduceat(probs_LNTT, starts, axis=3), starts, axis=2)


def _compress(raw: bytes) -> bytes:
    # One attention code often repeats directly; sequences of codes do not. Run-length matching compresses the codes as
    # well as a full search and is five times faster.
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_RLE)
    return packer.compress(raw) + packer.flush()


def _round_finite(value) -> float | None:
    """Round a number to four decimals; None if it is not finite."""
    return round(float(value), 4) if isinstance(value, int | float) and np.isfinite(value) else None


def _hash(*parts: bytes) -> str:
    """Compute the id by which a view recognises a new payload."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _assemble(header: dict, blocks: list[tuple[dict, bytes]], options: dict | None) -> bytes:
    header["blocks"] = [{**fields, "bytes": len(packed)} for fields, packed in blocks]
    header["options"] = options or {}
    return _join(header, b"".join(packed for _, packed in blocks))


def _join(header: dict, body: bytes) -> bytes:
    text = json.dumps(header, separators=(",", ":")).encode()
    return MAGIC + struct.pack("<I", len(text)) + text + body


def _split_header(payload: bytes) -> tuple[dict, bytes]:
    if payload[:4] != MAGIC or len(payload) < 8:
        raise BertlabError("view-payload-invalid")
    size = struct.unpack("<I", payload[4:8])[0]
    return json.loads(payload[8 : 8 + size]), payload[8 + size :]
