import type { MessagePart, ToolInvocation } from "@selvedge/protocol";
import type { StepResult } from "../processor/step-result.ts";

/** What a step's result repeats of its parts. */
type Told = Pick<
  StepResult,
  "content" | "text" | "reasoning" | "reasoningText" | "files" | "sources" | "toolCalls" | "toolResults"
>;

/** The result of a step whose parts a processor changed: what is not in the parts is not in the result either. */
export function readParts(before: Told, parts: MessagePart[]): Told {
  const calls = invocationsOf(parts);
  return {
    content: parts,
    text: textOf(parts),
    ...reasoningOf(parts),
    files: parts.flatMap((part) => {
      if (part.type !== "file") return [];
      const { data, mimeType, filename } = part;
      const known = before.files.find((file) => file.data === data);
      return [known ?? { data, mimeType, ...(filename !== undefined && { filename }) }];
    }),
    sources: parts.flatMap((part) => {
      if (part.type !== "source") return [];
      const { source, providerMetadata } = part;
      return [{ ...source, ...(providerMetadata && { providerMetadata }) } as StepResult["sources"][number]];
    }),
    toolCalls: before.toolCalls.flatMap(({ payload }) => {
      const call = calls.get(payload.toolCallId);
      if (!call) return [];
      const now = { ...payload, args: call.args };
      return [{ ...now, payload: now }];
    }),
    toolResults: before.toolResults.flatMap(({ payload }) => {
      const call = calls.get(payload.toolCallId);
      if (!call) return [];
      const now = { ...payload, args: call.args, result: call.result };
      return [{ ...now, payload: now }];
    }),
  };
}

export function textOf(parts: readonly MessagePart[]): string {
  let text = "";
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}

export function reasoningOf(parts: readonly MessagePart[]): Pick<StepResult, "reasoning" | "reasoningText"> {
  const reasoning = parts.filter((part) => part.type === "reasoning");
  if (reasoning.length === 0) return { reasoning: [], reasoningText: undefined };
  return {
    reasoning: reasoning.map((part) => ({
      text: part.reasoning,
      ...(part.providerMetadata && { providerMetadata: part.providerMetadata }),
    })),
    reasoningText: reasoning.map((part) => part.reasoning).join(""),
  };
}

export function invocationsOf(parts: readonly MessagePart[]): Map<string, ToolInvocation> {
  const calls = new Map<string, ToolInvocation>();
  for (const part of parts)
    if (part.type === "tool-invocation") calls.set(part.toolInvocation.toolCallId, part.toolInvocation);
  return calls;
}
