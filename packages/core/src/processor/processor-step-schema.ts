import {
  type AgentChunk,
  type FinishReason,
  isObject,
  type StoredMessage,
  type ToolCallPayload,
} from "@selvedge/protocol";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { MessageList } from "../message/message-list.ts";
import type { SystemMessage } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import type { ToolChoice } from "../tool/tool-limits.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { ProcessOutputResultArgs } from "./processor.ts";

/** The hooks that a workflow can carry out. */
export const PROCESSOR_PHASES = [
  "input",
  "inputStep",
  "outputStream",
  "outputResult",
  "outputStep",
  "toolResult",
] as const;
export type ProcessorPhase = (typeof PROCESSOR_PHASES)[number];

/**
 * What flows through a workflow of processors: the arguments of a hook. What a step returns replaces it, and what the
 * workflow returns takes effect in the run.
 */
export interface ProcessorStepData {
  phase: ProcessorPhase;
  messages?: StoredMessage[];
  messageList?: MessageList;
  systemMessages?: SystemMessage[];
  retryCount?: number;
  stepNumber?: number;
  model?: ModelConfig;
  tools?: ToolsInput;
  toolChoice?: ToolChoice | undefined;
  activeTools?: string[] | undefined;
  /** A chunk of the answer; `null` drops it, a list takes its place. */
  part?: AgentChunk | AgentChunk[] | null;
  streamParts?: readonly AgentChunk[];
  /** Belongs to the workflow and the run. */
  state?: Record<string, unknown>;
  text?: string;
  toolCalls?: ToolCallPayload[];
  finishReason?: FinishReason;
  /** The answer in the phase `outputResult`, a tool's result in the phase `toolResult`. */
  result?: ProcessOutputResultArgs["result"] | unknown;
  toolName?: string;
  toolCallId?: string;
  args?: unknown;
}

/** Only the phase is checked: the values are passed on as they are. */
export const ProcessorStepSchema: StandardSchemaV1<ProcessorStepData, ProcessorStepData> = {
  "~standard": {
    version: 1,
    vendor: "selvedge",
    validate: (value) =>
      isObject(value) && PROCESSOR_PHASES.some((phase) => phase === value["phase"])
        ? { value: value as object as ProcessorStepData }
        : { issues: [{ message: `Expected one of ${PROCESSOR_PHASES.join(", ")}.`, path: ["phase"] }] },
    jsonSchema: { input: () => JSON_FORM, output: () => JSON_FORM },
  } as StandardSchemaV1.Props<ProcessorStepData, ProcessorStepData>,
};

const JSON_FORM = {
  type: "object",
  properties: { phase: { enum: [...PROCESSOR_PHASES] } },
  required: ["phase"],
};
