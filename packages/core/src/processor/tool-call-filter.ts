import type { ModelCallOptions } from "../model/model.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputStepArgs, ProcessLLMRequestArgs, Processor } from "./processor.ts";
import { noteRunLength, type PromptMessage, runStart, unitsOf } from "./prompt-units.ts";

export interface ToolCallFilterOptions {
  /** The tools whose calls are left out. Default: all. */
  exclude?: string[];
  /** Also leave out calls of this run, except those of its last n steps with tools. */
  filterAfterToolSteps?: number;
  /** Replace a call with the tool's output for the model, as text. */
  preserveModelOutput?: boolean;
}

/** Leaves tool calls and results of earlier turns out of the prompt. Stored messages do not change. */
export class ToolCallFilter implements Processor {
  readonly id = "tool-call-filter";
  readonly #exclude: Set<string> | undefined;
  readonly #keptSteps: number | undefined;
  readonly #preserves: boolean;

  constructor(options: ToolCallFilterOptions = {}) {
    const check = new OptionChecks("ToolCallFilter");
    const { exclude, filterAfterToolSteps: steps, preserveModelOutput = false } = options;
    this.#exclude = exclude === undefined ? undefined : new Set(check.names("exclude", exclude, 0));
    this.#keptSteps = steps === undefined ? undefined : check.integer("filterAfterToolSteps", steps, 0);
    this.#preserves = check.boolean("preserveModelOutput", preserveModelOutput);
  }

  processInputStep(args: ProcessInputStepArgs): void {
    noteRunLength(args);
  }

  processLLMRequest({ request, state }: ProcessLLMRequestArgs): ModelCallOptions {
    const { prompt } = request;
    const start = runStart(prompt, state);
    const own = unitsOf(prompt.slice(start));
    const isToolStep = (unit: readonly PromptMessage[]): boolean => unit.some(({ role }) => role === "tool");
    let left = this.#keptSteps === undefined ? 0 : own.filter(isToolStep).length - this.#keptSteps;
    const filtered = own.map((unit) => (isToolStep(unit) && left-- > 0 ? this.#filter(unit) : unit));
    return {
      ...request,
      prompt: [...unitsOf(prompt.slice(0, start)).flatMap((unit) => this.#filter(unit)), ...filtered.flat()],
    };
  }

  /** An answer and the results of its calls, without those calls. */
  #filter(unit: PromptMessage[]): PromptMessage[] {
    const outputs = new Map<string, string>();
    for (const message of unit)
      if (message.role === "tool")
        for (const part of message.content)
          if (part.type === "tool-result") outputs.set(part.toolCallId, outputText(part.output));
    const isGone = (part: { type: string; toolName?: string }): boolean =>
      (part.type === "tool-call" || part.type === "tool-result") &&
      (this.#exclude?.has(part.toolName!) ?? true);
    return unit.flatMap((message): PromptMessage[] => {
      if (message.role === "tool") {
        const content = message.content.filter((part) => !isGone(part));
        return content.length > 0 ? [{ ...message, content }] : [];
      }
      if (message.role !== "assistant" || !message.content.some(isGone)) return [message];
      const content = message.content.flatMap((part) => {
        if (!isGone(part)) return [part];
        if (!this.#preserves || part.type !== "tool-call") return [];
        const text = `Result of ${part.toolName}: ${outputs.get(part.toolCallId) ?? "none"}`;
        return [{ type: "text" as const, text }];
      });
      // Reasoning that led to a call is useless without it, and some providers refuse it.
      return content.every(({ type }) => type === "reasoning") ? [] : [{ ...message, content }];
    });
  }
}

function outputText(output: object): string {
  const { value } = output as { value?: unknown };
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
