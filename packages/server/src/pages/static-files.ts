import { readFile } from "node:fs/promises";
import { extname, join, normalize, sep } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
};

/** Files whose names change with their contents. */
const ASSETS = `${sep}assets${sep}`;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Responds with a file from a folder of built pages; `undefined` if there is none. A browser that requests an unknown
 * page gets `index.html`, which decides what to show.
 */
export async function staticFile(folder: string, request: Request): Promise<Response | undefined> {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const path = safePath(new URL(request.url).pathname);
  if (path === undefined) return undefined;
  const answer = (name: string): Promise<Response | undefined> =>
    fileResponse(folder, name, request.method === "HEAD");
  const file = TYPES[extname(path)] === undefined ? undefined : await answer(path);
  if (file) return file;
  const wantsPage = path === sep || (request.headers.get("accept") ?? "").includes("text/html");
  return wantsPage && !path.startsWith(ASSETS) ? answer("index.html") : undefined;
}

async function fileResponse(folder: string, name: string, headOnly: boolean): Promise<Response | undefined> {
  try {
    const bytes = await readFile(join(folder, name));
    return new Response(headOnly ? null : new Uint8Array(bytes), {
      headers: {
        "content-type": TYPES[extname(name)]!,
        "cache-control": name.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-cache",
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      },
    });
  } catch {
    return undefined;
  }
}

/** A path inside the folder, whatever the request says. */
function safePath(pathname: string): string | undefined {
  let decoded: string;
  try {
    decoded = decodeURIComponent(pathname);
  } catch {
    return undefined;
  }
  if (decoded.includes("\0") || decoded.includes("\\")) return undefined;
  const path = normalize(decoded);
  const parts = path.split(sep);
  return path.startsWith(sep) && !parts.includes("..") && !parts.some((part) => part.startsWith("."))
    ? path
    : undefined;
}
