import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4FileData } from "@ai-sdk/provider";
import { AgentError } from "../errors.ts";

type Part = Exclude<LanguageModelV4Message, { role: "system" }>["content"][number];

/**
 * Converts a prompt to an older specification. `lower` converts one part: it returns the same object if nothing
 * changes, or `undefined` if the older specification has no such part. Unchanged messages are not copied.
 */
export function lowerPrompt(prompt: LanguageModelV4Prompt, lower: (part: Part) => unknown): unknown[] {
  const lowered: unknown[] = [];
  for (const message of prompt) {
    if (message.role === "system") {
      lowered.push(message);
      continue;
    }
    let changed = false;
    const content: unknown[] = [];
    for (const part of message.content) {
      const result = lower(part);
      if (result !== part) changed = true;
      if (result !== undefined) content.push(result);
    }
    if (!changed) lowered.push(message);
    else if (content.length > 0) lowered.push({ ...message, content });
  }
  return lowered;
}

/** File data in the form of specifications v2 and v3: bytes, base64 or a URL. */
export function lowerFileData(data: SharedV4FileData): Uint8Array | string | URL {
  switch (data.type) {
    case "data":
      return data.data;
    case "url":
      return data.url;
    case "text":
      return new TextEncoder().encode(data.text);
    case "reference":
      throw fileReferenceUnsupported(data.reference);
  }
}

export function fileReferenceUnsupported(reference: Record<string, string>): AgentError {
  return new AgentError(
    "model-unsupported",
    `The prompt has a file by provider reference (${JSON.stringify(reference)}), which only models with AI SDK specification v4 accept. Upgrade the provider package, or send the file's data or URL.`,
  );
}

const BASE64_PIECE = 32_766;

export function toBase64(data: Uint8Array | string): string {
  if (typeof data === "string") return data;
  let base64 = "";
  // The piece size is a multiple of three bytes, so the pieces join without padding.
  for (let start = 0; start < data.length; start += BASE64_PIECE) {
    base64 += btoa(String.fromCharCode(...data.subarray(start, start + BASE64_PIECE)));
  }
  return base64;
}
