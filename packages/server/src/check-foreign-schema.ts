import { AgentError } from "@selvedge/core";

/** With this many references, a schema can cost at most a thousandfold. */
const MAX_REFERENCES = 20;

/**
 * Refuses a JSON Schema that could keep the server busy: its patterns run against text its sender controls, and
 * references that double at each level grow exponentially.
 */
export function checkForeignSchema(schema: unknown): void {
  let references = 0;
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      // A property may also have this name; its value is then an object.
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
