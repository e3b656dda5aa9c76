import {
  type AgentScheduleTarget,
  isObject,
  type JSONValue,
  SCHEDULE_STATUSES,
  type ScheduleStatus,
  type WorkflowScheduleTarget,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { createSignal } from "../signal/signal.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import { realSystem, type System } from "../system.ts";

export type ScheduleTarget = WorkflowScheduleTarget | AgentScheduleTarget;

/** Ids of runs and signals are made of the schedule's id and a time. */
const MAX_ID = 200;
const MAX_BYTES = 256 * 1024;

/** Ids of schedules that are declared in code begin with this. */
export const DECLARED_PREFIX = "wf_";

/** Ids of runs that schedules start begin with this. */
export const FIRE_PREFIX = "sched_";

export function checkScheduleId(id: unknown): string {
  const checked = checkId("id", id);
  if (checked.length > MAX_ID)
    throw bad(`A schedule id can have at most ${MAX_ID} characters, got ${checked.length}.`);
  return checked;
}

export function checkStatus(status: unknown): ScheduleStatus {
  const found = SCHEDULE_STATUSES.find((known) => known === status);
  if (found) return found;
  throw bad(`status must be "active" or "paused", got ${showValue(status)}.`);
}

export function checkJsonObject(name: string, value: unknown): Record<string, JSONValue> {
  checkMetadata(name, value);
  return checkJson(name, value) as Record<string, JSONValue>;
}

/** A copy of a JSON value. Values that JSON would change are refused: the run would get something else. */
function checkJson(name: string, value: unknown): JSONValue {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (key, part: unknown) => {
      const isPlain = !isObject(part) || Array.isArray(part) || isPlainObject(part);
      if (!isPlain || typeof part === "function" || typeof part === "symbol" || typeof part === "bigint")
        throw bad(`${name} must be JSON, but "${key}" is ${showValue(part)}.`);
      return part;
    });
  } catch (cause) {
    if (AgentError.is(cause)) throw cause;
    throw bad(`${name} must be JSON-serialisable: ${String(cause)}`, cause);
  }
  if (text === undefined) throw bad(`${name} must be JSON, got ${showValue(value)}.`);
  if (text.length > MAX_BYTES)
    throw new AgentError(
      "limit-exceeded",
      `${name} has ${text.length} characters of JSON, more than ${MAX_BYTES}.`,
    );
  return JSON.parse(text) as JSONValue;
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === Object.prototype || prototype === null;
}

type Fields = Record<string, unknown>;

/** What a schedule starts, checked: only the fields of its kind, and only those that are set. */
export function checkTarget(input: Fields, system: System = realSystem): ScheduleTarget {
  const { workflowId, agentId } = input;
  if ((workflowId === undefined) === (agentId === undefined))
    throw bad(
      `A schedule needs workflowId or agentId, and not both: got ${showValue(workflowId)} and ${showValue(agentId)}.`,
    );
  return workflowId === undefined ? toAgentTarget(input, system) : toWorkflowTarget(input);
}

function toWorkflowTarget({ workflowId, ...input }: Fields): WorkflowScheduleTarget {
  return {
    workflowId: checkId("workflowId", workflowId),
    ...(input["inputData"] !== undefined && { inputData: checkJson("inputData", input["inputData"]) }),
    ...pick(input, "initialState", (value) => checkJsonObject("initialState", value)),
    ...pick(input, "requestContext", (value) => checkJsonObject("requestContext", value)),
    ...pick(input, "resourceId", (value) => checkId("resourceId", value)),
  };
}

function toAgentTarget({ agentId, prompt, ...input }: Fields, system: System): AgentScheduleTarget {
  if (typeof prompt !== "string" || prompt === "")
    throw bad(`A schedule of an agent needs a prompt, got ${showValue(prompt)}.`);
  const target: AgentScheduleTarget = {
    agentId: checkId("agentId", agentId),
    prompt,
    ...pick(input, "threadId", (value) => checkId("threadId", value)),
    ...pick(input, "resourceId", (value) => checkId("resourceId", value)),
    ...pick(input, "signalType", (value) => value as NonNullable<AgentScheduleTarget["signalType"]>),
    ...pick(input, "tagName", (value) => value as string),
    ...pick(input, "attributes", (value) => checkJsonObject("attributes", value)),
    ...pick(input, "ifActive", (value) =>
      checkBehavior("ifActive", value, ["deliver", "persist", "discard"]),
    ),
    ...pick(input, "ifIdle", (value) => checkBehavior("ifIdle", value, ["wake", "persist", "discard"])),
    ...pick(input, "requestContext", (value) => checkJsonObject("requestContext", value)),
  };
  const ofThread = ["signalType", "tagName", "attributes", "ifActive", "ifIdle"] as const;
  const stray = ofThread.find((name) => target[name] !== undefined);
  if (target.threadId === undefined && stray !== undefined)
    throw bad(`${stray} needs threadId and resourceId: without a thread there is no signal.`);
  if (target.threadId !== undefined && target.resourceId === undefined)
    throw bad("A schedule with threadId needs resourceId: a thread belongs to a resource.");
  if (target.threadId !== undefined) createSignal(signalOf(target), system);
  return target;
}

/** The signal that a fire sends. */
export function signalOf(target: AgentScheduleTarget): Parameters<typeof createSignal>[0] {
  const { prompt, signalType = "notification", tagName = "schedule", attributes } = target;
  return { type: signalType, tagName, contents: prompt, ...(attributes && { attributes }) };
}

function checkBehavior<Behavior extends string>(
  name: string,
  value: unknown,
  known: readonly Behavior[],
): { behavior?: Behavior } {
  const { behavior, attributes, streamOptions } = checkMetadata(name, value);
  if (behavior !== undefined && !known.includes(behavior as Behavior))
    throw bad(
      `${name}.behavior must be one of ${known.map((one) => `"${one}"`).join(", ")}, got ${showValue(behavior)}.`,
    );
  const options =
    streamOptions === undefined ? undefined : checkMetadata(`${name}.streamOptions`, streamOptions);
  const other = Object.keys(options ?? {}).find((key) => key !== "requestContext");
  if (options && (name !== "ifIdle" || other !== undefined))
    throw bad(`${name}.streamOptions can contain only requestContext, got ${showValue(options)}.`);
  return {
    ...(behavior !== undefined && { behavior: behavior as Behavior }),
    ...(attributes !== undefined && { attributes: checkJsonObject(`${name}.attributes`, attributes) }),
    ...(options && { streamOptions: checkJson(`${name}.streamOptions`, options) as object }),
  };
}

function pick<Key extends string, Value>(
  input: Fields,
  key: Key,
  check: (value: unknown) => Value,
): { [Name in Key]?: Value } {
  return (input[key] === undefined ? {} : { [key]: check(input[key]) }) as { [Name in Key]?: Value };
}

function bad(message: string, cause?: unknown): AgentError {
  return new AgentError("invalid-argument", message, { cause });
}
