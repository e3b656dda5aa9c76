import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import { mapTexts, messagesToCheck } from "./message-texts.ts";
import { OptionChecks } from "./option-checks.ts";
import type {
  ProcessInputArgs,
  ProcessInputStepArgs,
  Processor,
  ProcessorContext,
  ProcessOutputResultArgs,
  ProcessOutputStreamArgs,
} from "./processor.ts";
import { SafePattern } from "./safe-pattern.ts";
import { gateText, type Passage, type WaitingText } from "./text-gate.ts";
import { decidedHits, mergeHits, replaceHits, type TextHit } from "./text-hits.ts";
import { TEXT_PATTERNS } from "./text-patterns.ts";
import { report, type ViolationCallback } from "./violation.ts";

export interface RegexFilterRule {
  name: string;
  pattern: RegExp;
  /** The replacement for a match. Default: `[REDACTED]`. */
  replacement?: string;
}

export type RegexFilterPreset = "pii" | "secrets" | "urls";

export interface RegexFilterOptions {
  rules?: RegexFilterRule[];
  presets?: RegexFilterPreset[];
  /** `block` (the default) ends the run, `redact` replaces matches, `warn` only reports. */
  strategy?: "block" | "redact" | "warn";
  /** Which side is checked. Default: `all`. */
  phase?: "input" | "output" | "all";
  /** Also pass the matched text to `onViolation`. */
  includeRedactedValues?: boolean;
  /** How many characters are held back in case a match spans two chunks: at least the longest match. Default: 128. */
  streamCarryoverSize?: number;
  onViolation?: ViolationCallback;
}

interface Rule {
  name: string;
  pattern: SafePattern;
  replacement: string;
}

const PRESETS: Record<RegexFilterPreset, [pattern: keyof typeof TEXT_PATTERNS, replacement: string][]> = {
  pii: [
    ["email", "[EMAIL]"],
    ["phone", "[PHONE]"],
    ["ssn", "[SSN]"],
    ["credit-card", "[CREDIT_CARD]"],
  ],
  secrets: [
    ["api-key", "[API_KEY]"],
    ["bearer-token", "[BEARER_TOKEN]"],
    ["aws-key", "[AWS_KEY]"],
  ],
  urls: [["url", "[URL]"]],
};

/** Finds patterns in input and output without a model; ends the run, removes them, or reports. */
export class RegexFilterProcessor implements Processor {
  readonly id = "regex-filter";
  readonly #rules: Rule[];
  readonly #replacements: Map<string, string>;
  readonly #strategy: "block" | "redact" | "warn";
  readonly #phase: "input" | "output" | "all";
  readonly #includesValues: boolean;
  readonly #holdBack: number;
  readonly #onViolation: ViolationCallback | undefined;

