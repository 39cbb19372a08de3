// Reads the weights of a model that bertlab/checkpoints/int8.py packed: matrices with eight bits per weight.
import { inflate } from "../payload.js";

/**
 * Unpack all tensors. packed: base64 of the compressed block; table: name -> {shape, values, codes}, where `values` and `codes`
 * are offsets in the block. Returns a Map from name to values; a matrix is integers (codes) times one scale per row.
 */
export async function readTensors(packed, table) {
  const { buffer } = await inflate(decodeBase64(packed));
  return new Map(Object.entries(table).map(([name, { shape, values, codes }]) => {
    if (shape.length === 1) return [name, new Float32Array(buffer, values, shape[0])];
    const [O, I] = shape;
    const scale_O = new Float32Array(buffer, values, O);
    const codes_OI = new Int8Array(buffer, codes, O * I);
    const weight_OI = new Float32Array(O * I);
    for (let o = 0; o < O; o++) for (let i = o * I; i < (o + 1) * I; i++) weight_OI[i] = codes_OI[i] * scale_O[o];
    return [name, weight_OI];
  }));
}

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
