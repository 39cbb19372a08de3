// Writes the attention of an input as the payload that attention.js reads; views/payload.py writes the same in Python.

/** input: the result of Tokenizer.encode; probs_LNTT: from Bert.run. Probabilities have 16 bits: all high bytes of a layer, then all low bytes. */
export async function attentionPayload(input, probs_LNTT, heads) {
  const layers = await Promise.all(probs_LNTT.map((probs_NTT) => deflate(encodeProbabilities(probs_NTT))));
  const words = wordNumbers(input);
  const header = {
    kind: "attention", id: `${Date.now()}.${Math.random()}`, layers: layers.length, heads,
    tokens: input.tokens, segments: input.types, hideable: [...input.added.keys()].filter((t) => input.added[t]),
    ...(words.at(-1) + 1 < words.length ? { words } : {}), // only if a word has several tokens
    scale: { bytes: 2, power: 1 }, error: 1e-5, options: {},
    blocks: layers.map((block, layer) => ({ kind: "layer", layer, bytes: block.length })),
  };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(new Uint32Array([text.length]).buffer); // little endian, like every machine that runs a browser
  return new Uint8Array(await new Blob([new TextEncoder().encode("BLAB"), size, text, ...layers]).arrayBuffer());
}

function encodeProbabilities(probs) {
  const bytes = new Uint8Array(2 * probs.length);
  probs.forEach((prob, i) => {
    const code = Math.min(65535, Math.round(prob * 65535));
    bytes[i] = code >> 8;
    bytes[probs.length + i] = code & 255;
  });
  return bytes;
}

/** The number of the word of each token; a token that begins with ## continues a word. */
function wordNumbers({ tokens, added }) {
  let number = -1;
  return tokens.map((token, t) => {
    const continuesWord = t > 0 && !added[t] && !added[t - 1] && token.startsWith("##") && token.length > 2;
    if (!continuesWord) number++;
    return number;
  });
}

async function deflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
