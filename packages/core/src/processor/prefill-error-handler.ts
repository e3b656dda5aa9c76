import { errorMessage } from "../errors.ts";
import { causesOf } from "./error-causes.ts";
import type { ProcessAPIErrorArgs, Processor } from "./processor.ts";

const REFUSAL =
  /prefill|must end with a user message|last message (?:must|should) be (?:from |a )?(?:the )?user|assistant message (?:as|in) the (?:final|last) position/i;

/**
 * Some providers refuse a prompt that ends with an assistant message. This adds a short reminder to continue, which is
 * not stored, and retries once.
 */
export class PrefillErrorHandler implements Processor {
  readonly id = "prefill-error-handler";

  processAPIError({ error, messageList, state, stepNumber }: ProcessAPIErrorArgs): { retry: boolean } {
    const refused = causesOf(error).some((cause) => REFUSAL.test(errorMessage(cause)));
    if (!refused || state["reminded"] === stepNumber) return { retry: false };
    state["reminded"] = stepNumber;
    messageList.add({ role: "user", content: "<system-reminder>continue</system-reminder>" }, "feedback");
    return { retry: true };
  }
}
