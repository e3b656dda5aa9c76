import { isMemoryChunk } from "../chunk-kind.ts";
import type { AgentChunk, DataChunk } from "../chunk.ts";
import {
  type AgentControllerMessage,
  type AgentControllerMessageContent,
  fileContent,
  fromContents,
  toError,
  toSignalContent,
} from "./controller-message.ts";
import type { AgentControllerEvent } from "./events.ts";
import { GrowingMessage } from "./growing-message.ts";
import type { Said, SignalRecord } from "./signal-record.ts";
import { type AskedCall, questionsBehind, subagentWaitOf } from "./subagent-wait.ts";
import { readTasks } from "./task-item.ts";
import { toTokenUsage } from "./token-usage.ts";

type Payload<Type extends AgentChunk["type"]> =
  Extract<AgentChunk, { type: Type }> extends { payload: infer P } ? P : never;

type EndReason = "complete" | "aborted" | "error" | "suspended";

/** Why a run that came to its end did not end well, for people. */
const BAD_ENDS: Readonly<Record<string, string>> = {
  length: "The model stopped because its answer became too long.",
  "content-filter": "The provider stopped the answer because of its content.",
  error: "The model's answer ended with an error.",
};

/**
 * From the chunks of a thread to the events of a session. It knows nothing but the chunks, so everybody who reads the
 * same chunks sees the same events. A chunk costs the same however long its message is.
 */
export class EventFold {
  #runId: string | undefined;
  /** Whether people see the run as going on. */
  #isShown = false;
  #messageId: string | undefined;
  #message: GrowingMessage | undefined;
  /** The newest time that the stream itself tells. */
  #time = new Date(0);
  /** The step that is being written: where it begins in the message, and its calls that have no result. */
  #openStep: { from: number; calls: Set<string> } | undefined;
  /** Pieces of the message that grow, by their ids in the stream. */
  #growing = new Map<string, number>();
  #calls = new Map<string, { toolName: string; args: unknown }>();
  readonly #approvals = new Set<string>();
  readonly #suspensions = new Set<string>();
  /** What subagents ask, by the ids of their calls. */
  readonly #asked = new Map<string, { toolName: string; parentToolCallId: string }>();

