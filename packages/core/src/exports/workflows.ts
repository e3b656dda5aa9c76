export { cloneWorkflow, createWorkflow, type ListRunsOptions, Workflow } from "../workflow/workflow.ts";
export { cloneStep, createStep, type StepConfig } from "../workflow/create-step.ts";
export { Run } from "../workflow/run.ts";
export { type MapSource, mapVariable } from "../workflow/map-source.ts";
export type {
  ExecuteParams,
  Step,
  StepContext,
  StepLike,
  StepWriter,
  SuspendOptions,
} from "../workflow/step.ts";
export type { AgentStepOptions } from "../workflow/agent-step.ts";
export type { ToolStepOptions } from "../workflow/tool-step.ts";
export type {
  WorkflowConfig,
  WorkflowFinishInfo,
  WorkflowOptions,
  WorkflowSchedule,
  WorkflowStartInfo,
} from "../workflow/workflow-config.ts";
export type {
  GivenStepResult,
  OutputOptions,
  ResumeOptions,
  StartOptions,
  StepReference,
  StreamOptions,
  TimeTravelOptions,
} from "../workflow/run-requests.ts";
export type { WorkflowResult } from "../workflow/workflow-result.ts";
export type { WorkflowStateField } from "../workflow/run-snapshot.ts";
export { WorkflowRunOutput } from "../workflow/workflow-run-output.ts";
export type { WorkflowHost } from "../workflow/workflow-host.ts";
export type { Concurrency, Condition } from "../workflow/graph.ts";
export type { DefinedEntry, DefinedSource, DefinedStep, WorkflowDefinition } from "../workflow/definition.ts";
export type { StoredDefinition } from "../workflow/definition-domain.ts";
export type { ConditionInput, Operand, Predicate } from "../workflow/predicate.ts";

// Reading stored runs
export { type WorkerWorkflowRun, workflowRunsByWorker } from "../workflow/runs-by-worker.ts";
export {
  createWorkflowStateReader,
  getWorkflowResumeLabel,
  getWorkflowResumeLabels,
  getWorkflowStepOutput,
  getWorkflowStepPayload,
  getWorkflowSuspendedStep,
  getWorkflowSuspendedSteps,
  type WorkflowStateReader,
  type WorkflowSuspendedStep,
} from "../workflow/state-reader.ts";
export type { WorkflowLimits } from "../workflow/workflow-limits.ts";
export { DEFAULT_WORKFLOW_LIMITS } from "../workflow/workflow-limits.ts";
export { DEFINITION_DOMAIN } from "../workflow/definition-domain.ts";
export { WORKFLOW_DOMAIN } from "../workflow/workflow-domain.ts";
