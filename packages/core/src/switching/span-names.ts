/*
 * The constants of @mastra/core/observability, for programs that compare with them. Spans here are those of OpenTelemetry.
 */

export const SpanType = {
  AGENT_RUN: "agent_run",
  SCORER_RUN: "scorer_run",
  SCORER_STEP: "scorer_step",
  GENERIC: "generic",
  MODEL_GENERATION: "model_generation",
  MODEL_STEP: "model_step",
  MODEL_INFERENCE: "model_inference",
  MODEL_CHUNK: "model_chunk",
  MCP_TOOL_CALL: "mcp_tool_call",
  PROCESSOR_RUN: "processor_run",
  TOOL_CALL: "tool_call",
  WORKFLOW_RUN: "workflow_run",
  WORKFLOW_STEP: "workflow_step",
  WORKFLOW_CONDITIONAL: "workflow_conditional",
  WORKFLOW_CONDITIONAL_EVAL: "workflow_conditional_eval",
  WORKFLOW_PARALLEL: "workflow_parallel",
  WORKFLOW_LOOP: "workflow_loop",
  WORKFLOW_SLEEP: "workflow_sleep",
  WORKFLOW_WAIT_EVENT: "workflow_wait_event",
  MEMORY_OPERATION: "memory_operation",
  WORKSPACE_ACTION: "workspace_action",
  RAG_INGESTION: "rag_ingestion",
  RAG_EMBEDDING: "rag_embedding",
  RAG_VECTOR_OPERATION: "rag_vector_operation",
} as const;
export type SpanType = (typeof SpanType)[keyof typeof SpanType];

export const EntityType = {
  AGENT: "agent",
  SCORER: "scorer",
  TRAJECTORY: "trajectory",
  INPUT_PROCESSOR: "input_processor",
  INPUT_STEP_PROCESSOR: "input_step_processor",
  OUTPUT_PROCESSOR: "output_processor",
  OUTPUT_STEP_PROCESSOR: "output_step_processor",
  WORKFLOW_STEP: "workflow_step",
  TOOL: "tool",
  WORKFLOW_RUN: "workflow_run",
  MEMORY: "memory",
} as const;
export type EntityType = (typeof EntityType)[keyof typeof EntityType];

export const TracingEventType = {
  SPAN_STARTED: "span_started",
  SPAN_UPDATED: "span_updated",
  SPAN_ENDED: "span_ended",
} as const;
export type TracingEventType = (typeof TracingEventType)[keyof typeof TracingEventType];

/** Flags: which spans a trace leaves out. */
export const InternalSpans = { NONE: 0, WORKFLOW: 1, AGENT: 2, TOOL: 4, MODEL: 8, ALL: 15 } as const;
export type InternalSpans = number;

export const SamplingStrategyType = {
  ALWAYS: "always",
  NEVER: "never",
  RATIO: "ratio",
  CUSTOM: "custom",
} as const;
export type SamplingStrategyType = (typeof SamplingStrategyType)[keyof typeof SamplingStrategyType];
