import type { CallToolResult } from "@modelcontextprotocol/server";

const CONTENT_TYPES = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** Converts a tool's return value to the protocol: strings verbatim, content unchanged, everything else as JSON. */
export function toCallToolResult(output: unknown, structured: boolean): CallToolResult {
  if (structured) {
    return {
      content: [{ type: "text", text: toText(output) }],
      structuredContent: output as NonNullable<CallToolResult["structuredContent"]>,
    };
  }
  if (isCallToolResult(output)) return output;
  return { content: [{ type: "text", text: toText(output) }] };
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function isCallToolResult(output: unknown): output is CallToolResult {
  const { content } = (output ?? {}) as { content?: unknown };
  return (
    Array.isArray(content) &&
    content.every((part) => CONTENT_TYPES.has((part as { type?: string } | null)?.type ?? ""))
  );
}

function toText(output: unknown): string {
  return typeof output === "string" ? output : (JSON.stringify(output) ?? "");
}
