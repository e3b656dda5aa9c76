import {
  type MessagePart,
  type StoredMessage,
  type ToolInvocationPart,
  toUiSource,
} from "@selvedge/protocol";

/** A message in the form of the AI SDK's `UIMessage`. */
export interface UIMessage {
  id: string;
  role: "system" | "user" | "assistant";
  parts: UIMessagePart[];
  metadata: Record<string, unknown>;
}

export type UIMessagePart = { type: string; [key: string]: unknown };

export function toUIMessage(message: StoredMessage): UIMessage {
  return {
    id: message.id,
    // The model reads a signal in the user's place, and a UI has no fourth role.
    role: message.role === "signal" ? "user" : message.role,
    parts: message.content.parts.flatMap(toUIPart),
    metadata: { ...message.content.metadata, createdAt: message.createdAt },
  };
}

function toUIPart(part: MessagePart): UIMessagePart[] {
  const meta = part.providerMetadata ? { providerMetadata: part.providerMetadata } : {};
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text, state: "done", ...meta }];
    case "reasoning":
      return [{ type: "reasoning", text: part.reasoning, state: "done", ...meta }];
    case "step-start":
      return [{ type: "step-start" }];
    case "file":
      return [
        {
          type: part.reasoning ? "reasoning-file" : "file",
          mediaType: part.mimeType,
          url: /^(?:data|https?):/.test(part.data) ? part.data : `data:${part.mimeType};base64,${part.data}`,
          ...(part.filename !== undefined && { filename: part.filename }),
          ...(part.providerReference && { providerReference: part.providerReference }),
          ...meta,
        },
      ];
    case "source":
      return [{ ...toUiSource(part.source), ...meta }];
    case "custom":
      return [{ type: "custom", kind: part.kind, ...meta }];
    case "tool-invocation":
      return part.toolInvocation.state === "partial-call" ? [] : [toToolPart(part)];
    default:
      return [{ type: part.type, data: part.data }];
  }
}

const STATES = {
  call: "input-available",
  result: "output-available",
  "approval-requested": "approval-requested",
  "approval-responded": "approval-responded",
  "output-error": "output-error",
  "output-denied": "output-denied",
} as const;

function toToolPart({ toolInvocation: call, providerMetadata }: ToolInvocationPart): UIMessagePart {
  const failed = call.state === "output-error" || (call.state === "result" && call.isError === true);
  const state = failed ? "output-error" : STATES[call.state as keyof typeof STATES];
  return {
    type: `tool-${call.toolName}`,
    toolCallId: call.toolCallId,
    state,
    input: call.args,
    ...(state === "output-available" && { output: call.result }),
    ...(state === "output-error" && {
      errorText: typeof call.result === "string" ? call.result : (JSON.stringify(call.result) ?? ""),
    }),
    ...(call.approval && { approval: call.approval }),
    ...(call.providerExecuted && { providerExecuted: true }),
    ...(providerMetadata && { callProviderMetadata: providerMetadata }),
    ...(call.resultProviderMetadata && { resultProviderMetadata: call.resultProviderMetadata }),
  };
}
