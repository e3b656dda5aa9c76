import { AgentError, showValue } from "../errors.ts";
import { checkOptions } from "./check-arguments.ts";
import type { WorkflowOptions } from "./workflow-config.ts";

interface RetryConfig {
  attempts: number;
  delay: number;
}

/** `retryConfig` of a workflow, with defaults. */
export function checkRetryConfig(
  id: string,
  { attempts = 0, delay = 0 }: Partial<RetryConfig> = {},
): RetryConfig {
  if (!(Number.isInteger(attempts) && attempts >= 0))
    throw wrong(id, "retryConfig.attempts", "an integer of 0 or more", attempts);
  if (!(Number.isFinite(delay) && delay >= 0))
    throw wrong(id, "retryConfig.delay", "0 or more milliseconds", delay);
  return { attempts, delay };
}

const FUNCTIONS = ["shouldPersistSnapshot", "pruneSnapshot", "onStart", "onFinish", "onError"] as const;

/** `options` of a workflow. */
export function checkWorkflowOptions(id: string, options: WorkflowOptions = {}): WorkflowOptions {
  checkOptions(`workflow "${id}"`, options);
  for (const name of FUNCTIONS)
    if (options[name] !== undefined && typeof options[name] !== "function")
      throw wrong(id, `options.${name}`, "a function", options[name]);
  const { maxIterations, validateInputs } = options;
  if (maxIterations !== undefined && !(Number.isInteger(maxIterations) && maxIterations >= 1))
    throw wrong(id, "options.maxIterations", "an integer of 1 or more", maxIterations);
  if (validateInputs !== undefined && typeof validateInputs !== "boolean")
    throw wrong(id, "options.validateInputs", "true or false", validateInputs);
  return options;
}

function wrong(id: string, place: string, wanted: string, value: unknown): AgentError {
  return new AgentError(
    "invalid-argument",
    `${place} of workflow "${id}" must be ${wanted}, got ${showValue(value)}.`,
  );
}
