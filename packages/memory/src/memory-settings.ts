import { isObject } from "@selvedge/protocol";
import { AgentError } from "@selvedge/core/errors";
import type {
  MemoryConfig,
  SemanticRecallConfig,
  TitleConfig,
  WorkingMemoryConfig,
} from "@selvedge/core/memory";

import { isOnForCall, type OmConfig } from "./observational/om-config.ts";

export interface RecallSettings {
  readonly topK: number;
  /** Neighbours included with each match. */
  readonly before: number;
  readonly after: number;
  readonly scope: "thread" | "resource";
  readonly threshold: number | undefined;
  readonly indexName: string | undefined;
  readonly filter?: SemanticRecallConfig["filter"];
  readonly indexConfig?: SemanticRecallConfig["indexConfig"];
  readonly embedderOptions?: SemanticRecallConfig["embedderOptions"];
}

export interface WorkingMemorySettings {
  readonly scope: "thread" | "resource";
  readonly template: string | undefined;
  readonly schema: WorkingMemoryConfig["schema"];
  readonly agentManaged: boolean;
  readonly useStateSignals: boolean;
}

/** A validated `MemoryConfig` with its defaults. What is switched off is `undefined` (or 0). */
export interface MemorySettings {
  readonly lastMessages: number;
  readonly recall: RecallSettings | undefined;
  readonly workingMemory: WorkingMemorySettings | undefined;
  readonly title: TitleConfig | undefined;
  readonly readOnly: boolean;
  readonly observes: boolean;
}

const DEFAULT_LAST_MESSAGES = 10;
const DEFAULT_TOP_K = 4;
const DEFAULT_RANGE = 1;

/** The settings of one call: `call` overrides the memory's own `defaults` by key. Throws on an invalid value. */
export function toMemorySettings(
  defaults: MemoryConfig,
  call: MemoryConfig | undefined,
  has: { vector: boolean; embedder: boolean },
  om?: OmConfig,
): MemorySettings {
  const observes = isOnForCall(call?.observationalMemory, om);
  // The log replaces what is not shown, so no message has to be.
  const usual = observes ? 0 : DEFAULT_LAST_MESSAGES;
  return {
    observes,
    lastMessages: lastMessages(call?.lastMessages ?? defaults.lastMessages ?? usual),
    recall: recall(defaults.semanticRecall, call?.semanticRecall, has),
    workingMemory: workingMemory(
      defaults.workingMemory,
      call?.workingMemory,
      observes && om?.observation.manageWorkingMemory === true,
    ),
    title: title(titleOf(call) ?? titleOf(defaults)),
    readOnly: call?.readOnly ?? defaults.readOnly ?? false,
  };
}

/** The same as a configuration. */
export function toMemoryConfig({
  lastMessages: count,
  recall: found,
  workingMemory: kept,
  title: named,
  readOnly,
  observes,
}: MemorySettings): MemoryConfig {
  return {
    lastMessages: count === 0 ? false : count,
    semanticRecall: found
      ? {
          topK: found.topK,
          messageRange: { before: found.before, after: found.after },
          scope: found.scope,
          ...(found.threshold !== undefined && { threshold: found.threshold }),
          ...(found.indexName !== undefined && { indexName: found.indexName }),
          ...(found.filter && { filter: found.filter }),
          ...(found.indexConfig && { indexConfig: found.indexConfig }),
        }
      : false,
    workingMemory: kept
      ? {
          enabled: true,
          scope: kept.scope,
          ...(kept.template !== undefined && { template: kept.template }),
          ...(kept.schema !== undefined && { schema: kept.schema }),
          ...(!kept.agentManaged && { agentManaged: false }),
          ...(kept.useStateSignals && { useStateSignals: true }),
        }
      : { enabled: false },
    threads: { generateTitle: named ?? false },
    ...(observes && { observationalMemory: true }),
    readOnly,
  };
}

function lastMessages(value: number | false): number {
  if (value === false) return 0;
  if (!isCount(value)) {
    throw invalid("lastMessages must be a non-negative integer, or false to leave the history out", value);
  }
  return value;
}

type RecallOption = boolean | SemanticRecallConfig | undefined;

