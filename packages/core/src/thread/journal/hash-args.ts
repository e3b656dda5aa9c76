import { createHash } from "node:crypto";

/** What a decision about a call is bound to: this tool with exactly these arguments. */
export function hashArgs(toolName: string, args: unknown): string {
  return createHash("sha256")
    .update(`${toolName}\n${canonical(args)}`)
    .digest("base64url");
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, item: unknown) =>
      typeof item === "object" && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
        : item,
    ) ?? "null"
  );
}
