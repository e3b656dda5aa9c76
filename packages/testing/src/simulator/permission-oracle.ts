import type { Row } from "@selvedge/core/storage";

export type Policy = "allow" | "ask" | "deny";

/** The tools of a session that need permission, by category. */
export const CATEGORY: Readonly<Record<string, "edit" | "read">> = { write: "edit", idempotent: "read" };

/** The only rule with a pattern in these worlds. Nobody takes it back. */
export const DENIED = "write(bad*)";

/** What a session's row says about a call: the rules of docs/controller.md, written down a second time. */
export function policyOf(row: Row, toolName: string, args: unknown): Policy {
  const { tools, categories } = row["rules"] as Record<"tools" | "categories", Record<string, Policy>>;
  const grants = row["grants"] as Record<"tools" | "categories", string[]>;
  const category = CATEGORY[toolName] ?? "";
  const isBad = toolName === "write" && String((args as { path?: unknown }).path).startsWith("bad");
  if ((isBad && tools[DENIED] === "deny") || tools[toolName] === "deny") return "deny";
  const isGranted = grants.tools.includes(toolName) || grants.categories.includes(category);
  if (categories[category] === "deny" && !tools[toolName] && !isGranted) return "deny";
  if ((row["state"] as { yolo?: boolean }).yolo === true) return "allow";
  return tools[toolName] ?? (isGranted ? "allow" : (categories[category] ?? "ask"));
}
