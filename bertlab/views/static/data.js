// The data of an attention payload: heads are decompressed on demand, filtered, renormalised and merged into words.
// Shapes: L layers, N heads, T tokens (or words, if merged); a head is [T, T].
import { inflate } from "./payload.js";

/** Name of a filter -> [segment of the queries, segment of the keys]; 0 is sentence A, 1 is sentence B, null is both. */
export const FILTERS = { all: [null, null], aa: [0, 0], ab: [0, 1], ba: [1, 0], bb: [1, 1] };
const MAX_CACHED_HEADS = 48; // the maximum number of decompressed heads of a long input
const THUMB_SIDE = 64; // rows and columns of a thumbnail

/** The base class of TokenData and WordData, which define tokens, segments, hideable, size, layers, heads, error, head(layer, head) and overview(layer, head, positions). */
class Units {
  constructor() {
    this.thumbnails = new Map();
  }

  /** The query and key positions that are neither filtered out nor hidden. */
  positions({ filter, hide }) {
    const [query, key] = FILTERS[filter] ?? FILTERS.all;
    const keep = (segment) => Array.from(this.tokens.keys())
      .filter((i) => (segment === null || this.segments[i] === segment) && !(hide && this.hideable.has(i)));
    return { rows: keep(query), cols: keep(key) };
  }

  /** The factor for each row of a head: 1, or, to renormalise, the factor that makes the visible columns sum to 1. */
  factors(probs, { rows, cols }, renorm) {
    const factors = new Float32Array(this.size).fill(1);
    if (!renorm || cols.length === this.size) return factors;
    for (const row of rows) {
      let sum = 0;
      for (const col of cols) sum += probs[row * this.size + col];
      factors[row] = sum > 1e-6 ? 1 / sum : 0;
    }
    return factors;
  }

  /** The positions whose token contains a text, ignoring case. */
  find(text) {
    const needle = text.trim().toLowerCase();
    return needle ? Array.from(this.tokens.keys()).filter((i) => this.tokens[i].toLowerCase().includes(needle)) : [];
  }

  /**
   * A head reduced to at most THUMB_SIDE x THUMB_SIDE by maxima, so that a single large value stays visible; null if there are no
   * data yet. {high, wide, values, exact}: the number of rows and of columns, the values, and whether they come from the full head.
   */
  thumb(layer, head, positions, state) {
    const key = `${layer}.${head}`;
    const probs = this.head(layer, head);
    const cached = this.thumbnails.get(key);
    if (cached && cached.exact === Boolean(probs)) return cached;
    const result = probs ? this.shrink(probs, positions, state.renorm) : this.overview(layer, head, positions);
    if (result) this.thumbnails.set(key, { ...result, exact: Boolean(probs) });
    return this.thumbnails.get(key) ?? null;
  }

  shrink(probs, positions, renorm) {
    const { rows, cols } = positions;
    const high = Math.min(rows.length, THUMB_SIDE);
    const wide = Math.min(cols.length, THUMB_SIDE);
    const values = new Float32Array(high * wide);
    const factors = this.factors(probs, positions, renorm);
    for (let r = 0; r < rows.length; r++) {
      const at = rows[r] * this.size;
      const to = Math.floor((r * high) / rows.length) * wide;
      const factor = factors[rows[r]];
      for (let c = 0; c < cols.length; c++) {
        const value = probs[at + cols[c]] * factor;
        const spot = to + Math.floor((c * wide) / cols.length);
        if (value > values[spot]) values[spot] = value;
      }
    }
    return { high, wide, values };
  }
}

/** The tokens of one payload, as the model read them. */
export class TokenData extends Units {
  constructor(header, blocks) {
    super();
    Object.assign(this, { id: header.id, tokens: header.tokens, segments: header.segments, hideable: new Set(header.hideable) });
    Object.assign(this, { layers: header.layers, heads: header.heads, size: header.tokens.length, error: header.error });
    this.scale = header.scale; // {bytes, power}: how a probability is encoded, see `decode`
    this.words = header.words ?? null;
    this.packed = new Map(); // "layer" or "layer.head" -> zlib bytes
    this.floats = new Map(); // "layer.head" -> probabilities
    this.pending = new Map(); // key in `packed` -> promise of its decompression
    this.isSmall = this.layers * this.heads * this.size * this.size <= 4e6;
    this.add(blocks);
  }

  /** Add further layers and heads of the same input. */
  add(blocks) {
    for (const block of blocks) {
      if (block.kind === "layer") this.packed.set(`${block.layer}`, block.packed);
      else if (block.kind === "head") this.packed.set(`${block.layer}.${block.head}`, block.packed);
      else if (block.kind === "thumbs" && !this.thumbs) this.thumbs = { side: block.side, packed: block.packed };
    }
  }

  /** Positions are tokens here; in WordData they are words. */
  tokenOf(position) {
    return position;
  }

  positionOf(token) {
    return token;
  }

  /** Whether the payloads so far contain these heads, decompressed or not. */
  has(layer, heads) {
    return this.packed.has(`${layer}`) || heads.every((head) => this.packed.has(`${layer}.${head}`));
  }

