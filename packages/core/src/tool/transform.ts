import {
  type AgentChunk,
  ignoreChunk,
  type MessagePart,
  type PayloadChunk,
  type ProviderMetadata,
  type StoredMessage,
} from "@selvedge/protocol";

type TransformTarget = "display" | "transcript";
export type TransformPhase =
  | "input-delta"
  | "input-available"
  | "output-available"
  | "error"
  | "approval"
  | "suspend"
  | "resume";

export interface TransformContext {
  target: TransformTarget;
  phase: TransformPhase;
  toolName: string;
  toolCallId: string;
  input?: any;
  inputTextDelta?: string;
  output?: any;
  error?: unknown;
  suspendPayload?: any;
  resumeData?: any;
  providerMetadata?: ProviderMetadata;
  context?: unknown;
}

type Replace = (context: TransformContext) => unknown;

interface TransformRules {
  input?: Replace;
  inputDelta?: Replace;
  output?: Replace;
  error?: Replace;
  approval?: Replace;
  suspend?: Replace;
  resume?: Replace;
}

/** A tool's rules for what people see of its payloads. They override the agent's policy. */
export interface ToolTransform {
  display?: TransformRules;
  transcript?: TransformRules;
}

/** An agent's shared policy. */
export interface ToolPayloadTransformPolicy {
  transformToolPayload?: Replace;
  targets?: TransformTarget[];
}

/** The replacement when a transform fails: it hides rather than leaks. */
export const HIDDEN_PAYLOAD = "[hidden: the tool payload could not be transformed]";

const RULE: Record<TransformPhase, keyof TransformRules> = {
  "input-delta": "inputDelta",
  "input-available": "input",
  "output-available": "output",
  error: "error",
  approval: "approval",
  suspend: "suspend",
  resume: "resume",
};

/** Applies the transforms of an agent and its tools. The model never sees their results. */
export class PayloadTransform {
  readonly #policy: ToolPayloadTransformPolicy | undefined;
  readonly #rulesOf: (toolName: string) => ToolTransform | undefined;
  readonly #toolNames = new Map<string, string>();
  /** Waits for a rule's result; the run sets the limit. */
  wait: (answer: unknown) => unknown = (answer) => answer;

  constructor(
    policy: ToolPayloadTransformPolicy | undefined,
    rulesOf: (toolName: string) => ToolTransform | undefined,
  ) {
    this.#policy = policy;
    this.#rulesOf = rulesOf;
  }

  /** The payload as `target` may see it, or `undefined` if no rule applies. */
  async apply(context: TransformContext): Promise<{ value: unknown } | undefined> {
    const own = this.#rulesOf(context.toolName)?.[context.target]?.[RULE[context.phase]];
    const shared =
      !this.#policy?.targets || this.#policy.targets.includes(context.target)
        ? this.#policy?.transformToolPayload
        : undefined;
    const replace = own ?? shared;
    if (!replace) return undefined;
    try {
      return { value: await this.wait(replace(context)) };
    } catch {
      return { value: HIDDEN_PAYLOAD };
    }
  }

