// Reads the payloads of the canvas views, which views/payload.py writes.

/** Split a payload into its JSON header and its still compressed blocks. Layout: "BLAB", uint32 LE header size, header, blocks. */
function unpack(payload) {
  const bytes = payload instanceof Uint8Array ? payload
    : ArrayBuffer.isView(payload) ? new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength)
      : new Uint8Array(payload);
  const text = new TextDecoder();
  if (bytes.length < 8 || text.decode(bytes.subarray(0, 4)) !== "BLAB") throw new Error("not a bertlab payload");
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  const header = JSON.parse(text.decode(bytes.subarray(8, 8 + size)));
  let at = 8 + size;
  const blocks = header.blocks.map((block) => {
    const packed = bytes.slice(at, at + block.bytes);
    at += block.bytes;
    return { ...block, packed };
  });
  if (at > bytes.length) throw new Error("the payload is cut short");
  return { header, blocks };
}

/** Read a payload of the expected kind; `options` replace those in the payload. */
export function readPayload(kind, payload, options) {
  const { header, blocks } = unpack(payload);
  if (header.kind !== kind) throw new Error(`a payload of kind ${header.kind}, not ${kind}`);
  const hostOptions = { ...header.options, ...options };
  return { header, blocks, hostOptions, language: JSON.stringify([hostOptions.lang, hostOptions.labels]) };
}

/** Decompress zlib bytes with the browser's decoder. */
export async function inflate(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
