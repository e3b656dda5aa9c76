import { createHash } from "node:crypto";
import { isObject } from "@selvedge/protocol";

/** What a decision about a call is bound to: this tool with exactly these arguments. */
export function hashArgs(toolName: string, args: unknown): string {
  return createHash("sha256")
    .update(`${toolName}\n${canonical(args)}`)
    .digest("base64url");
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, item: unknown) =>
      isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
    ) ?? "null"
  );
}
