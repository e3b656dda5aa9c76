import type { MessagePart, ToolCallPayload, ToolInvocation } from "@selvedge/protocol";
import type { StepResult, ToolResultView } from "../processor/step-result.ts";

/** What a step's result repeats of its parts. */
type Told = Pick<
  StepResult,
  "content" | "text" | "reasoning" | "reasoningText" | "files" | "sources" | "toolCalls" | "toolResults"
>;

/**
 * Summarises the parts of a step. A step's result contains nothing else. `calls` and `answered` are the model's calls
 * and the ids of calls with a result, in order of arrival.
 */
export function readParts(
  parts: MessagePart[],
  calls: readonly ToolCallPayload[],
  answered: readonly string[],
): Told {
  const told: Told = {
    content: parts,
    text: textOf(parts),
    reasoning: [],
    reasoningText: undefined,
    files: [],
    sources: [],
    toolCalls: [],
    toolResults: [],
  };
  let invocations: Map<string, ToolInvocation> | undefined;
  for (const part of parts) {
    const meta = part.providerMetadata && { providerMetadata: part.providerMetadata };
    if (part.type === "reasoning") {
      told.reasoning.push({ text: part.reasoning, ...meta });
      told.reasoningText = (told.reasoningText ?? "") + part.reasoning;
    } else if (part.type === "file") {
      const { data, mimeType, filename, reasoning } = part;
      told.files.push({
        data,
        ...(!isUrl(data) && { base64: data }),
        mimeType,
        ...(filename !== undefined && { filename }),
        ...(reasoning && { reasoning }),
        ...meta,
      });
    } else if (part.type === "source") told.sources.push({ ...part.source, ...meta });
    else if (part.type === "tool-invocation")
      (invocations ??= new Map()).set(part.toolInvocation.toolCallId, part.toolInvocation);
  }
  if (!invocations) return told;
  for (const call of calls) {
    const invocation = invocations.get(call.toolCallId);
    if (!invocation) continue;
    const payload = { ...call, args: invocation.args };
    told.toolCalls.push({ type: "tool-call", ...payload, payload });
  }
  for (const toolCallId of answered) {
    const invocation = invocations.get(toolCallId);
    if (invocation) told.toolResults.push(toResult(invocation));
  }
  return told;
}

export function textOf(parts: readonly MessagePart[]): string {
  let text = "";
  for (const part of parts) if (part.type === "text") text += part.text;
  return text;
}

function toResult(call: ToolInvocation): ToolResultView {
  const { toolCallId, toolName, args, result, isError, providerExecuted, resultProviderMetadata } = call;
  const payload = {
    toolCallId,
    toolName,
    args,
    result,
    ...(isError && { isError }),
    ...(providerExecuted && { providerExecuted }),
    ...(resultProviderMetadata && { providerMetadata: resultProviderMetadata }),
  };
  return { type: "tool-result", ...payload, payload };
}

function isUrl(data: string): boolean {
  return /^(?:https?|data|file):/i.test(data);
}
