"""Facts -> bytes that the canvas views draw from: a JSON header and compressed blocks in one envelope.

Layout: b"BLAB", the header's size (uint32, little endian), the header (JSON, ASCII), then the blocks that the header
lists, each a zlib stream. One block is one layer, so that a browser inflates only what it draws.

Knows nothing of models, files, hosts or JavaScript; `static/common.js` is the reader of this layout.

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

MAGIC = b"BLAB"
WHOLE = 12 * 12 * 128 * 128  # probabilities; a larger map travels layer by layer
BUDGET = 940_000  # bytes that the blocks of a whole map may take
EXACT = BUDGET // 2  # maps of fewer probabilities travel in 16 bits each
POWERS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
SIDE = 64


def attention_bytes(attention: AttentionMap, *, layer: int = 0, options: dict | None = None) -> bytes:
    """What the attention view draws from: probabilities, tokens, sentences, and which tokens were added ([CLS], [SEP]).

    A map of at most 12 x 12 x 128 x 128 probabilities travels whole, in 1 MB or less. A longer one travels as an
    overview (every head shrunk to 64 x 64 by maxima) and `layer` in full; when the reader turns to another layer, the
    view reports it in its state, and a call with that layer gives what is missing.

    Precision, largest error of a probability p: 0.00001 up to 470,000 probabilities (12 x 12 heads and 57 tokens).
    Above, one byte holds round(255 p^power); the power is the smallest of 0.5 .. 1 whose bytes fit the budget, so
    that small values stay apart: at 0.5 the error is sqrt(p) / 255 (0.0004 at p = 0.01), at 1 it is 0.002 everywhere;
    0.004 is never exceeded.

    options: {"state": {...}, "lang": "en" | "ko", "labels": {...}} for the view; state as the view reports it.

    Raises ValueError when the tokens and the probabilities do not belong together.
    """
    layers, _, size = _shape(attention)
    if attention.probs_LNTT.size <= WHOLE:
        return _pack_attention(attention, range(layers), options, thumbs=False)
    return _pack_attention(attention, [min(max(layer, 0), layers - 1)], options, thumbs=size > SIDE)


def complete_attention_bytes(attention: AttentionMap, *, options: dict | None = None) -> bytes:
    """As attention_bytes, with every layer in full whatever the length: for a file that has no one to ask."""
    layers, _, size = _shape(attention)
    return _pack_attention(attention, range(layers), options, thumbs=attention.probs_LNTT.size > WHOLE and size > SIDE)


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


def decode(codes: bytes, scale: dict) -> np.ndarray:
    """Codes of a block -> probabilities (float32, flat), as the browser computes them.

    >>> decode(bytes([0, 51, 255]), {"bytes": 1, "power": 0.5}).round(3).tolist()
    [0.0, 0.03999999910593033, 1.0]
    """
    values = np.frombuffer(codes, np.uint8)
    if scale["bytes"] == 2:
        high, low = values.reshape(2, -1).astype(np.float32)
        return (high * 256 + low) / 65535
    return ((values / 255.0) ** (1 / scale["power"])).astype(np.float32)


def labels(tokens: Iterable[TokenRow]) -> list[str]:
    """Pieces as a reader should see them: byte-level alphabets become characters, control characters become their
    pictures.

    A piece that holds only a part of a character's bytes is shown as those bytes.

    >>> row = TokenRow(0, 0, "", 0, 0, 0, False)
    >>> from dataclasses import replace
    >>> labels([replace(row, piece=piece) for piece in ("ĠëĤ", "ĠtÃªte", "a")])
    ['␣⟨eb82⟩', '␣tête', 'a']
    """
    rows = list(tokens)
    plain = [row.piece for row in rows if not row.special]
    bytelike = any("Ġ" in piece for piece in plain) and all(letter in _BYTES for piece in plain for letter in piece)
    return [_visible(_from_bytes(row.piece) if bytelike and not row.special else row.piece) for row in rows]


def _byte_alphabet() -> dict[str, int]:
    """The printable stand-ins of byte-level BPE: printable Latin-1 bytes are themselves, the others follow 255."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTES = _byte_alphabet()


def _from_bytes(piece: str) -> str:
    raw = bytes(_BYTES[letter] for letter in piece)
    space, rest = ("␣", raw[1:]) if raw[:1] == b" " else ("", raw)
    try:
        return space + rest.decode()
    except UnicodeDecodeError:
        return f"{space}⟨{rest.hex()}⟩"


def _visible(text: str) -> str:
    return "".join(chr(0x2400 + ord(letter)) if ord(letter) < 32 else letter for letter in text)


def _shape(attention: AttentionMap) -> tuple[int, int, int]:
    shape = attention.probs_LNTT.shape
    if len(shape) != 4 or shape[2] != shape[3] or shape[2] != len(attention.tokens):
        raise ValueError(f"{len(attention.tokens)} tokens, but the attention's shape is {shape}")
    return shape[0], shape[1], shape[2]


def _about(tokens: tuple[TokenRow, ...]) -> dict:
    return {
        "tokens": labels(tokens),
        "segments": [row.segment for row in tokens],
        "hideable": [row.position for row in tokens if row.special and row.start == row.end],
    }


def _pack_attention(attention: AttentionMap, layers: Iterable[int], options: dict | None, *, thumbs: bool) -> bytes:
    probs_LNTT = np.asarray(attention.probs_LNTT, np.float32)
    count, heads, _, _ = probs_LNTT.shape
    header = {"kind": "attention", **_about(attention.tokens), "layers": count, "heads": heads}
    # a sum over keys with fixed irregular weights feels every probability and is far quicker to hash than all of them
    weights_T = np.sin(np.arange(1, probs_LNTT.shape[-1] + 1, dtype=np.float32))
    header["id"] = _digest(json.dumps(header).encode(), np.ascontiguousarray(probs_LNTT @ weights_T).tobytes())
    coder = _Coder(probs_LNTT)
    header |= {"scale": coder.scale, "error": coder.error}
    blocks = []
    if thumbs:
        blocks.append(({"kind": "thumbs", "side": SIDE}, _squeeze(coder(_thumbs(probs_LNTT)))))
    for layer in layers:
        blocks.append(({"kind": "layer", "layer": layer}, _squeeze(coder(probs_LNTT[layer]))))
    return _envelope(header, blocks, options)


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