function recall(
  base: RecallOption,
  call: RecallOption,
  has: { vector: boolean; embedder: boolean },
): RecallSettings | undefined {
  for (const option of [base, call]) {
    if (option !== undefined && typeof option !== "boolean" && !isObject(option)) {
      throw invalid("semanticRecall must be true, false or an object", option);
    }
  }
  const chosen = call ?? base ?? false;
  if (chosen === false) return undefined;
  const options: SemanticRecallConfig = { ...(isObject(base) && base), ...(isObject(call) && call) };
  const missing = [...(has.vector ? [] : ["vector"]), ...(has.embedder ? [] : ["embedder"])];
  if (missing.length > 0) {
    throw new AgentError(
      "invalid-argument",
      `semanticRecall is on, but this memory has no ${missing.join(" and no ")}. ` +
        `Pass ${missing.map((name) => `\`${name}\``).join(" and ")} to new Memory({ … }), or set semanticRecall: false.`,
    );
  }
  const topK = options.topK ?? DEFAULT_TOP_K;
  if (!isCount(topK) || topK === 0) throw invalid("semanticRecall.topK must be a positive integer", topK);
  const threshold = options.threshold;
  if (threshold !== undefined && !(typeof threshold === "number" && threshold >= -1 && threshold <= 1)) {
    throw invalid("semanticRecall.threshold must be a cosine similarity between -1 and 1", threshold);
  }
  const indexName = options.indexName;
  if (indexName !== undefined && (typeof indexName !== "string" || indexName === "")) {
    throw invalid("semanticRecall.indexName must be a non-empty string", indexName);
  }
  for (const name of ["filter", "indexConfig", "embedderOptions"] as const) {
    if (options[name] !== undefined && !isObject(options[name]))
      throw invalid(`semanticRecall.${name} must be an object`, options[name]);
  }
  for (const name of ["indexName", "indexConfig", "embedderOptions"] as const) {
    const own = isObject(call) ? call[name] : undefined;
    // Deleting a thread must find its vectors again, so these cannot differ between calls.
    if (own !== undefined && own !== (isObject(base) ? base[name] : undefined))
      throw invalid(`semanticRecall.${name} is set once, in new Memory({ options })`, own);
  }
  const scope = checkScope("semanticRecall", options.scope);
  const { filter, indexConfig, embedderOptions } = options;
  return {
    topK,
    ...range(options.messageRange ?? DEFAULT_RANGE),
    scope,
    threshold,
    indexName,
    ...(filter && { filter }),
    ...(indexConfig && { indexConfig }),
    ...(embedderOptions && { embedderOptions }),
  };
}

function range(value: NonNullable<SemanticRecallConfig["messageRange"]>): { before: number; after: number } {
  const { before, after } = typeof value === "number" ? { before: value, after: value } : (value ?? {});
  if (!isCount(before) || !isCount(after)) {
    throw invalid(
      "semanticRecall.messageRange must be a non-negative integer or { before, after } with such integers",
      value,
    );
  }
  return { before, after };
}

function workingMemory(
  base: WorkingMemoryConfig | undefined,
  call: WorkingMemoryConfig | undefined,
  isObserved: boolean,
): WorkingMemorySettings | undefined {
  for (const option of [base, call]) {
    if (option === undefined) continue;
    if (!isObject(option)) throw invalid("workingMemory must be an object such as { enabled: true }", option);
    if (option.template !== undefined && option.schema !== undefined) {
      throw new AgentError(
        "invalid-argument",
        "workingMemory accepts either a template or a schema. Remove one.",
      );
    }
  }
  const enabled = call?.enabled ?? base?.enabled ?? false;
  if (typeof enabled !== "boolean") throw invalid("workingMemory.enabled must be a boolean", enabled);
  if (!enabled) return undefined;
  // A call with its own shape replaces the default shape of either kind.
  const shape = call?.template !== undefined || call?.schema !== undefined ? call : base;
  const template = shape?.template;
  if (template !== undefined && typeof template !== "string") {
    throw invalid("workingMemory.template must be a string", template);
  }
  const flag = (name: "agentManaged" | "useStateSignals", usual: boolean): boolean => {
    const value = call?.[name] ?? base?.[name] ?? usual;
    if (typeof value !== "boolean") throw invalid(`workingMemory.${name} must be a boolean`, value);
    return value;
  };
  return {
    scope: checkScope("workingMemory", call?.scope ?? base?.scope),
    template,
    schema: shape?.schema,
    agentManaged: flag("agentManaged", !isObserved),
    useStateSignals: flag("useStateSignals", isObserved),
  };
}

function titleOf(config: MemoryConfig | undefined): boolean | TitleConfig | undefined {
  return config?.threads?.generateTitle ?? config?.generateTitle;
}

function title(option: boolean | TitleConfig | undefined): TitleConfig | undefined {
  if (option === undefined || option === false) return undefined;
  if (option === true) return {};
  if (!isObject(option))
    throw invalid("threads.generateTitle must be true, false or { model, instructions }", option);
  const { instructions } = option;
  if (instructions !== undefined && typeof instructions !== "string" && typeof instructions !== "function") {
    throw invalid("threads.generateTitle.instructions must be a string or a function", instructions);
  }
  return option;
}

function checkScope(owner: string, scope: unknown): "thread" | "resource" {
  if (scope === undefined) return "resource";
  if (scope !== "thread" && scope !== "resource") {
    throw invalid(`${owner}.scope must be "thread" or "resource"`, scope);
  }
  return scope;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
function invalid(problem: string, value: unknown): AgentError {
  const shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return new AgentError("invalid-argument", `${problem}, got ${shown.slice(0, 200)}.`);
}
