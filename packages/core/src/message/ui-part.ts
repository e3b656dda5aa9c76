import { isObject } from "@selvedge/protocol";
import type {
  MessagePart,
  ProviderMetadata,
  SourceMessagePart,
  ToolInvocation,
  ToolInvocationState,
} from "@selvedge/protocol";
import { type LoosePart, optionalText, textOf } from "./invalid-message.ts";

const STATES: Readonly<Record<string, ToolInvocationState>> = {
  "input-streaming": "partial-call",
  "input-available": "call",
  "approval-requested": "approval-requested",
  "approval-responded": "approval-responded",
  "output-available": "result",
  "output-error": "output-error",
  "output-denied": "output-denied",
};

/** Converts a part that only AI SDK UI messages have; `undefined` for any other. */
export function fromUiPart(part: LoosePart, type: string): MessagePart | undefined {
  switch (type) {
    case "source-url":
    case "source-document":
      return { type: "source", source: toSource(part, type) };
    case "custom":
      return { type: "custom", kind: textOf(part, "kind") as `${string}.${string}` };
    case "dynamic-tool":
      return toToolPart(part, textOf(part, "toolName"));
  }
  return type.startsWith("tool-") ? toToolPart(part, type.slice("tool-".length)) : undefined;
}

function toSource(part: LoosePart, type: "source-url" | "source-document"): SourceMessagePart["source"] {
  const id = textOf(part, "sourceId");
  const title = optionalText(part, "title");
  if (type === "source-url") return { id, sourceType: "url", url: textOf(part, "url"), ...title };
  const mimeType = textOf(part, "mediaType");
  return { id, sourceType: "document", mimeType, ...title, ...optionalText(part, "filename") };
}

function toToolPart(part: LoosePart, toolName: string): MessagePart {
  const state = STATES[String(part["state"])] ?? "call";
  const callMetadata = part["callProviderMetadata"] as ProviderMetadata | undefined;
  const resultMetadata = part["resultProviderMetadata"] as ProviderMetadata | undefined;
  const toolInvocation: ToolInvocation = {
    state,
    toolCallId: textOf(part, "toolCallId"),
    toolName,
    args: part["input"] ?? part["rawInput"] ?? {},
    ...(state === "result" && { result: part["output"] }),
    ...(state === "output-error" && { result: part["errorText"], isError: true }),
    ...toApproval(part["approval"]),
    ...(part["providerExecuted"] === true && { providerExecuted: true }),
    ...(resultMetadata && { resultProviderMetadata: resultMetadata }),
  };
  return { type: "tool-invocation", toolInvocation, ...(callMetadata && { providerMetadata: callMetadata }) };
}

function toApproval(approval: unknown): Pick<ToolInvocation, "approval"> | undefined {
  if (!isObject(approval) || typeof approval["id"] !== "string") return undefined;
  const { id, approved } = approval;
  return {
    approval: {
      id,
      ...(typeof approved === "boolean" && { approved }),
      ...optionalText(approval, "reason"),
    },
  };
}
