import { AgentError } from "@selvedge/core";
import type { Root } from "@modelcontextprotocol/client";

/** The protocol only allows folders as `file://` URLs. */
export function checkRoots(roots: Root[]): Root[] {
  for (const { uri } of roots) {
    if (typeof uri === "string" && uri.startsWith("file://") && URL.canParse(uri)) continue;
    throw new AgentError(
      "invalid-argument",
      `A root needs a file:// URL (pathToFileURL(folder).href), got ${JSON.stringify(uri)}.`,
    );
  }
  return roots;
}
