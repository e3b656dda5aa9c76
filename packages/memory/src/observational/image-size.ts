/** Width and height from the head of a PNG, GIF, JPEG or WebP, given as base64 or a data URL. Nothing is fetched. */
export function imageSize(data: string): { width: number; height: number } | undefined {
  const head = readHead(data);
  if (!head) return undefined;
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const tag = (at: number, length: number): string => String.fromCharCode(...head.subarray(at, at + length));
  try {
    if (tag(1, 3) === "PNG") return { width: view.getUint32(16), height: view.getUint32(20) };
    if (tag(0, 3) === "GIF") return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    if (tag(0, 4) === "RIFF" && tag(8, 4) === "WEBP") return webpSize(view, tag(12, 4));
    if (view.getUint16(0) === 0xffd8) return jpegSize(view);
  } catch {
    // The head ends before the size.
  }
  return undefined;
}

/** Enough for the metadata that cameras put before the size. */
const HEAD_CHARACTERS = 88_000;

function readHead(data: string): Uint8Array | undefined {
  if (/^https?:/i.test(data)) return undefined;
  const start = data.startsWith("data:") ? data.indexOf(",") + 1 : 0;
  const piece = data.slice(start, start + HEAD_CHARACTERS).replaceAll(/[^A-Za-z0-9+/]/g, "");
  try {
    const binary = atob(piece.slice(0, piece.length - (piece.length % 4)));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function webpSize(view: DataView, kind: string): { width: number; height: number } {
  if (kind === "VP8X") {
    const at = (offset: number): number =>
      view.getUint16(offset, true) + (view.getUint8(offset + 2) << 16) + 1;
    return { width: at(24), height: at(27) };
  }
  if (kind === "VP8L") {
    const bits = view.getUint32(21, true);
    return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
}

function jpegSize(view: DataView): { width: number; height: number } {
  let at = 2;
  for (;;) {
    const marker = view.getUint16(at);
    const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
}
