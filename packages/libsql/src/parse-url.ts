import { fileURLToPath } from "node:url";
import { AgentError } from "@selvedge/core/errors";

const REMOTE = new Set(["libsql:", "http:", "https:", "ws:", "wss:"]);

/** True for the address of a server. */
export function isRemoteUrl(url: unknown): boolean {
  return typeof url === "string" && REMOTE.has(schemeOf(url) ?? "");
}

/** The path of the database, or `:memory:`. */
export function parseUrl(url: unknown): string {
  if (typeof url !== "string" || url === "") {
    throw new AgentError(
      "invalid-argument",
      `url must be "file:<path>", ":memory:" or the address of a libSQL server, got ${JSON.stringify(url)}`,
    );
  }
  if (url === ":memory:" || url === "file::memory:") return ":memory:";
  const scheme = schemeOf(url);
  if (isRemoteUrl(url)) {
    throw new AgentError(
      "not-supported",
      `Vectors on a libSQL server (${scheme}//…) are not supported; use "file:<path>" or ":memory:"`,
    );
  }
  if (scheme !== "file:" || url.includes("?") || url.includes("#")) {
    throw new AgentError(
      "invalid-argument",
      `url must be "file:<path>", without parameters, or ":memory:", got ${JSON.stringify(url)}`,
    );
  }
  const path = url.startsWith("file://") ? fileURLToPath(url) : decodeURIComponent(url.slice("file:".length));
  if (path === "")
    throw new AgentError("invalid-argument", `url does not name a file: ${JSON.stringify(url)}`);
  return path;
}

function schemeOf(url: string): string | undefined {
  return /^[a-z]+:/i.exec(url)?.[0].toLowerCase();
}
