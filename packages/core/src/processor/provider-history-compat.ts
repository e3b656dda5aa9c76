import { errorMessage } from "../errors.ts";
import type { ModelCallOptions } from "../model/model.ts";
import { causesOf } from "./error-causes.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessAPIErrorArgs, ProcessLLMRequestArgs, Processor } from "./processor.ts";
import type { Prompt, PromptMessage } from "./prompt-units.ts";

type Model = ProcessLLMRequestArgs["model"];
type Rewrite = (prompt: Prompt, model: Model) => Prompt | undefined;

export interface ProviderHistoryRule {
  name: string;
  /** The rule's `fix` applies after an error whose message matches one of these. */
  errorPatterns?: RegExp[];
  /** Rewrites the prompt from then on. */
  fix?: Rewrite;
  /** Rewrites every prompt. */
  applyToPrompt?: Rewrite;
}

export interface ProviderHistoryCompatOptions {
  additionalRules?: ProviderHistoryRule[];
}

/**
 * Rewrites a history written by another provider so that the current one accepts it. Only the prompt changes: stored
 * messages keep everything.
 */
export class ProviderHistoryCompat implements Processor {
  readonly id = "provider-history-compat";
  readonly #rules: ProviderHistoryRule[];

  constructor(options: ProviderHistoryCompatOptions = {}) {
    const check = new OptionChecks("ProviderHistoryCompat");
    const { additionalRules = [] } = options;
    if (!Array.isArray(additionalRules)) check.refuse("additionalRules", additionalRules, "a list");
    additionalRules.forEach((rule, index) => checkRule(check, rule, `additionalRules[${index}]`));
    this.#rules = [...RULES, ...additionalRules];
  }

  processLLMRequest({ request, model, state }: ProcessLLMRequestArgs): ModelCallOptions | undefined {
    const fixes = fixesOf(state);
    let { prompt } = request;
    for (const { name, applyToPrompt, fix } of this.#rules) {
      prompt = applyToPrompt?.(prompt, model) ?? prompt;
      if (fixes.has(name)) prompt = fix?.(prompt, model) ?? prompt;
    }
    return prompt === request.prompt ? undefined : { ...request, prompt };
  }

  processAPIError({ error, state }: ProcessAPIErrorArgs): { retry: boolean } {
    const fixes = fixesOf(state);
    const messages = causesOf(error).map(errorMessage);
    const rule = this.#rules.find(
      ({ name, fix, errorPatterns }) =>
        fix && !fixes.has(name) && errorPatterns?.some((one) => messages.some((text) => one.test(text))),
    );
    if (!rule) return { retry: false };
    fixes.add(rule.name);
    return { retry: true };
  }
}

/** The rules whose fix applies to this run. */
function fixesOf(state: Record<string, unknown>): Set<string> {
  return (state["fixes"] ??= new Set()) as Set<string>;
}

function checkRule(check: OptionChecks, rule: ProviderHistoryRule, path: string): void {
  check.string(`${path}.name`, rule?.name);
  check.func(`${path}.fix`, rule.fix);
  check.func(`${path}.applyToPrompt`, rule.applyToPrompt);
  const patterns: unknown = rule.errorPatterns ?? [];
  if (!Array.isArray(patterns) || !patterns.every((one) => one instanceof RegExp && !one.global))
    check.refuse(`${path}.errorPatterns`, patterns, "a list of regular expressions without the flag g");
}

const RULES: ProviderHistoryRule[] = [
  {
    name: "anthropic-tool-ids",
    applyToPrompt: (prompt, model) => (isProvider(model, "anthropic") ? mapToolIds(prompt) : undefined),
    errorPatterns: [/tool_use[\s\S]{0,40}id[\s\S]{0,80}pattern/i],
    fix: mapToolIds,
  },
  {
    name: "anthropic-empty-reasoning",
    applyToPrompt: (prompt, model) =>
      isProvider(model, "anthropic") ? withoutReasoning(prompt, ({ text }) => text === "") : undefined,
  },
  {
    name: "foreign-reasoning",
    errorPatterns: [/reasoning|thinking|signature/i],
    fix: (prompt, model) =>
      withoutReasoning(
        prompt,
        ({ providerOptions }) => !Object.keys(providerOptions ?? {}).some((name) => isProvider(model, name)),
      ),
  },
  {
    name: "cerebras-reasoning",
    applyToPrompt: (prompt, model) =>
      isProvider(model, "cerebras") ? withoutReasoning(prompt, () => true) : undefined,
  },
  {
    name: "azure-reminders",
    errorPatterns: [/content management policy|content_filter|jailbreak/i],
    fix: (prompt, model) => (isProvider(model, "azure") ? withoutReminderTags(prompt) : undefined),
  },
];

function isProvider({ provider, modelId }: Model, name: string): boolean {
  const wanted = name.toLowerCase();
  return provider.toLowerCase().includes(wanted) || modelId.toLowerCase().startsWith(`${wanted}/`);
}

const BAD_ID = /[^a-zA-Z0-9_-]/g;

/** Call ids of letters, digits, `_` and `-`. Calls and results change alike, and different ids stay different. */
function mapToolIds(prompt: Prompt): Prompt {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const idFor = (id: string): string => {
    let plain = ids.get(id);
    if (plain !== undefined) return plain;
    plain = id.replace(BAD_ID, "_") || "call";
    while (taken.has(plain)) plain += "_";
    taken.add(plain);
    ids.set(id, plain);
    return plain;
  };
  return mapParts(prompt, (part) =>
    "toolCallId" in part ? [{ ...part, toolCallId: idFor(part.toolCallId as string) }] : [part],
  );
}

function withoutReasoning(
  prompt: Prompt,
  isGone: (part: { text: string; providerOptions?: object }) => boolean,
): Prompt {
  return mapParts(prompt, (part) => (part.type === "reasoning" && isGone(part as never) ? [] : [part]));
}

function withoutReminderTags(prompt: Prompt): Prompt {
  return mapParts(prompt, (part) => {
    if (part.type !== "text") return [part];
    const text = (part["text"] as string)
      .replaceAll(/<system-reminder[^>]{0,500}>/g, "[Note] ")
      .replaceAll("</system-reminder>", "");
    return [{ ...part, text }];
  });
}

type Part = { type: string; [key: string]: unknown };

/** The prompt with the changed parts, without messages that have none left. */
function mapParts(prompt: Prompt, map: (part: Part) => Part[]): Prompt {
  return prompt.flatMap((message): PromptMessage[] => {
    if (typeof message.content === "string") return [message];
    const content = (message.content as unknown as Part[]).flatMap(map);
    return content.length > 0 ? [{ ...message, content } as unknown as PromptMessage] : [];
  });
}
