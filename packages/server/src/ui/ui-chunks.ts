import {
  type AgentChunk,
  type DataChunk,
  type FinishReason,
  ignoreChunk,
  isDataChunk,
  toUiSource,
} from "@selvedge/protocol";

/** A chunk of the AI SDK's UI message stream. */
export type UiChunk = { type: string; [key: string]: unknown };

const REASONS: ReadonlySet<FinishReason> = new Set([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
]);

/**
 * Converts the chunks of one run to the AI SDK's UI message stream. A message that joined the run later becomes a
 * `steering-message`; the sender already has the one that opened it.
 */
export class UiChunks {
  readonly #messageId: string | undefined;
  readonly #open = new Set<string>();
  #started = false;
  #skipUntil: string | undefined;

  /** `messageId`: the answer to continue. `from`: the message after whose echo the answer starts. */
  constructor(options: { messageId?: string | undefined; from?: string | undefined } = {}) {
    this.#messageId = options.messageId;
    this.#skipUntil = options.from;
  }

  from(chunk: AgentChunk): UiChunk[] {
    if (this.#skipUntil !== undefined) return this.#wait(chunk);
    const parts = this.#toParts(chunk);
    if (parts.length === 0 || this.#started) return parts;
    this.#started = true;
    const messageId =
      this.#messageId ?? (chunk.type === "step-start" ? chunk.payload.messageId : chunk.runId);
    return [{ type: "start", messageId }, ...parts];
  }

  /** A message that joins a run is answered after its echo; earlier chunks belong to others. */
  #wait(chunk: AgentChunk): UiChunk[] {
    if (echoId(chunk) === this.#skipUntil) this.#skipUntil = undefined;
    if (chunk.type !== "error" && chunk.type !== "abort" && chunk.type !== "finish") return [];
    this.#skipUntil = undefined;
    return this.from(chunk);
  }

  #toParts(chunk: AgentChunk): UiChunk[] {
    switch (chunk.type) {
      case "step-start":
        return [{ type: "start-step" }];
      case "step-finish":
        this.#open.clear();
        return [{ type: "finish-step" }];
      case "text-start":
      case "text-end":
      case "reasoning-start":
      case "reasoning-end":
        return this.#block(chunk.type, chunk.payload.id);
      case "text-delta":
      case "reasoning-delta":
        return this.#delta(chunk.type, chunk.payload);
      case "tool-call-input-streaming-start": {
        const { toolCallId, toolName } = chunk.payload;
        this.#open.add(toolCallId);
        return [{ type: "tool-input-start", toolCallId, toolName }];
      }
      case "tool-call-delta": {
        const { toolCallId, argsTextDelta } = chunk.payload;
        return this.#open.has(toolCallId)
          ? [{ type: "tool-input-delta", toolCallId, inputTextDelta: argsTextDelta }]
          : [];
      }
      case "tool-call": {
        const { toolCallId, toolName, args, providerExecuted } = chunk.payload;
        return [
          {
            type: "tool-input-available",
            toolCallId,
            toolName,
            input: args ?? {},
            ...(providerExecuted && { providerExecuted }),
          },
        ];
      }
      case "tool-call-approval": {
        const { toolCallId } = chunk.payload;
        return [{ type: "tool-approval-request", approvalId: toolCallId, toolCallId }];
      }
      case "tool-call-suspended": {
        const { toolCallId, toolName, suspendPayload } = chunk.payload;
        return [
          { type: "data-tool-suspended", id: toolCallId, data: { toolCallId, toolName, suspendPayload } },
        ];
      }
      case "tool-result":
        return toolOutput(chunk.payload);
      case "tool-error":
        return [
          {
            type: "tool-output-error",
            toolCallId: chunk.payload.toolCallId,
            errorText: errorText(chunk.payload.error),
          },
        ];
      case "tool-output-denied":
        return [{ type: "tool-output-denied", toolCallId: chunk.payload.toolCallId }];
      case "tool-output":
        return [{ type: "data-tool-output", data: chunk.payload, transient: true }];
      case "source":
        return [toUiSource(chunk.payload)];
      case "file":
        return [
          {
            type: "file",
            url: toUrl(chunk.payload.data, chunk.payload.mimeType),
            mediaType: chunk.payload.mimeType,
          },
        ];
      case "object-result":
        return [{ type: "data-object", data: chunk.object }];
      case "tripwire":
        return [{ type: "data-tripwire", data: chunk.payload }];
      case "finish":
        return [{ type: "finish", finishReason: toReason(chunk.payload.stepResult.reason) }];
      case "abort":
        return [{ type: "abort" }];
      case "error":
        return [{ type: "error", errorText: errorText(chunk.payload.error) }];
      case "start":
      case "tool-call-input-streaming-end":
      case "object":
        return [];
      default:
        if (isDataChunk(chunk)) return this.#data(chunk);
        ignoreChunk<"other">(chunk);
        return [];
    }
  }

  #data({ type, data, id, transient }: DataChunk): UiChunk[] {
    // The message that opened the run precedes the first step.
    if (type === "data-user-message" || type === "data-signal") {
      if (!this.#started) return [];
      if (type === "data-user-message") return [toSteering(data as Echo)];
    }
    return [{ type, data: data ?? null, ...(id !== undefined && { id }), ...(transient && { transient }) }];
  }

  #block(type: string, id: string): UiChunk[] {
    const key = `${type.split("-")[0]} ${id}`;
    if (type.endsWith("-start")) this.#open.add(key);
    else if (!this.#open.delete(key)) return [];
    return [{ type, id }];
  }

  #delta(type: "text-delta" | "reasoning-delta", { id, text }: { id: string; text: string }): UiChunk[] {
    const kind = type === "text-delta" ? "text" : "reasoning";
    const opening = this.#open.has(`${kind} ${id}`) ? [] : this.#block(`${kind}-start`, id);
    return [...opening, { type, id, delta: text }];
  }
}