  /** The probabilities of a head, or null if `open` has not loaded them. */
  head(layer, head) {
    return this.floats.get(`${layer}.${head}`) ?? null;
  }

  /** Whether `head` returns the probabilities of all these heads. */
  ready(layer, heads) {
    return heads.every((head) => this.head(layer, head));
  }

  /** Decompress the given heads, as far as the payload contains them. */
  async open(layer, heads) {
    if (this.packed.has(`${layer}`)) {
      if (!this.ready(layer, heads)) await this.decompress(`${layer}`, Array.from({ length: this.heads }, (_, head) => head));
    } else {
      await Promise.all(heads.filter((head) => this.packed.has(`${layer}.${head}`) && !this.head(layer, head))
        .map((head) => this.decompress(`${layer}.${head}`, [head])));
    }
  }

  decompress(key, heads) {
    if (!this.pending.has(key)) {
      this.pending.set(key, inflate(this.packed.get(key)).then((codes) => {
        this.pending.delete(key);
        const area = this.size * this.size;
        const probs = this.decode(codes, heads.length * area);
        heads.forEach((head, i) => this.floats.set(`${parseInt(key, 10)}.${head}`, probs.subarray(i * area, (i + 1) * area)));
        for (const old of this.floats.keys()) {
          if (this.isSmall || this.floats.size <= MAX_CACHED_HEADS) break;
          this.floats.delete(old);
        }
      }));
    }
    return this.pending.get(key);
  }

  decode(codes, count) {
    const probs = new Float32Array(count);
    if (this.scale.bytes === 2) { // high bytes first, then low bytes
      for (let i = 0; i < count; i++) probs[i] = (codes[i] * 256 + codes[count + i]) / 65535;
      return probs;
    }
    const table = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** (1 / this.scale.power));
    for (let i = 0; i < count; i++) probs[i] = table[codes[i]];
    return probs;
  }

  async openThumbs() {
    if (!this.thumbs || this.thumbs.probs) return;
    const { side, packed } = this.thumbs;
    this.thumbs.probs = this.decode(await inflate(packed), this.layers * this.heads * side * side);
  }

  /** A head from the overview, which the payload of every long input has. */
  overview(layer, head, { rows, cols }) {
    if (!this.thumbs?.probs) return null;
    const side = this.thumbs.side;
    const bins = (positions) => [...new Set(positions.map((i) => Math.floor((i * side) / this.size)))];
    const [high, wide] = [bins(rows), bins(cols)];
    const values = new Float32Array(high.length * wide.length);
    const at = (layer * this.heads + head) * side * side;
    high.forEach((row, r) => wide.forEach((col, c) => { values[r * wide.length + c] = this.thumbs.probs[at + row * side + col]; }));
    return { high: high.length, wide: wide.length, values };
  }
}

/**
 * The same input with the tokens of a word merged: attention to a word is the sum over its tokens, attention from a word
 * their mean, so that every row still sums to 1 (Clark et al. 2019, section 3).
 */
export class WordData extends Units {
  constructor(tokenData) {
    super();
    this.tokenData = tokenData;
    Object.assign(this, { id: `${tokenData.id}.words`, layers: tokenData.layers, heads: tokenData.heads, error: tokenData.error });
    this.starts = Array.from(tokenData.words.keys()).filter((i) => !i || tokenData.words[i] !== tokenData.words[i - 1]);
    this.size = this.starts.length;
    this.ends = this.starts.map((_, word) => this.starts[word + 1] ?? tokenData.size);
    this.tokens = this.starts.map((start, word) => tokenData.tokens.slice(start, this.ends[word])
      .map((token, i) => (i ? token.replace(/^##/, "") : token)).join(""));
    this.segments = this.starts.map((start) => tokenData.segments[start]);
    this.hideable = new Set(Array.from(this.starts.keys()).filter((word) => tokenData.hideable.has(this.starts[word])));
    this.merged = new Map();
  }

  tokenOf(word) {
    return this.starts[word];
  }

  positionOf(token) {
    return this.tokenData.words[token];
  }

  head(layer, head) {
    const probs = this.tokenData.head(layer, head);
    const key = `${layer}.${head}`;
    const cached = this.merged.get(key);
    if (!probs || cached?.source === probs) return cached?.probs ?? null;
    const { size } = this.tokenData;
    const merged = new Float32Array(this.size * this.size);
    for (let row = 0; row < size; row++) {
      const word = this.tokenData.words[row];
      const share = 1 / (this.ends[word] - this.starts[word]);
      for (let col = 0; col < size; col++) merged[word * this.size + this.tokenData.words[col]] += probs[row * size + col] * share;
    }
    if (this.merged.size >= MAX_CACHED_HEADS) this.merged.delete(this.merged.keys().next().value);
    this.merged.set(key, { source: probs, probs: merged });
    return merged;
  }

  ready(layer, heads) {
    return this.tokenData.ready(layer, heads);
  }

  overview(layer, head, { rows, cols }) {
    const tokensOfWords = (words) => words.flatMap((word) => Array.from({ length: this.ends[word] - this.starts[word] }, (_, i) => this.starts[word] + i));
    return this.tokenData.overview(layer, head, { rows: tokensOfWords(rows), cols: tokensOfWords(cols) });
  }
}