  /** A chunk as a stream reader receives it. */
  async display(chunk: AgentChunk): Promise<AgentChunk> {
    switch (chunk.type) {
      case "tool-call-input-streaming-start":
        this.#toolNames.set(chunk.payload.toolCallId, chunk.payload.toolName);
        return chunk;
      case "tool-call-delta": {
        const inputTextDelta = chunk.payload.argsTextDelta;
        const changed = await this.#displayed(chunk, "input-delta", { inputTextDelta });
        if (changed) return withPayload(chunk, { argsTextDelta: toText(changed.value) });
        // Streaming the input would reveal what the tool hides.
        return this.#rulesOf(this.#toolName(chunk))?.display?.input
          ? withPayload(chunk, { argsTextDelta: "" })
          : chunk;
      }
      case "tool-call": {
        const changed = await this.#displayed(chunk, "input-available", { input: chunk.payload.args });
        return changed ? withPayload(chunk, { args: changed.value }) : chunk;
      }
      case "tool-call-approval": {
        const changed = await this.#displayed(chunk, "approval", { input: chunk.payload.args });
        return changed ? withPayload(chunk, { args: changed.value }) : this.#hideArgs(chunk);
      }
      case "tool-call-suspended": {
        const { args, suspendPayload } = chunk.payload;
        const changed = await this.#displayed(chunk, "suspend", { input: args, suspendPayload });
        const shown = changed ? withPayload(chunk, { suspendPayload: changed.value }) : chunk;
        return this.#hideArgs(shown);
      }
      case "tool-result": {
        const { args, result } = chunk.payload;
        const changed = await this.#displayed(chunk, "output-available", { input: args, output: result });
        return this.#hideArgs(changed ? withPayload(chunk, { result: changed.value }) : chunk);
      }
      case "tool-error": {
        const { args, error } = chunk.payload;
        const changed = await this.#displayed(chunk, "error", { input: args, error });
        return this.#hideArgs(changed ? withPayload(chunk, { error: changed.value }) : chunk);
      }
      case "step-finish": {
        const toolCalls = await Promise.all(chunk.payload.output.toolCalls.map((call) => this.#call(call)));
        return { ...chunk, payload: { ...chunk.payload, output: { ...chunk.payload.output, toolCalls } } };
      }
      case "finish": {
        const shown = await Promise.all(chunk.payload.messages.all.map((message) => this.#message(message)));
        const user = shown.filter((message) => message.role === "user");
        const nonUser = shown.filter((message) => message.role !== "user");
        return { ...chunk, payload: { ...chunk.payload, messages: { all: shown, user, nonUser } } };
      }
      case "tool-output-denied":
        return this.#hideArgs(chunk);
      default:
        ignoreChunk<"run" | "step" | "content" | "input" | "progress" | "other" | "data">(chunk);
        return chunk;
    }
  }

  async #call<Call extends { toolCallId: string; toolName: string; args: unknown }>(
    call: Call,
  ): Promise<Call> {
    const { toolName, toolCallId, args } = call;
    const changed = await this.apply({
      target: "display",
      phase: "input-available",
      toolName,
      toolCallId,
      input: args,
    });
    return changed ? { ...call, args: changed.value } : call;
  }

  /** A message inside a chunk, transformed by the rules for chunks. */
  async #message(message: StoredMessage): Promise<StoredMessage> {
    if (message.role !== "assistant") return message;
    const parts = await Promise.all(message.content.parts.map((part) => this.#part(part)));
    return { ...message, content: { ...message.content, parts } };
  }

  async #part(part: MessagePart): Promise<MessagePart> {
    if (part.type !== "tool-invocation") return part;
    const call = part.toolInvocation;
    const { toolName, toolCallId, args, result } = call;
    const base = { target: "display", toolName, toolCallId, input: args } as const;
    const failed = call.state === "output-error";
    const output =
      "result" in call &&
      (await this.apply(
        failed
          ? { ...base, phase: "error", error: result }
          : { ...base, phase: "output-available", output: result },
      ));
    const { modelOutput, ...shown } = await this.#call(call);
    if (!output)
      return { ...part, toolInvocation: modelOutput === undefined ? shown : { ...shown, modelOutput } };
    return { ...part, toolInvocation: { ...shown, result: output.value } };
  }

  /** Arguments inside another payload follow the rule for arguments. */
  async #hideArgs<Chunk extends ToolChunk>(chunk: Chunk): Promise<Chunk> {
    const args = "args" in chunk.payload ? chunk.payload.args : undefined;
    if (args === undefined) return chunk;
    const changed = await this.#displayed(chunk, "input-available", { input: args });
    return changed ? withPayload(chunk, { args: changed.value }) : chunk;
  }

  #displayed(
    chunk: ToolChunk,
    phase: TransformPhase,
    more: Partial<TransformContext>,
  ): Promise<{ value: unknown } | undefined> {
    const { toolCallId } = chunk.payload;
    return this.apply({ target: "display", phase, toolName: this.#toolName(chunk), toolCallId, ...more });
  }

  #toolName({ payload }: ToolChunk): string {
    return (
      ("toolName" in payload ? payload.toolName : undefined) ?? this.#toolNames.get(payload.toolCallId) ?? ""
    );
  }
}

type ToolChunk = PayloadChunk<
  | "tool-call-delta"
  | "tool-call"
  | "tool-call-approval"
  | "tool-call-suspended"
  | "tool-result"
  | "tool-error"
  | "tool-output-denied"
>;

function withPayload<Chunk extends ToolChunk>(chunk: Chunk, changes: Record<string, unknown>): Chunk {
  return { ...chunk, payload: { ...chunk.payload, ...changes } };
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
