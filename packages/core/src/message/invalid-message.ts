import { AgentError, showValue } from "../errors.ts";

/** A part in any accepted input form. */
export type LoosePart = { type?: unknown; [key: string]: unknown };

export function invalid(problem: string, value: unknown): AgentError {
  return new AgentError("invalid-message", `${problem}, got ${showValue(value)}.`);
}

/** Reads a required string of a part. */
export function textOf(part: LoosePart, name: string): string {
  const value: unknown = part[name];
  if (typeof value !== "string" || value === "")
    throw invalid(`A ${String(part.type)} part needs ${name}`, part);
  return value;
}

/** Reads an optional string of a part. */
export function optionalText<Name extends string>(
  part: LoosePart,
  name: Name,
): { [Key in Name]?: string } | undefined {
  const value: unknown = part[name];
  return typeof value === "string" ? ({ [name]: value } as { [Key in Name]: string }) : undefined;
}
