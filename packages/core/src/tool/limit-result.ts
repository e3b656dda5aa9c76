import { errorMessage } from "../errors.ts";

/** The replacement for a tool result over the limit. */
interface TruncatedResult {
  truncated: true;
  message: string;
  preview: string;
}

/** Makes a result small enough for a model and valid JSON: truncated with a note, or described if it is not JSON. */
export function limitResult(result: unknown, maxBytes: number, toolName: string): unknown {
  if (result === undefined || result === null || typeof result === "number" || typeof result === "boolean")
    return result;
  if (typeof result === "string" && result.length * 3 <= maxBytes) return result.toWellFormed();
  let json: string | undefined;
  try {
    json = JSON.stringify(result);
  } catch (error) {
    return {
      error: true,
      message: `Tool "${toolName}" returned a value that is not JSON: ${errorMessage(error)}`,
    };
  }
  if (json === undefined)
    return { error: true, message: `Tool "${toolName}" returned a ${typeof result}, which is not JSON.` };
  if (json.length <= maxBytes && (json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes))
    return result;
  const text = typeof result === "string" ? result : json;
  const preview = text.slice(0, Math.max(0, Math.floor(maxBytes / 4))).toWellFormed();
  const truncated: TruncatedResult = {
    truncated: true,
    message: `The result of tool "${toolName}" was ${Buffer.byteLength(json)} bytes, over the limit of ${maxBytes}. Only its beginning is shown.`,
    preview,
  };
  return truncated;
}
