import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { type CallRule, isRule, matchesCall, parseRule } from "./call-pattern.ts";

export type ToolCategory = "read" | "edit" | "execute" | "mcp" | "other";
export type PermissionPolicy = "allow" | "ask" | "deny";

/** What a session allows. A key of `tools` is a name, or a name with a pattern: `execute_command(git status*)`. */
export interface PermissionRules {
  categories: Partial<Record<ToolCategory, PermissionPolicy>>;
  tools: Record<string, PermissionPolicy>;
}

/** Grants by a person, in addition to the rules, until revoked. */
export interface PermissionGrants {
  categories: ToolCategory[];
  tools: string[];
}

export interface PermissionRequest {
  toolName: string;
  args: unknown;
  /** `null` if no rule by category applies. */
  category: ToolCategory | null;
  rules: PermissionRules;
  grants: PermissionGrants;
  /** No call asks. */
  yolo: boolean;
  /** The tool itself asks people, or only takes notes: it needs no permission. */
  exempt: boolean;
}

/** The answer, and the rule that gave it, in words for the person who is asked. */
export interface PermissionAnswer {
  decision: PermissionPolicy;
  reason: string;
  /** A rule or a grant for the whole category gave it. */
  byCategory?: boolean;
}

const CATEGORIES: ReadonlySet<string> = new Set<ToolCategory>(["read", "edit", "execute", "mcp", "other"]);
const POLICIES: ReadonlySet<string> = new Set<PermissionPolicy>(["allow", "ask", "deny"]);
const STRICTEST = ["deny", "ask", "allow"] as const;

/**
 * May this call run? The most specific rule decides: one that names arguments, then the tool's, then its category's. Of
 * rules that are equally specific the strictest counts. A denied tool or pattern stays denied whatever else allows it.
 */
export function decidePermission(request: PermissionRequest): PermissionAnswer {
  const { toolName, category, rules, grants, yolo } = request;
  const byCall = strictestMatch(request, "pattern");
  const byTool = strictestMatch(request, "name");
  for (const rule of [byCall, byTool])
    if (rule?.policy === "deny") return answer("deny", `rule "${rule.key}"`);
  if (request.exempt) return answer("allow", `"${toolName}" needs no permission`);
  const rule = byCall ?? byTool;
  const granted = grantFor(toolName, category, grants);
  const ofCategory = category === null ? undefined : own(rules.categories, category);
  if (ofCategory === "deny" && !rule && !granted) return answer("deny", `category "${category}"`);
  if (yolo) return answer("allow", "approvals are off in this session");
  if (rule) return answer(rule.policy, `rule "${rule.key}"`);
  const byCategory = !grants.tools.includes(toolName);
  if (granted) return { ...answer("allow", `${granted} was granted`), byCategory };
  if (ofCategory) return { ...answer(ofCategory, `category "${category}"`), byCategory };
  return answer("ask", `no rule for "${toolName}"`);
}

/** Whether a tool is never offered: a rule denies it by name, whatever its arguments. */
export function isDenied(
  toolName: string,
  category: ToolCategory | null,
  { rules, grants }: Pick<PermissionRequest, "rules" | "grants">,
): boolean {
  const rule = own(rules.tools, toolName);
  if (rule !== undefined) return rule === "deny";
  const mayBeAllowed = Object.keys(rules.tools).some((key) => parseRule(key).toolName === toolName);
  if (mayBeAllowed || grantFor(toolName, category, grants)) return false;
  return category !== null && own(rules.categories, category) === "deny";
}

/** The grant that applies, as text. */
function grantFor(
  toolName: string,
  category: ToolCategory | null,
  { tools, categories }: PermissionGrants,
): string | undefined {
  if (tools.includes(toolName)) return `"${toolName}"`;
  return category !== null && categories.includes(category) ? `category "${category}"` : undefined;
}

export function checkCategory(value: unknown): ToolCategory {
  if (typeof value === "string" && CATEGORIES.has(value)) return value as ToolCategory;
  throw bad(`category must be one of ${[...CATEGORIES].join(", ")}, got ${showValue(value)}.`);
}

/** The name of a tool, or a name with a pattern. */
export function checkRule(value: unknown): string {
  const rule = checkId("toolName", value);
  if (isRule(rule)) return rule;
  throw bad(`toolName must be a name or name(pattern), got ${showValue(value)}.`);
}

export function checkPolicy(value: unknown): PermissionPolicy {
  if (typeof value === "string" && POLICIES.has(value)) return value as PermissionPolicy;
  throw bad(`policy must be "allow", "ask" or "deny", got ${showValue(value)}.`);
}

function strictestMatch(
  { toolName, args, rules }: PermissionRequest,
  kind: "pattern" | "name",
): { key: string; policy: PermissionPolicy } | undefined {
  let found: { key: string; policy: PermissionPolicy } | undefined;
  for (const [key, policy] of Object.entries(rules.tools)) {
    const rule: CallRule = parseRule(key);
    if (rule.toolName !== toolName || (rule.pattern !== undefined) !== (kind === "pattern")) continue;
    if (rule.pattern !== undefined && !matchesCall(rule.pattern, args, policy === "allow" ? "whole" : "any"))
      continue;
    if (!found || STRICTEST.indexOf(policy) < STRICTEST.indexOf(found.policy)) found = { key, policy };
  }
  return found;
}

function own<Value>(record: Partial<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function answer(decision: PermissionPolicy, reason: string): PermissionAnswer {
  return { decision, reason };
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
