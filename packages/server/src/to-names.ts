import { AgentError } from "@selvedge/core";

/** Parses a comma-separated list of known names. */
export function toNames<Name extends string>(place: string, text: string, known: readonly Name[]): Name[] {
  const isKnown = (name: string): name is Name => known.includes(name as Name);
  return text.split(",").map((part) => {
    const name = part.trim();
    if (isKnown(name)) return name;
    throw new AgentError("invalid-argument", `${place}: "${name}" is not one of ${known.join(", ")}.`);
  });
}
