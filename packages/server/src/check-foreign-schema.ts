import { AgentError } from "@selvedge/core";

/** With so many references a schema can at worst make the work of a thousand. */
const MAX_REFERENCES = 20;

/**
 * Refuses a JSON Schema that could keep the server busy: its patterns are run against text that its sender can bring
 * about, and references that double at each level grow without end.
 */
export function checkForeignSchema(schema: unknown): void {
  let references = 0;
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      // A property may be called so too; then an object stands there.
      if (key === "pattern" && typeof child === "string") throw refused("pattern");
      if (key === "patternProperties") throw refused("patternProperties");
      if (/^\$(?:dynamic|recursive)?ref$/i.test(key) && ++references > MAX_REFERENCES)
        throw refused(`more than ${MAX_REFERENCES} references`);
      open.push(child);
    }
  }
}

function refused(what: string): AgentError {
  return new AgentError("forbidden", `A JSON Schema with ${what} needs the grant "run-options".`);
}