  take(chunk: AgentChunk): AgentControllerEvent[] {
    const events: AgentControllerEvent[] = [];
    if (chunk.type === "start") {
      this.#follow(chunk.runId, events);
      return events;
    }
    if (chunk.type === "tool-call-decided") {
      this.#decided(chunk.payload, events);
      return events;
    }
    if (isMemoryChunk(chunk)) {
      this.#data(chunk as DataChunk, events);
      return events;
    }
    if (chunk.runId !== this.#runId) this.#follow(chunk.runId, events);
    if (chunk.type === "data-signal") return this.#signal(chunk, events);
    // One that was stored on an idle thread: no model took part in it.
    if (chunk.type === "finish" && !this.#isShown) return events;
    if (!this.#isShown && chunk.type !== "abort") {
      this.#isShown = true;
      events.push({ type: "agent_start", runId: chunk.runId });
    }
    if (chunk.type.startsWith("data-")) this.#data(chunk as DataChunk, events);
    else this.#chunk(chunk, events);
    return events;
  }

  /** Another run. One that was left without a word has ended all the same. */
  #follow(runId: string, events: AgentControllerEvent[]): void {
    if (this.#isShown) this.#end("error", { stopReason: "error" }, events);
    else this.#closeMessage({ stopReason: "error" }, events);
    this.#begin(runId);
  }

  #begin(runId: string): void {
    this.#runId = runId;
    this.#isShown = false;
    this.#message = undefined;
    this.#messageId = undefined;
    this.#openStep = undefined;
    this.#calls = new Map();
    this.#growing = new Map();
    this.#approvals.clear();
    this.#suspensions.clear();
    this.#asked.clear();
  }

  #chunk(chunk: AgentChunk, events: AgentControllerEvent[]): void {
    switch (chunk.type) {
      case "step-start":
        return this.#step(chunk.payload.messageId, events);
      case "text-start":
        return this.#grow(chunk.payload.id, { type: "text", text: "" }, events);
      case "text-delta":
        return this.#append(chunk.payload, "text", events);
      case "reasoning-start":
        return this.#grow(`thinking ${chunk.payload.id}`, { type: "thinking", thinking: "" }, events);
      case "reasoning-delta":
        return this.#append({ ...chunk.payload, id: `thinking ${chunk.payload.id}` }, "thinking", events);
      case "file": {
        const { data, mimeType, filename } = chunk.payload;
        return this.#add(fileContent(data, mimeType, filename), events);
      }
      case "tool-call-input-streaming-start": {
        const { toolCallId, toolName } = chunk.payload;
        events.push({ type: "tool_input_start", toolCallId, toolName });
        return;
      }
      case "tool-call-delta": {
        const { toolCallId, argsTextDelta, toolName } = chunk.payload;
        events.push({
          type: "tool_input_delta",
          toolCallId,
          argsTextDelta,
          ...(toolName !== undefined && { toolName }),
        });
        return;
      }
      case "tool-call-input-streaming-end":
        events.push({ type: "tool_input_end", toolCallId: chunk.payload.toolCallId });
        return;
      case "tool-call": {
        const { toolCallId, toolName, args } = chunk.payload;
        this.#calls.set(toolCallId, { toolName, args });
        this.#openStep?.calls.add(toolCallId);
        events.push({ type: "tool_start", toolCallId, toolName, args });
        return this.#add({ type: "tool_call", id: toolCallId, name: toolName, args }, events);
      }
      case "tool-output":
        events.push({
          type: "tool_update",
          toolCallId: chunk.payload.toolCallId,
          partialResult: chunk.payload.output,
        });
        return;
      case "tool-result":
        return this.#answered(chunk.payload, chunk.payload.result, chunk.payload.isError === true, events);
      case "tool-error":
        return this.#answered(chunk.payload, toError(chunk.payload.error).message, true, events);
      case "tool-output-denied":
        return this.#answered(chunk.payload, chunk.payload.approval.reason ?? "Denied.", true, events);
      case "tool-call-approval":
        return this.#asks(chunk.payload, events);
      case "tool-call-suspended":
        return this.#suspends(chunk.payload, events);
      case "step-finish": {
        // Of a step that is taken again nothing is stored.
        if (chunk.payload.stepResult?.reason === "retry") this.#dropStep(events);
        this.#openStep = undefined;
        const usage = toTokenUsage(chunk.payload.output.usage);
        if (usage.totalTokens > 0) events.push({ type: "usage_update", usage });
        return;
      }
      case "tripwire":
        this.#dropStep(events);
        events.push({ type: "error", error: new Error(chunk.payload.reason), errorType: "tripwire" });
        return;
      case "finish":
        return this.#finish(chunk.payload.stepResult.reason, events);
      case "abort":
        return this.#end("aborted", { stopReason: "aborted" }, events);
      case "error": {
        const error = toError(chunk.payload.error);
        events.push({ type: "error", error });
        return this.#end("error", { stopReason: "error", errorMessage: error.message }, events);
      }
    }
    if ((chunk.type as string) === "goal") {
      this.#closeMessage({ stopReason: "complete" }, events);
      events.push({ type: "goal_evaluation", payload: (chunk as { payload?: unknown }).payload });
    }
  }

