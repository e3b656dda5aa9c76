import { fileURLToPath } from "node:url";
import { AgentError } from "@selvedge/core/errors";

const REMOTE = new Set(["libsql:", "http:", "https:", "ws:", "wss:"]);

/** The path of the database, or `:memory:`. */
export function parseUrl(url: unknown): string {
  if (typeof url !== "string" || url === "") {
    throw new AgentError(
      "invalid-argument",
      `url must be "file:<path>" or ":memory:", got ${JSON.stringify(url)}`,
    );
  }
  if (url === ":memory:" || url === "file::memory:") return ":memory:";
  const scheme = /^[a-z]+:/i.exec(url)?.[0].toLowerCase();
  if (scheme !== undefined && REMOTE.has(scheme)) {
    throw new AgentError(
      "not-supported",
      `Remote databases (${scheme}//…) are not supported yet; use "file:<path>" or ":memory:"`,
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
