import { AgentError, showValue } from "../errors.ts";

/** A part in any form a caller may have. */
export type LoosePart = { type?: unknown; [key: string]: unknown };

export function invalid(problem: string, value: unknown): AgentError {
  return new AgentError("invalid-message", `${problem}, got ${showValue(value)}.`);
}

/** A text that a part must have. */
export function textOf(part: LoosePart, name: string): string {
  const value: unknown = part[name];
  if (typeof value !== "string" || value === "")
    throw invalid(`A ${String(part.type)} part needs ${name}`, part);
  return value;
}

/** A text that a part may have. */
export function optionalText<Name extends string>(
  part: LoosePart,
  name: Name,
): { [Key in Name]?: string } | undefined {
  const value: unknown = part[name];
  return typeof value === "string" ? ({ [name]: value } as { [Key in Name]: string }) : undefined;
}