  #data(chunk: DataChunk, events: AgentControllerEvent[]): void {
    const { type, data } = chunk;
    const fields = Object(data) as Record<string, unknown>;
    if (type === "data-user-message") {
      this.#leaveMessage(events);
      const signal = data as SignalRecord & { contents: Said };
      const message: AgentControllerMessage = {
        id: signal.id,
        role: "user",
        content: fromContents(signal.contents),
        createdAt: this.#noted(signal),
        ...(signal.attributes && { attributes: signal.attributes }),
      };
      events.push({ type: "message_start", message }, { type: "message_end", message });
    } else if (type === "data-sandbox-stdout" || type === "data-sandbox-stderr") {
      const { toolCallId, output } = fields;
      const stream = type === "data-sandbox-stdout" ? "stdout" : "stderr";
      events.push({ type: "shell_output", toolCallId: String(toolCallId), output: String(output), stream });
    } else if (type === "data-controller-event") {
      if (typeof fields["type"] === "string") events.push(fields as AgentControllerEvent);
    } else if (type === "data-om-thread-update") {
      events.push({ ...fields, type: "om_thread_title_updated" });
    } else if (type.startsWith("data-om-")) {
      const name = type.slice("data-".length).replaceAll("-", "_");
      if (OM_EVENTS.has(name)) events.push(...omEvents(name, fields));
    }
  }

  #signal(chunk: DataChunk, events: AgentControllerEvent[]): AgentControllerEvent[] {
    this.#leaveMessage(events);
    const signal = chunk.data as SignalRecord & { contents: Said };
    const content = toSignalContent(signal);
    const message: AgentControllerMessage = {
      id: signal.id,
      role: "system",
      content: [content],
      createdAt: this.#noted(signal),
    };
    events.push(
      { type: "message_start", message },
      { type: "message_end", message },
      content as AgentControllerEvent,
    );
    return events;
  }

  #noted({ createdAt }: SignalRecord): Date {
    return (this.#time = new Date(createdAt));
  }

  #step(messageId: string | undefined, events: AgentControllerEvent[]): void {
    // Its process died before it could store the step: it is taken again.
    this.#dropStep(events);
    if (messageId !== this.#messageId) {
      this.#closeMessage({ stopReason: "complete" }, events);
      this.#messageId = messageId;
    }
    this.#openStep = { from: this.#message?.size ?? 0, calls: new Set() };
  }

  /** Takes back what the step that is being written has said. */
  #dropStep(events: AgentControllerEvent[]): void {
    const step = this.#openStep;
    const message = this.#message;
    this.#openStep = undefined;
    if (!step) return;
    for (const toolCallId of step.calls)
      events.push({ type: "tool_end", toolCallId, result: "The step was taken again.", isError: true });
    if (!message || message.size === step.from) return;
    message.keep(step.from);
    this.#growing = new Map();
    events.push({ type: "message_update", message: message.view() });
  }

  /** The message that is being written; it begins with its first piece. */
  #open(events: AgentControllerEvent[]): GrowingMessage {
    if (this.#message) return this.#message;
    this.#message = new GrowingMessage(this.#messageId ?? `${this.#runId}-message`, "assistant", this.#time);
    this.#growing = new Map();
    events.push({ type: "message_start", message: this.#message.view() });
    return this.#message;
  }

  #grow(id: string, part: AgentControllerMessageContent, events: AgentControllerEvent[]): void {
    const message = this.#open(events);
    this.#growing.set(id, message.add(part));
  }

  #append(
    { id, text }: { id: string; text: string },
    kind: "text" | "thinking",
    events: AgentControllerEvent[],
  ): void {
    const message = this.#open(events);
    if (!this.#growing.has(id))
      this.#grow(
        id,
        kind === "text" ? { type: "text", text: "" } : { type: "thinking", thinking: "" },
        events,
      );
    message.append(this.#growing.get(id)!, text);
    const messageId = message.id;
    events.push(
      kind === "text" ? { type: "text", messageId, text } : { type: "thinking", messageId, thinking: text },
    );
    events.push({ type: "message_update", message: message.view() });
  }

  #add(part: AgentControllerMessageContent, events: AgentControllerEvent[]): void {
    const message = this.#open(events);
    message.add(part);
    events.push({ ...part, messageId: message.id } as AgentControllerEvent);
    events.push({ type: "message_update", message: message.view() });
  }

  #answered(
    { toolCallId, toolName }: { toolCallId: string; toolName: string },
    result: unknown,
    isError: boolean,
    events: AgentControllerEvent[],
  ): void {
    // A process that takes the run over repeats the results it found.
    if (this.#openStep && this.#calls.has(toolCallId) && !this.#openStep.calls.has(toolCallId)) return;
    this.#approvals.delete(toolCallId);
    this.#suspensions.delete(toolCallId);
    this.#openStep?.calls.delete(toolCallId);
    events.push({ type: "tool_end", toolCallId, result, isError });
    this.#add({ type: "tool_result", id: toolCallId, name: toolName, result, isError }, events);
    const { tasks, isError: refused } = Object(result) as { tasks?: unknown; isError?: unknown };
    if (CHANGES_TASKS.has(toolName) && Array.isArray(tasks) && !isError && refused !== true)
      events.push({ type: "task_updated", tasks: readTasks(tasks) });
  }

  /** A run that continues asks again about the calls that still wait. */
  #asks(payload: Payload<"tool-call-approval">, events: AgentControllerEvent[]): void {
    const { toolCallId, toolName, args, reason } = payload;
    if (this.#approvals.has(toolCallId)) return;
    this.#approvals.add(toolCallId);
    const why = reason === undefined ? {} : { reason };
    events.push({ type: "tool_approval_required", toolCallId, toolName, args, ...why });
  }

  #suspends(payload: Payload<"tool-call-suspended">, events: AgentControllerEvent[]): void {
    const { toolCallId, toolName, args, suspendPayload, resumeSchema } = payload;
    const wait = subagentWaitOf(payload);
    if (wait) return this.#subagentAsks(toolCallId, wait.calls.flatMap(questionsBehind), events);
    if (this.#suspensions.has(toolCallId)) return;
    this.#suspensions.add(toolCallId);
    events.push({ type: "tool_suspended", toolCallId, toolName, args, suspendPayload, resumeSchema });
  }

  /** What a subagent asks is asked here; its call waits with it. */
  #subagentAsks(parentToolCallId: string, calls: readonly AskedCall[], events: AgentControllerEvent[]): void {
    for (const { toolCallId, toolName, requiresApproval, reason, ...call } of calls) {
      const { args, suspendPayload } = { ...call, ...call.transcript };
      const known = requiresApproval ? this.#approvals : this.#suspensions;
      this.#asked.set(toolCallId, { toolName, parentToolCallId });
      if (known.has(toolCallId)) continue;
      known.add(toolCallId);
      const about = { toolCallId, toolName, args, parentToolCallId };
      events.push(
        requiresApproval
          ? { type: "tool_approval_required", ...about, ...(reason !== undefined && { reason }) }
          : { type: "tool_suspended", ...about, suspendPayload },
      );
    }
  }

  /** The call of a subagent continues: the calls that still wait are asked about again. */
  #forgetAsked(parentToolCallId: string, approved: boolean, events: AgentControllerEvent[]): void {
    for (const [toolCallId, asked] of this.#asked) {
      if (asked.parentToolCallId !== parentToolCallId) continue;
      this.#asked.delete(toolCallId);
      this.#approvals.delete(toolCallId);
      this.#suspensions.delete(toolCallId);
      events.push({ type: "tool_decided", toolCallId, toolName: asked.toolName, approved });
    }
  }

  #decided(payload: Payload<"tool-call-decided">, events: AgentControllerEvent[]): void {
    this.#approvals.delete(payload.toolCallId);
    this.#suspensions.delete(payload.toolCallId);
    events.push({ type: "tool_decided", ...payload });
    this.#forgetAsked(payload.toolCallId, payload.approved, events);
  }

  #finish(reason: string, events: AgentControllerEvent[]): void {
    if (reason === "suspended") {
      // Waiting for permission is part of the work. Waiting for an answer is not.
      if (this.#suspensions.size === 0) return;
      this.#isShown = false;
      events.push({ type: "agent_end", runId: this.#runId!, reason: "suspended" });
      return;
    }
    const errorMessage = Object.hasOwn(BAD_ENDS, reason) ? BAD_ENDS[reason] : undefined;
    if (errorMessage !== undefined) {
      events.push({ type: "error", error: new Error(errorMessage), errorType: reason });
      return this.#end("error", { stopReason: "error", errorMessage }, events);
    }
    if (reason === "tripwire") return this.#end("error", { stopReason: "error" }, events);
    this.#end("complete", { stopReason: "complete" }, events);
  }

  #end(
    reason: EndReason,
    end: Pick<AgentControllerMessage, "stopReason" | "errorMessage">,
    events: AgentControllerEvent[],
  ): void {
    this.#closeMessage(end, events);
    const runId = this.#runId!;
    events.push({ type: "agent_end", runId, reason });
    this.#begin(runId);
  }

  /**
   * Something else is said. In the middle of a step the message stays open: another process has taken the run over, and
   * will either add the results of the step's calls or take the step again.
   */
  #leaveMessage(events: AgentControllerEvent[]): void {
    if (!this.#openStep) this.#closeMessage({ stopReason: "complete" }, events);
  }

  #closeMessage(
    end: Pick<AgentControllerMessage, "stopReason" | "errorMessage">,
    events: AgentControllerEvent[],
  ): void {
    if (this.#message) events.push({ type: "message_end", message: this.#message.view(end) });
    this.#message = undefined;
    this.#messageId = undefined;
    if (this.#openStep) this.#openStep.from = 0;
  }
}

const CHANGES_TASKS: ReadonlySet<string> = new Set(["task_write", "task_update", "task_complete"]);
/** A chunk of observational memory as events: reflections have their own names, and a failure is an error, too. */
function omEvents(name: string, fields: Record<string, unknown>): AgentControllerEvent[] {
  const { tokensToObserve, observationTokens } = fields;
  const isReflection = fields["operationType"] === "reflection" && name.startsWith("om_observation_");
  const event = isReflection
    ? {
        ...fields,
        type: name.replace("observation", "reflection"),
        ...(tokensToObserve !== undefined && { tokensToReflect: tokensToObserve }),
        ...(name.endsWith("_end") && { compressedTokens: observationTokens }),
      }
    : { ...fields, type: name };
  const events = [event as AgentControllerEvent];
  if (name.endsWith("_failed"))
    events.push({
      type: "error",
      error: toError(fields["error"]),
      errorType: "observational-memory",
      retryable: true,
    });
  return events;
}

const OM_EVENTS: ReadonlySet<string> = new Set([
  "om_status",
  "om_activation",
  ...["observation", "reflection", "buffering"].flatMap((phase) =>
    ["start", "end", "failed"].map((moment) => `om_${phase}_${moment}`),
  ),
]);
