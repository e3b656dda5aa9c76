import type { ProcessInputStepArgs, Processor } from "./processor.ts";

/**
 * Models refuse native JSON output for a prompt that ends with an assistant message. This adds a user message after it,
 * in the prompt only.
 */
export class TrailingAssistantGuard implements Processor {
  readonly id = "trailing-assistant-guard";

  processInputStep({ messageList, structuredOutput }: ProcessInputStepArgs): void {
    if (!structuredOutput || structuredOutput.model || structuredOutput.jsonPromptInjection) return;
    if (messageList.get.all.model().at(-1)?.role === "assistant")
      messageList.add({ role: "user", content: "Continue." }, "feedback");
  }
}