interface Echo {
  id: string;
  contents:
    | string
    | (
        | { type: "text"; text: string }
        | { type: "file"; data: string; mediaType: string; filename?: string }
      )[];
}

function echoId(chunk: AgentChunk): string | undefined {
  if (chunk.type !== "data-user-message") return undefined;
  return ((chunk as { data?: Partial<Echo> }).data ?? {}).id;
}

function toSteering({ id, contents }: Echo): UiChunk {
  const parts =
    typeof contents === "string"
      ? [{ type: "text", text: contents }]
      : contents.map((part) =>
          part.type === "text"
            ? { type: "text", text: part.text }
            : {
                type: "file",
                mediaType: part.mediaType,
                url: toUrl(part.data, part.mediaType),
                ...(part.filename !== undefined && { filename: part.filename }),
              },
        );
  return { type: "steering-message", id, parts };
}

function toolOutput({
  toolCallId,
  result,
  isError,
  providerExecuted,
}: {
  toolCallId: string;
  result: unknown;
  isError?: boolean;
  providerExecuted?: boolean;
}): UiChunk[] {
  if (isError) return [{ type: "tool-output-error", toolCallId, errorText: errorText(result) }];
  return [
    {
      type: "tool-output-available",
      toolCallId,
      output: result ?? null,
      ...(providerExecuted && { providerExecuted }),
    },
  ];
}

function toReason(reason: FinishReason): string {
  if (reason === "suspended") return "tool-calls";
  return REASONS.has(reason) ? reason : "other";
}

function toUrl(data: string, mediaType: string): string {
  return /^(?:data|https?):/.test(data) ? data : `data:${mediaType};base64,${data}`;
}

function errorText(error: unknown): string {
  if (typeof error === "string") return error;
  const { message } = Object(error) as { message?: unknown };
  return typeof message === "string" ? message : (JSON.stringify(error) ?? "The run failed.");
}
