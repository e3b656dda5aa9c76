import { isHiddenFailure, type StoredMessage, type ToolInvocation, toolFailed } from "@selvedge/protocol";
import { toModelMessages } from "../message/to-model-messages.ts";
import { toUIMessage } from "../message/to-ui-message.ts";
import type { RunResponse } from "../run/run-response.ts";
import type { FullOutput } from "../stream/run-output.ts";
import type { WaitingCall } from "../thread/inspect/waiting-calls.ts";
import { transcriptPart } from "./transcript-part.ts";

/**
 * A stored message without private content: payloads that a transform hides, and the text of failed tools, which may
 * contain an address or a password. The log has those.
 */
export function safeMessage<Message extends Pick<StoredMessage, "content">>(message: Message): Message {
  const { content } = Object(message) as Partial<Message>;
  if (!Array.isArray(content?.parts)) return message;
  return { ...message, content: { ...content, parts: content.parts.map(safePart) } };
}

/** A waiting call without payloads that a transform hides. */
export function safeWaitingCall({ transcript, ...call }: WaitingCall): WaitingCall {
  return { ...call, ...transcript };
}

/** A run's result without private content. */
export function safeOutput(output: FullOutput): FullOutput {
  const hidden = new Map<string, ToolInvocation>();
  for (const part of output.steps.flatMap((step) => step.content)) {
    const safe = safePart(part);
    if (safe !== part && safe.type === "tool-invocation")
      hidden.set(safe.toolInvocation.toolCallId, safe.toolInvocation);
  }
  if (hidden.size === 0) return output;
  const safeCall = <Call extends FullOutput["toolCalls"][number] | FullOutput["toolResults"][number]>(
    call: Call,
  ): Call => {
    const shown = hidden.get(call.toolCallId);
    if (!shown) return call;
    const safe = { args: shown.args, ...("result" in call && { result: shown.result }) };
    return { ...call, ...safe, payload: { ...call.payload, ...safe } };
  };
  const { response } = output;
  return {
    ...output,
    suspendPayload: safeQuestion(output, hidden),
    toolCalls: output.toolCalls.map(safeCall),
    toolResults: output.toolResults.map(safeCall),
    messages: output.messages.map(safeMessage),
    response: safeResponse(response),
    steps: output.steps.map((step) => ({
      ...step,
      toolCalls: step.toolCalls.map(safeCall),
      toolResults: step.toolResults.map(safeCall),
      content: step.content.map(safePart),
    })),
  };
}

function safeResponse(response: RunResponse): RunResponse {
  const dbMessages = response.dbMessages.map(safeMessage);
  return {
    ...response,
    messages: dbMessages.flatMap(toModelMessages),
    uiMessages: dbMessages.map(toUIMessage),
    dbMessages,
  };
}

/** The prompt of the first waiting call. */
function safeQuestion(
  { steps, suspendPayload }: FullOutput,
  hidden: ReadonlyMap<string, ToolInvocation>,
): unknown {
  const { toolCallId } = Object(suspendPayload) as { toolCallId?: string };
  const asked = toolCallId === undefined ? undefined : hidden.get(toolCallId);
  if (asked) return { ...(suspendPayload as object), args: asked.args };
  const calls = steps
    .at(-1)
    ?.content.flatMap((part) =>
      part.type === "tool-invocation" && part.toolInvocation.state === "call" ? part.toolInvocation : [],
    );
  const shown = calls?.find(({ transcript }) => transcript && "suspendPayload" in transcript)?.transcript;
  return shown ? shown.suspendPayload : suspendPayload;
}

type Part = StoredMessage["content"]["parts"][number];

function safePart(part: Part): Part {
  const shown = transcriptPart(part);
  if (!isHiddenFailure(shown)) return shown;
  const { toolName, toolCallId } = shown.toolInvocation;
  const result = toolFailed(toolName, toolCallId);
  return { ...shown, toolInvocation: { ...shown.toolInvocation, result } };
}
