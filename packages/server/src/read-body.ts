import { AgentError } from "@selvedge/core";

/** The JSON of a request, within limits. An empty body is an empty object. */
export async function readBody(
  request: Request,
  limits: { bodyBytes: number; jsonDepth: number },
): Promise<unknown> {
  const text = await readText(request, limits.bodyBytes);
  if (text === "") return {};
  const type = request.headers.get("content-type") ?? "";
  // A form of another site can send anything but this.
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new AgentError(
      "invalid-argument",
      `The body must be application/json, got "${type.slice(0, 100)}".`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AgentError("invalid-argument", "The body is not JSON.");
  }
  checkNesting(value, limits.jsonDepth);
  return value;
}

async function readText(request: Request, limit: number): Promise<string> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  if (!request.body) return "";
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const piece of request.body) {
    bytes += piece.byteLength;
    if (bytes > limit) throw tooLarge(limit);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** Without recursion, so that depth itself does no harm. */
function checkNesting(value: unknown, limit: number): void {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit)
      throw new AgentError("limit-exceeded", `The body is nested deeper than ${limit} levels.`);
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      if (Object.hasOwn(item, "__proto__"))
        throw new AgentError("invalid-argument", `The body must not have the key "__proto__".`);
      for (const child of Object.values(item))
        if (typeof child === "object" && child !== null) next.push(child);
    }
    level = next;
  }
}

function tooLarge(limit: number): AgentError {
  return new AgentError("limit-exceeded", `The body is larger than ${limit} bytes.`);
}
