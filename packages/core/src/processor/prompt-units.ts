import type { ModelCallOptions } from "../model/model.ts";
import type { ProcessInputStepArgs } from "./processor.ts";

export type Prompt = ModelCallOptions["prompt"];
export type PromptMessage = Prompt[number];

/** Records how many messages at the end of the prompt belong to the run. Call it in `processInputStep`. */
export function noteRunLength({ state, messageList }: ProcessInputStepArgs): void {
  state["runLength"] = messageList.get.response.model().length;
}

/** Where the messages of this run start; after the newest user message, if that was not recorded. */
export function runStart(prompt: Prompt, state: Record<string, unknown>): number {
  const length = state["runLength"];
  if (typeof length === "number") return Math.max(0, prompt.length - length);
  return prompt.findLastIndex(({ role }) => role === "user") + 1;
}

/** Messages that stay together: an answer with the results of its calls, or one message. */
export function unitsOf(messages: readonly PromptMessage[]): PromptMessage[][] {
  const units: PromptMessage[][] = [];
  for (const message of messages) {
    if (message.role === "tool" && units.length > 0) units.at(-1)!.push(message);
    else units.push([message]);
  }
  return units;
}
