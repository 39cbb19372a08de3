// Appended to the script of every component, whose own function is `drawComponent`. Streamlit passes new data to a component in any
// order until the browser has loaded its script, so older data could replace newer data. `components._mount` stamps the data with the
// key of the component and the time of their last change. Here, data that are older than the ones before are ignored.
const STAMP_BYTES = 12; // after data that are bytes: the key as uint32, the time as float64, both little-endian
const newestStamps = new WeakMap(); // parent element of a component -> the stamp of the newest data

function readStamp(data) {
  if (!data) return { data, stamp: undefined };
  if (!(data instanceof ArrayBuffer) && !ArrayBuffer.isView(data)) return { data, stamp: data.stamp };
  const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const stamp = new DataView(bytes.buffer, bytes.byteOffset + bytes.length - STAMP_BYTES, STAMP_BYTES);
  return { data: bytes.subarray(0, -STAMP_BYTES), stamp: { key: stamp.getUint32(0, true), time: stamp.getFloat64(4, true) } };
}

export default function (component) {
  const { data, stamp } = readStamp(component.data);
  const newest = newestStamps.get(component.parentElement);
  if (stamp && newest?.key === stamp.key && stamp.time < newest.time) return undefined;
  if (stamp) newestStamps.set(component.parentElement, stamp);
  return drawComponent({ ...component, data });
}
