// Reads the weights of a model that bertlab/checkpoints/int8.py packed: matrices with eight bits per weight.

/** The weights arrive as parts of a text, which are decoded and decompressed while the browser still reads the rest of the file. */
export class WeightReader {
  /**
   * numBytes: the size of the compressed block. table: name -> {shape, values, codes}, where `values` and `codes` are offsets
   * in the block. tokensStart: where the tokens of the vocabulary begin, one per line. blockBytes: the size of the block.
   */
  constructor({ numBytes, blockBytes, tokensStart, table }) {
    Object.assign(this, { numBytes, tokensStart, table, block: new Uint8Array(blockBytes) });
    const { readable, writable } = new DecompressionStream("deflate");
    this.writer = writable.getWriter();
    /** A promise of {weights, tokens}. weights: Map from name to a Float32Array for a vector, to {codes_OI, scale_O} for a matrix. */
    this.content = this.read(readable.getReader());
  }

  /** Add the next part of the text. A damaged text makes `content` fail. */
  add(text) {
    const bytes = decodePrintable(text).subarray(0, this.numBytes); // the last part ends with zeros that are not part of the block
    this.numBytes -= bytes.length;
    this.writer.write(bytes).catch(() => {});
    if (this.numBytes === 0) this.writer.close().catch(() => {});
  }

  async read(reader) {
    let size = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      this.block.set(part.value, size);
      size += part.value.length;
    }
    if (size !== this.block.length) throw new Error("the weights are incomplete");
    return { weights: this.tensors(), tokens: new TextDecoder().decode(this.block.subarray(this.tokensStart)).split("\n") };
  }

  tensors() {
    const { buffer } = this.block;
    return new Map(Object.entries(this.table).map(([name, { shape, values, codes }]) => {
      const [O, I] = shape;
      const values_O = new Float32Array(buffer, values, O);
      return [name, shape.length === 1 ? values_O : { codes_OI: new Int8Array(buffer, codes, O * I), scale_O: values_O }];
    }));
  }
}

// The value of two characters, for all pairs: digits to the base 91, from "#" on, with "!" in place of "<".
const PAIRS = new Uint16Array(128 * 128);
const digit = (code) => (code === 33 ? 60 : code) - 35;
for (let a = 33; a < 128; a++) for (let b = 33; b < 128; b++) PAIRS[a * 128 + b] = digit(a) * 91 + digit(b);

/** Decode text in which two characters stand for 13 bits. */
export function decodePrintable(text) {
  const codes = new TextEncoder().encode(text);
  const bytes = new Uint8Array(Math.floor(codes.length / 16) * 13);
  let bits = 0; // of these, the lowest `count` ones are not part of a byte yet
  let count = 0;
  let n = 0;
  for (let i = 0; i < codes.length; i += 2) {
    bits = (bits << 13) | PAIRS[codes[i] * 128 + codes[i + 1]];
    count += 5; // one byte and five bits more
    bytes[n++] = bits >> count;
    if (count >= 8) {
      count -= 8;
      bytes[n++] = bits >> count;
    }
  }
  return bytes;
}
