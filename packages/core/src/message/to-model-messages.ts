import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { MessagePart, StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { renderSignal } from "./render-signal.ts";
import type { SignalRecord } from "@selvedge/protocol/session";
import type { ModelMessage } from "./model-message.ts";
import { isMalformed, withRawInput } from "./raw-input.ts";
import { filePart, reasoningFilePart, userContent, withOptions } from "./user-content.ts";

/** What the model reads for a stored message. Every tool call in it gets a result, whatever happened to the call. */
export function toModelMessages(message: StoredMessage): ModelMessage[] {
  if (message.role === "assistant") return partsToModelMessages(message.content.parts);
  const text = () =>
    message.content.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n") ||
    (message.content.content ?? "");
  if (message.role === "system") return [{ role: "system", content: text() }];
  const signal = message.role === "signal" ? message.content.metadata?.["signal"] : undefined;
  if (signal) return [renderSignal(message.content, signal as SignalRecord)];
  return [
    withOptions({ role: "user", content: userContent(message.content) }, message.content.providerMetadata),
  ];
}

type AssistantContent = Extract<ModelMessage, { role: "assistant" }>["content"];

/**
 * Converts assistant parts to alternating assistant and tool messages. A `step-start` closes what precedes it, so the
 * parts of one step can be converted alone.
 */
export function partsToModelMessages(parts: readonly MessagePart[]): ModelMessage[] {
  const messages: ModelMessage[] = [];
  let content: AssistantContent = [];
  let results: LanguageModelV4ToolResultPart[] = [];
  const close = () => {
    if (content.length > 0) messages.push({ role: "assistant", content });
    if (results.length > 0) messages.push({ role: "tool", content: results });
    content = [];
    results = [];
  };
  for (const part of parts) {
    switch (part.type) {
      case "step-start":
        close();
        break;
      case "text":
        // Text after a result belongs to the next turn of the model.
        if (results.length > 0) close();
        if (part.text !== "")
          content.push(withOptions({ type: "text", text: part.text }, part.providerMetadata));
        break;
      case "reasoning":
        content.push(withOptions({ type: "reasoning", text: part.reasoning }, part.providerMetadata));
        break;
      case "file":
        content.push(part.reasoning ? reasoningFilePart(part) : filePart(part));
        break;
      case "custom":
        content.push(withOptions({ type: "custom", kind: part.kind }, part.providerMetadata));
        break;
      case "tool-invocation": {
        const call = part.toolInvocation;
        if (call.state === "partial-call") break;
        const malformed = isMalformed(call);
        content.push(
          withOptions(
            {
              type: "tool-call",
              toolCallId: call.toolCallId,
              toolName: call.toolName,
              // Models expect an object here; providers reject the whole conversation otherwise.
              input: malformed ? {} : (call.args ?? {}),
              ...(call.providerExecuted && { providerExecuted: true }),
            },
            part.providerMetadata,
          ),
        );
        const output = toolOutput(call);
        const result: LanguageModelV4ToolResultPart = withOptions(
          {
            type: "tool-result",
            toolCallId: call.toolCallId,
            toolName: call.toolName,
            output: malformed ? withRawInput(output, call.args) : output,
          },
          call.resultProviderMetadata ?? part.providerMetadata,
        );
        if (call.providerExecuted) content.push(result);
        else results.push(result);
        break;
      }
    }
  }
  close();
  return messages;
}

function toolOutput(call: ToolInvocation): LanguageModelV4ToolResultOutput {
  const denied = call.state === "approval-responded" && call.approval?.approved === false;
  if (call.state === "output-denied" || denied)
    return { type: "execution-denied", ...(call.approval?.reason && { reason: call.approval.reason }) };
  if (call.state === "approval-requested")
    return { type: "error-text", value: "This call was not executed because it has not been approved." };
  if (call.state !== "result" && call.state !== "output-error") {
    return {
      type: "error-text",
      value: "This call has no result: the run was interrupted before the tool returned.",
    };
  }
  if (isToolOutput(call.modelOutput)) return call.modelOutput;
  const value = call.modelOutput ?? call.result;
  const failed = call.isError || call.state === "output-error";
  if (typeof value === "string") return { type: failed ? "error-text" : "text", value };
  return { type: failed ? "error-json" : "json", value: (value ?? null) as never };
}

const OUTPUT_TYPES = new Set(["text", "json", "execution-denied", "error-text", "error-json", "content"]);

function isToolOutput(value: unknown): value is LanguageModelV4ToolResultOutput {
  const output = value as { type?: unknown; value?: unknown } | null | undefined;
  if (typeof output?.type !== "string" || !OUTPUT_TYPES.has(output.type)) return false;
  return "value" in output || output.type === "execution-denied";
}
