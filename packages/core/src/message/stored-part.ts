import type { MessagePart } from "@selvedge/protocol";

/** Whether a value has the fields its part type requires, so that later code can rely on them. */
export function isStoredPart(value: unknown): value is MessagePart {
  const part = value as Record<string, unknown> | null | undefined;
  switch (part?.["type"]) {
    case "text":
      return typeof part["text"] === "string";
    case "reasoning":
      return typeof part["reasoning"] === "string";
    case "file":
      return typeof part["data"] === "string" && typeof part["mimeType"] === "string";
    case "source":
      return typeof part["source"] === "object" && part["source"] !== null;
    case "custom":
      return typeof part["kind"] === "string";
    case "step-start":
      return true;
    case "tool-invocation": {
      const call = part["toolInvocation"] as Record<string, unknown> | null | undefined;
      return (
        typeof call?.["toolCallId"] === "string" &&
        typeof call["toolName"] === "string" &&
        typeof call["state"] === "string"
      );
    }
    default:
      return typeof part?.["type"] === "string" && part["type"].startsWith("data-");
  }
}
