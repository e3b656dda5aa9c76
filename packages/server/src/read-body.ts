import { AgentError, type System } from "@selvedge/core";

interface BodyLimits {
  bodyBytes: number;
  bodyMs: number;
  jsonDepth: number;
}

/** The slowest connection that may still send a long body. */
const BYTES_PER_SECOND = 64 << 10;

/** How long a body of this size may take. */
export function timeFor(bytes: number, { bodyMs }: Pick<BodyLimits, "bodyMs">): number {
  return bodyMs > 0 ? bodyMs + (bytes * 1000) / BYTES_PER_SECOND : Number.POSITIVE_INFINITY;
}

/** Reads a request's JSON, within limits. An empty body is an empty object. */
export async function readBody(request: Request, limits: BodyLimits, system: System): Promise<unknown> {
  const text = await readText(request, limits, system);
  if (text === "") return {};
  const type = request.headers.get("content-type") ?? "";
  // A form on another site can send any content type but this.
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

async function readText(request: Request, limits: BodyLimits, system: System): Promise<string> {
  const { bodyBytes } = limits;
  if (Number(request.headers.get("content-length") ?? 0) > bodyBytes) throw tooLarge(bodyBytes);
  if (!request.body) return "";
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  const began = system.monotonic();
  const late = Promise.withResolvers<never>();
  // Bytes received in the meantime may extend the deadline.
  const wait = (): (() => void) => {
    const left = timeFor(bytes, limits) - (system.monotonic() - began);
    if (left === Number.POSITIVE_INFINITY) return () => {};
    return system.setTimer(Math.max(left, 1), () => {
      if (timeFor(bytes, limits) > system.monotonic() - began) cancel = wait();
      else late.reject(tooSlow(bytes, limits.bodyMs));
    });
  };
  let cancel = wait();
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late.promise]);
      if (done) return text + decoder.decode();
      bytes += value.byteLength;
      if (bytes > bodyBytes) throw tooLarge(bodyBytes);
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    void reader.cancel(error).catch(() => {});
    if (AgentError.is(error)) throw error;
    throw new AgentError("invalid-argument", `The request body ended early, after ${bytes} bytes.`, {
      cause: error,
    });
  } finally {
    cancel();
  }
}

/** Not recursive, so deep nesting does no harm. */
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

function tooSlow(bytes: number, bodyMs: number): AgentError {
  return new AgentError(
    "request-timeout",
    `Request body timed out: received ${bytes} bytes within ${bodyMs} ms (limits.bodyMs) plus 1 s for every 64 KB.`,
  );
}

function tooLarge(limit: number): AgentError {
  return new AgentError("limit-exceeded", `The body is larger than ${limit} bytes.`);
}
