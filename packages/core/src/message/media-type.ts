/**
 * First bytes in hex, by top-level type. An MP4 or WebM file may be audio or video; without a hint, the first entry
 * wins.
 */
const SIGNATURES: readonly (readonly [type: string, start: RegExp])[] = [
  ["image/gif", /^474946383[79]61/],
  ["image/png", /^89504e47/],
  ["image/jpeg", /^ffd8/],
  ["image/webp", /^52494646.{8}57454250/],
  ["image/bmp", /^424d.{8}00000000/],
  ["image/tiff", /^(?:49492a00|4d4d002a)/],
  ["image/avif", /^000000..6674797061766966/],
  ["image/heic", /^000000..6674797068656963/],
  ["application/pdf", /^25504446/],
  ["audio/aac", /^(?:fff[0189]|40150000)/],
  ["audio/mpeg", /^(?:ff(?:f[ab23]|e[23])|494433)/],
  ["audio/wav", /^52494646.{8}57415645/],
  ["audio/ogg", /^4f676753/],
  ["audio/flac", /^664c6143/],
  ["video/quicktime", /^000000146674797071/],
  ["video/mp4", /^000000..66747970/],
  ["audio/mp4", /^000000..66747970/],
  ["audio/webm", /^1a45dfa3/],
  ["video/webm", /^1a45dfa3/],
  ["video/x-msvideo", /^52494646/],
];

const SNIFFED_CHARACTERS = 24;

/**
 * The media type of a file: from its data URL, otherwise the caller's full type, otherwise its first bytes. `image`,
 * `image/*` and the like narrow the search and are the result if it finds nothing.
 */
export function mediaTypeOf(data: string, given: string | undefined): string | undefined {
  const url = readDataUrl(data);
  if (url?.mediaType) return url.mediaType;
  if (given !== undefined && /^[^/]+\/[^*]/.test(given)) return given;
  if (/^https?:/i.test(data)) return given;
  return detect(url?.base64 ? data.slice(url.bodyAt) : data, given?.split("/")[0]) ?? given;
}

interface DataUrl {
  mediaType: string | undefined;
  base64: boolean;
  /** Where the data starts. */
  bodyAt: number;
}

export function readDataUrl(data: string): DataUrl | undefined {
  const head = /^data:([^;,]{0,200})((?:;[^;,]{0,200}){0,10}),/i.exec(data);
  if (!head) return undefined;
  return {
    mediaType: head[1]!.includes("/") ? head[1]!.trim().toLowerCase() : undefined,
    base64: /;\s*base64\s*$/i.test(head[2]!),
    bodyAt: head[0].length,
  };
}

function detect(base64: string, topLevel: string | undefined): string | undefined {
  const start = Buffer.from(base64.slice(0, SNIFFED_CHARACTERS), "base64").toString("hex");
  const isWanted = (type: string) => topLevel === undefined || type.startsWith(`${topLevel}/`);
  return SIGNATURES.find(([type, bytes]) => isWanted(type) && bytes.test(start))?.[0];
}
