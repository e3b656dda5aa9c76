import type { ProcessInputStepArgs, Processor } from "./processor.ts";

/**
 * A model that is asked for JSON in its own format refuses a prompt that ends with a message of the assistant. This adds a
 * user message after it, for the prompt alone.
 */
export class TrailingAssistantGuard implements Processor {
  readonly id = "trailing-assistant-guard";

  processInputStep({ messageList, structuredOutput }: ProcessInputStepArgs): void {
    if (!structuredOutput || structuredOutput.model || structuredOutput.jsonPromptInjection) return;
    if (messageList.get.all.model().at(-1)?.role === "assistant")
      messageList.add({ role: "user", content: "Continue." }, "feedback");
  }
}