  constructor(options: RegexFilterOptions) {
    const check = new OptionChecks("RegexFilterProcessor");
    const { rules = [], presets = [], strategy = "block", phase = "all" } = options ?? {};
    const { includeRedactedValues = false, streamCarryoverSize = 128, onViolation } = options ?? {};
    if (!Array.isArray(rules)) check.refuse("rules", rules, "a list");
    if (!Array.isArray(presets)) check.refuse("presets", presets, "a list");
    if (rules.length + presets.length === 0) check.refuse("rules", rules, "given, or `presets`");
    this.#rules = [
      ...rules.map((rule, index) => toRule(check, rule, `rules[${index}]`)),
      ...presets.flatMap((preset, index) =>
        PRESETS[check.oneOf(`presets[${index}]`, preset, ["pii", "secrets", "urls"])].map(
          ([name, replacement]): Rule => ({ name, pattern: TEXT_PATTERNS[name], replacement }),
        ),
      ),
    ];
    this.#replacements = new Map(this.#rules.map(({ name, replacement }) => [name, replacement]));
    this.#strategy = check.oneOf("strategy", strategy, ["block", "redact", "warn"]);
    this.#phase = check.oneOf("phase", phase, ["input", "output", "all"]);
    this.#includesValues = check.boolean("includeRedactedValues", includeRedactedValues);
    this.#holdBack = check.integer("streamCarryoverSize", streamCarryoverSize, 0);
    this.#onViolation = check.func("onViolation", onViolation);
  }

  async processInput(args: ProcessInputArgs): Promise<void> {
    if (this.#phase === "output") return;
    const hits: TextHit[] = [];
    for (const message of messagesToCheck(args)) mapTexts(message, (text) => this.#redact(text, args, hits));
    await this.#tell(hits, "input", args);
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    await this.processInput(args);
  }

  async processOutputStream(args: ProcessOutputStreamArgs): Promise<AgentChunk | AgentChunk[] | null> {
    if (this.#phase === "input") return args.part;
    return gateText(args.part, args.state, (waiting) => this.#pass(waiting, args));
  }

  /** What other processors added to the answer after it was streamed. */
  async processOutputResult(args: ProcessOutputResultArgs): Promise<void> {
    if (this.#phase === "input" || this.#strategy === "warn") return;
    const hits: TextHit[] = [];
    for (const message of args.messageList.get.response.db())
      if (message.role === "assistant") mapTexts(message, (text) => this.#redact(text, args, hits));
    await this.#tell(hits, "output", args);
  }

  async #pass(waiting: WaitingText, args: ProcessorContext): Promise<Passage> {
    const { used, hits } = await decidedHits(waiting, {
      holdBack: this.#holdBack,
      find: (text, from) => this.#find(text, from, args),
    });
    await this.#tell(hits, "output", args);
    return this.#replace(waiting.text, used, hits);
  }

  #redact(text: string, args: ProcessorContext, found: TextHit[]): string {
    const hits = mergeHits(text, this.#find(text, 0, args));
    // There may be too many for the arguments of a call.
    for (const hit of hits) found.push(hit);
    return this.#replace(text, text.length, hits).text;
  }

  #replace(text: string, used: number, hits: TextHit[]): Passage {
    if (this.#strategy !== "redact") return { used, text: text.slice(0, used) };
    return replaceHits(text, used, hits, ({ type }) => this.#replacements.get(type)!);
  }

  #find(text: string, from: number, args: ProcessorContext): { start: number; end: number; type: string }[] {
    const slow = (args.state["slow"] ??= new Set()) as Set<string>;
    return this.#rules.flatMap(({ name, pattern }) => {
      if (slow.has(name)) return [];
      try {
        return pattern.find(text, from).map((span) => ({ ...span, type: name }));
      } catch (error) {
        if (!AgentError.is(error, "limit-exceeded")) throw error;
        // The content of the text is unknown.
        if (this.#strategy !== "warn")
          args.abort(`Rule "${name}": ${errorMessage(error)}`, { metadata: { rules: [name] } });
        slow.add(name);
        args.logger.warn(`Rule "${name}" of processor "${this.id}" is off for this run`, error);
        return [];
      }
    });
  }

  async #tell(hits: TextHit[], phase: "input" | "output", args: ProcessorContext): Promise<void> {
    if (hits.length === 0) return;
    const rules = [...new Set(hits.map(({ type }) => type))];
    const message = `The ${phase} matches ${rules.map((name) => `"${name}"`).join(", ")}.`;
    const metadata = { phase, strategy: this.#strategy, rules };
    const matches = hits.map(({ type, value }) => ({
      rule: type,
      ...(this.#includesValues && { value }),
    }));
    await report(
      this.#onViolation,
      { processorId: this.id, message, detail: { ...metadata, matches } },
      args,
    );
    if (this.#strategy === "block") args.abort(message, { metadata });
    if (this.#strategy === "warn") args.logger.warn(`Processor "${this.id}": ${message}`);
  }
}

function toRule(check: OptionChecks, rule: RegexFilterRule, path: string): Rule {
  const { name, pattern, replacement = "[REDACTED]" } = rule ?? {};
  if (!(pattern instanceof RegExp)) check.refuse(`${path}.pattern`, pattern, "a regular expression");
  return {
    name: check.string(`${path}.name`, name),
    pattern: new SafePattern(pattern),
    replacement: check.string(`${path}.replacement`, replacement),
  };
}
