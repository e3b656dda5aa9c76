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

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Answers with a file of a folder of built pages; `undefined` when there is none. Paths that look like a page, not like
 * a file, get `index.html`: the page itself knows what to show there.
 */
export async function staticFile(folder: string, request: Request): Promise<Response | undefined> {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const path = safePath(new URL(request.url).pathname);
  if (path === undefined) return undefined;
  const isPage = extname(path) === "";
  if (isPage && !(request.headers.get("accept") ?? "").includes("text/html")) return undefined;
  const name = isPage ? "index.html" : path;
  const type = TYPES[extname(name)];
  if (type === undefined) return undefined;
  try {
    const bytes = await readFile(join(folder, name));
    const hashed = name.startsWith(`${sep}assets${sep}`);
    return new Response(request.method === "HEAD" ? null : new Uint8Array(bytes), {
      headers: {
        "content-type": type,
        "cache-control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
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
